"""The content of the two pipes between the worker and one of its parsing processes, and how far the worker trusts it.

Down: one pickled ``TaskSpec`` after its length, then for each page ``PAGE`` (number, bytes of metadata, of body), the
metadata as MessagePack, the body as it is. The process may trust all of it, since it comes from its parent.

Up: ``OUTCOME`` (kind, number of the page, bytes of payload) and the payload. A page can take over the process that
parses it, and the worker has the broker's passwords. So the worker accepts from below only plain values, as
MessagePack, of declared types, lengths and numbers, and in the order of the protocol. Anything else is ``Malformed``,
and the process that wrote it counts as crashed.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta

from crawler_plugin.wire.errors import Stop

LENGTH: Final = struct.Struct("=Q")
PAGE: Final = struct.Struct("=QIQ")
OUTCOME: Final = struct.Struct("=BQQ")

RESULT_BYTES: Final = 64 * 1024
"""A worker's results have some hundred bytes. A task with larger results says so when it is started."""
DETAIL_CHARACTERS: Final = 500
_OTHER_BYTES: Final = 16 * 1024
"""No other payload is longer than that. A page's detail of 500 characters has 2,000 bytes."""


class FrameKind(IntEnum):
    """The kinds of frames from a parsing process."""

    READY = 0
    """The task was made; pages can be timed from now on."""
    RESULT = 1
    """The page's result."""
    PAGE_ERROR = 2
    """``Complaint``: the page is to blame."""
    OUT_OF_MEMORY = 3
    """The page needed more memory than allowed; the process ends."""
    CANNOT_START = 4
    """``Hindrance``: the task could not be made; the process ends."""
    SPENT = 5
    """``Spent``: CPU seconds by stage since the last of these. It belongs to no page."""


_KINDS: Final = {kind.value: kind for kind in FrameKind}


class Frame(NamedTuple):
    """One frame from a parsing process."""

    kind: FrameKind
    number: int
    payload: bytes


class Complaint(msgspec.Struct, frozen=True, array_like=True):
    """A ``PageError``. Reasons become labels of metrics and headers of dead letters."""

    reason: Annotated[str, Meta(pattern="^[a-z0-9-]{1,40}$")]
    detail: Annotated[str, Meta(max_length=DETAIL_CHARACTERS)]


class Hindrance(msgspec.Struct, frozen=True, array_like=True):
    """A ``Stop`` of the class with this name."""

    name: Annotated[str, Meta(max_length=40)]
    message: Annotated[str, Meta(max_length=4000)]

    def as_stop(self) -> Stop:
        """The error that it stands for."""
        kinds: dict[str, type[Stop]] = {kind.__name__: kind for kind in Stop.__subclasses__()}
        return kinds.get(self.name, Stop)(self.message)


Spent = Annotated[
    dict[Annotated[str, Meta(max_length=40)], Annotated[float, Meta(ge=0, le=1e6)]],
    Meta(max_length=16),
]


class Malformed(Exception):
    """A parsing process wrote bytes that this program would not write."""


def most_bytes(kind: FrameKind, result_bytes: int) -> int:
    """How long the payload of a kind may be."""
    if kind is FrameKind.RESULT:
        return result_bytes
    return 0 if kind in (FrameKind.READY, FrameKind.OUT_OF_MEMORY) else _OTHER_BYTES


def head_of(received: bytearray, start: int, result_bytes: int) -> tuple[FrameKind, int, int] | None:
    """Kind, number and length of the frame that begins there; None while its head is not whole.

    Raises:
        Malformed: no such kind, or a payload that is longer than its kind may have.
    """
    if len(received) - start < OUTCOME.size:
        return None
    code, number, length = OUTCOME.unpack_from(received, start)
    kind = _KINDS.get(code)
    if kind is None:
        raise Malformed(f"a frame of the unknown kind {code}")
    if length > most_bytes(kind, result_bytes):
        raise Malformed(
            f"a frame of kind {kind.name} with {length} bytes, at most {most_bytes(kind, result_bytes)} are allowed"
        )
    return kind, number, length


def read(payload: bytes, decoder: msgspec.msgpack.Decoder[Any]) -> Any:
    """The value of a payload.

    Raises:
        Malformed: it is not one of the decoder's type.
    """
    try:
        return decoder.decode(payload)
    except (msgspec.DecodeError, ValueError, TypeError, RecursionError, UnicodeDecodeError) as error:
        raise Malformed(f"a payload that cannot be read: {error}") from error


def pack(value: object) -> bytes:
    """A value as MessagePack; an array, or another object with a buffer, as its bytes.

    Raises:
        TypeError, ValueError: it is no plain value.
    """
    return msgspec.msgpack.encode(value, enc_hook=_buffer)


def _buffer(value: object) -> bytes:
    try:
        return bytes(memoryview(value))  # type: ignore[arg-type]
    except TypeError as error:
        raise TypeError(f"a {type(value).__name__} cannot be handed to another process") from error
