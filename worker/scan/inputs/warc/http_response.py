"""HTTP responses as crawlers stored them, and their bodies without the encodings of HTTP."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from worker.scan.inputs.header_lines import Headers, headers_at
from worker.scan.inputs.opening import needs
from worker.scan.inputs.unpacking import ZSTD, Deflated, Unpacker

_STATUS: Final = re.compile(rb"HTTP(?:/\d{1,2}(?:\.\d{1,2})?)?[ \t]+(\d{3})(?!\d)[^\n]*(?:\n|$)", re.IGNORECASE)
_CHUNK: Final = re.compile(rb"[ \t]*([0-9a-fA-F]{1,16})[ \t]*(?:;[^\n]{0,4096})?\r?\n")
_LINE_END: Final = re.compile(rb"\r?\n")
_GZIP: Final = b"\x1f\x8b"
_STEP: Final = 4096
"""Bytes that are unpacked at once: the bytes after a member are copied, and a body may have a member every few
bytes."""
_MOST_CODINGS: Final = 4
"""Nested encodings; a longer list is made to cost time, and its body stays as it is."""
_MOST_INTERIM: Final = 8


class HttpResponse(NamedTuple):
    """A response as it is stored; ``is_whole`` says whether its header has an end."""

    status: int
    headers: Headers
    body: bytes
    is_whole: bool


def http_response(block: bytes) -> HttpResponse | None:
    """The HTTP response in a record's block, after interim ones (1xx); None if the block begins with no status line."""
    at = len(block) - len(block.lstrip(b"\r\n"))
    found = None
    for _ in range(_MOST_INTERIM):
        if (status := _STATUS.match(block, at)) is None:
            break
        headers, end = headers_at(block, status.end())
        found = HttpResponse(int(status[1]), headers, b"" if end is None else block[end:], end is not None)
        if end is None or found.status >= 200:
            break
        at = end
    return found


class _Brotli:
    """The unpacker interface of ``unpacking`` for brotli, which has its own way to say that there is more."""

    unused_data: Final = b""

    def __init__(self) -> None:
        try:
            import brotli
        except ImportError as error:
            raise needs("brotli", "reading pages that brotli has packed") from error
        self._inner: Final[Any] = brotli.Decompressor()
        self.hungry = True

    @property
    def eof(self) -> bool:
        return bool(self._inner.is_finished())

    def next(self, packed: bytes) -> bytes:
        content = bytes(self._inner.process(packed, output_buffer_limit=_STEP * 16))
        self.hungry = bool(self._inner.can_accept_more_data())
        return content


def _brotli_errors() -> tuple[type[Exception], ...]:
    import brotli

    return (brotli.error,)


class _Coding(NamedTuple):
    unpacker: Callable[[], Unpacker]
    errors: Callable[[], tuple[type[Exception], ...]]
    has_mark: bool = True
    """For an encoding whose data do not begin with a mark: a few bytes may look like it by chance."""


_CODINGS: Final = {
    "gzip": _Coding(lambda: Deflated(zlib.MAX_WBITS | 32), lambda: (zlib.error,)),
    "raw": _Coding(lambda: Deflated(-zlib.MAX_WBITS), lambda: (zlib.error,), has_mark=False),
    "br": _Coding(_Brotli, _brotli_errors, has_mark=False),
    "zstd": _Coding(lambda: ZSTD.unpacker(None), ZSTD.errors),
}
_NAMES: Final = {
    "gzip": "gzip",
    "x-gzip": "gzip",
    "deflate": "gzip",
    "x-deflate": "gzip",
    "br": "br",
    "zstd": "zstd",
    "x-zstd": "zstd",
}


def body_of(response: HttpResponse, most_bytes: int) -> bytes:
    """The body without the encodings of HTTP; of a longer body, the first ``most_bytes`` and a few more.

    Many crawlers remove encodings and leave the header that announces them: a body that is not packed as its header
    says is used as it stands. A body that was cut short is read as far as it goes.
    """
    body = response.body
    if any("chunked" in said.lower() for said in response.headers.all("Transfer-Encoding")):
        body = _without_chunks(body)
    said = ",".join(response.headers.all("Content-Encoding") + response.headers.all("Transfer-Encoding"))
    names = [name for word in said.lower().split(",") if (name := _NAMES.get(word.strip().strip("\"'")))]
    if len(names) > _MOST_CODINGS:
        return body
    for name in reversed(names):
        unpacked = _unpacked(body, _CODINGS[_as_it_is(name, body)], most_bytes)
        body = body if unpacked is None else unpacked
        if len(body) > most_bytes:
            break
    return body


def _as_it_is(name: str, body: bytes) -> str:
    """Servers call gzip deflate, and send deflate without the two bytes that zlib puts before it; browsers read
    both."""
    if name != "gzip" or body.startswith(_GZIP):
        return name
    has_mark = len(body) > 1 and body[0] & 0x0F == 8 and (body[0] << 8 | body[1]) % 31 == 0
    return "gzip" if has_mark else "raw"


def _unpacked(body: bytes, coding: _Coding, most_bytes: int) -> bytes | None:
    """None if it is not packed in this way."""
    found = bytearray()
    at = 0
    unpacker = coding.unpacker()
    try:
        while len(found) <= most_bytes:
            packed = b""
            if unpacker.hungry:
                packed = body[at : at + _STEP]
                at += len(packed)
                if not packed:  # cut short, or nothing at all
                    return bytes(found) or None
            found += unpacker.next(packed)
            if unpacker.eof:
                at -= len(unpacker.unused_data)
                if not body.startswith(_GZIP, at):
                    is_all = coding.has_mark or not body[at:].strip()
                    return bytes(found) if is_all else None
                unpacker = coding.unpacker()
    except coding.errors():
        return bytes(found) if found and coding.has_mark else None
    return bytes(found)


def _without_chunks(body: bytes) -> bytes:
    """The content of chunks. A body that does not begin with one stays as it is, and so does the rest after a chunk
    that does not fit.
    """
    parts: list[bytes] = []
    at = 0
    while head := _CHUNK.match(body, at):
        size = int(head[1], 16)
        end = min(head.end() + size, len(body))
        following = _LINE_END.match(body, end)
        if size == 0:
            is_end = bool(parts) or not body[end:].strip()
            return b"".join(parts) if is_end else body
        if following is None and end < len(body):
            break
        parts.append(body[head.end() : end])
        if following is None:
            return b"".join(parts)
        at = following.end()
    return b"".join(parts) + body[at:]
