"""The messages between a crawl and the process that judges its pages (``DEDUP_MODE = "local"``).

The process greets with the line ``GREETING``, which names the version of this form. Then each side sends frames:
``uint32`` length, little endian, and a MessagePack map. The crawl finishes by closing its pipe: then the process judges
nothing more, writes its state, and ends.

================  ============  ======================================================================================
frame             sent by       when
================  ============  ======================================================================================
``JudgeOpening``  the crawl     first
``JudgeOpened``   the process   the state is open
``PageToJudge``   the crawl     once for each page
``PageJudged``    the process   once for each page, in the order of the pages
``JudgeFailed``   the process   the state cannot be opened, or no page is judged any more, or the state is not written
``JudgeSaid``     the process   a line of its log
================  ============  ======================================================================================
"""

from __future__ import annotations

import struct
from typing import IO, Any, Final, TypeAlias, TypeVar

import msgspec

from crawler_plugin.wire.errors import UnreadableRecord

GREETING: Final = b"crawl-dedup judge 1\n"
"""The number goes up with each change of the messages."""
MOST_SAID: Final = 1 << 20
"""The most bytes of a frame from the process; URLs are its longest part."""
_MOST_ASKED: Final = (1 << 32) - 1
_LENGTH: Final = struct.Struct("<I")


class JudgeOpening(msgspec.Struct, frozen=True, tag=True):
    """Paths of the state and of the worker's settings, None as for ``worker.local.Deduplicator``."""

    state: str | None
    config: str | None


class PageToJudge(msgspec.Struct, frozen=True, tag=True):
    """Headers and value that the page's record would have on the topic ``pages``."""

    headers: tuple[tuple[str, bytes], ...]
    value: bytes


class JudgeOpened(msgspec.Struct, frozen=True, tag=True):
    """How many pages the state holds."""

    judged: int


class PageJudged(msgspec.Struct, frozen=True, tag=True):
    """The values that items get about the page, and ``detail`` for a reader."""

    verdict: str
    duplicate_of: str | None
    distance: int | None
    similarity: float | None
    reason: str
    suspect: bool
    detail: str


class JudgeFailed(msgspec.Struct, frozen=True, tag=True):
    """The reason, with the reader's next step."""

    message: str


class JudgeSaid(msgspec.Struct, frozen=True, tag=True):
    """A line for the log; ``level`` is one of ``logging``."""

    level: int
    message: str


Said: TypeAlias = JudgeOpened | PageJudged | JudgeFailed | JudgeSaid
Asked: TypeAlias = JudgeOpening | PageToJudge
_AskedKind = TypeVar("_AskedKind", bound=Asked)


def write_frame(pipe: IO[bytes], frame: Said | Asked) -> None:
    """Send it.

    Raises:
        OSError: the other side is gone.
    """
    payload = msgspec.msgpack.encode(frame)
    pipe.write(_LENGTH.pack(len(payload)))
    pipe.write(payload)
    pipe.flush()


def read_said(pipe: IO[bytes]) -> Said:
    """Wait for the next message of the process.

    Raises:
        EOFError: the pipe has ended.
        UnreadableRecord: the bytes are not a frame of the process.
    """
    said: Said = _read(pipe, Said, MOST_SAID)
    return said


def read_asked(pipe: IO[bytes], kind: type[_AskedKind]) -> _AskedKind:
    """Wait for the next message of the crawl, which must be of this kind.

    Raises:
        EOFError: the pipe has ended.
        UnreadableRecord: the bytes are something else.
    """
    asked: _AskedKind = _read(pipe, kind, _MOST_ASKED)
    return asked


def _read(pipe: IO[bytes], kind: Any, most: int) -> Any:
    (length,) = _LENGTH.unpack(_exactly(pipe, _LENGTH.size))
    if length > most:
        raise UnreadableRecord(f"a frame of {length} bytes, more than {most}")
    try:
        return msgspec.msgpack.decode(_exactly(pipe, length), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableRecord(f"no frame: {error}") from error


def _exactly(pipe: IO[bytes], length: int) -> bytes:
    found = pipe.read(length)
    if len(found) < length:
        raise EOFError
    return found
