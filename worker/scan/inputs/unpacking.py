"""Unpacks a file while it is read, piece by piece, and finds the next whole part after damage.

A packed file is a row of members, each of which can be unpacked separately: gzip and bzip2 call them members or
streams, zstd frames. Most files have one; a WARC has one for each record. If a member is damaged, its unpacked part
counts, the rest of it is lost, and reading goes on at the next place that looks like the beginning of one.
"""

from __future__ import annotations

import bz2
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, NamedTuple, Protocol

from worker.scan.inputs.opening import DamagedFile, Reading, needs

CHUNK: Final = 256 * 1024
"""Bytes that are read, or unpacked, at once."""
_BACK: Final = 64 * 1024
"""How far back from the place where damage shows the next member is looked for: a damaged one may seem to be longer
than it is. Searching further back would let a file made for it cost hours."""
_START: Final = 16
"""Bytes in which every member shows that it is one."""
_XZ_MEMORY: Final = 256 * 1024 * 1024
"""The memory that a file may ask for; the strongest setting of xz asks for 65 MiB."""


class UnpackedPiece(NamedTuple):
    """The next piece of a file.

    ``begins`` is the offset, in the stored file, of the member that begins with this piece; ``ends`` that of the end of
    the member that ends with it. With ``damage`` there is no content, and ``begins`` is where the unreadable part
    begins.
    """

    content: bytes
    begins: int | None = None
    ends: int | None = None
    damage: str = ""


class Unpacker(Protocol):
    """Unpacks one member. Ask for the next bytes with the data that was read since it was last ``hungry``."""

    @property
    def hungry(self) -> bool: ...
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def next(self, packed: bytes) -> bytes: ...


class Deflated:
    """``wbits`` is the format around the data, as in ``zlib``."""

    def __init__(self, wbits: int) -> None:
        self._inner = zlib.decompressobj(wbits)
        self.hungry = True

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def next(self, packed: bytes) -> bytes:
        content = self._inner.decompress(self._inner.unconsumed_tail + packed, CHUNK)
        self.hungry = not self._inner.unconsumed_tail and len(content) < CHUNK
        return content


class _Other:
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    @property
    def hungry(self) -> bool:
        return bool(self._inner.needs_input)

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._inner.unused_data)

    def next(self, packed: bytes) -> bytes:
        return bytes(self._inner.decompress(packed, CHUNK))


@dataclass(frozen=True, slots=True)
class Compression:
    """A way to pack files.

    ``start`` is the beginning of each member, ``unpacker`` makes the unpacker of a member, with the file's dictionary
    if it has one, ``errors`` are its exceptions, and ``writer`` packs the bytes that are written to it.
    """

    name: str
    start: re.Pattern[bytes]
    unpacker: Callable[[bytes | None], Unpacker]
    errors: Callable[[], tuple[type[Exception], ...]]
    writer: Callable[[Any], Any]


def _zstd() -> ModuleType:
    """Python's own module, or the package that brings it to older versions.

    Raises:
        UsageError: there is neither.
    """
    import importlib

    for name in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise needs("backports.zstd", "reading zstd")


def _zlib_errors() -> tuple[type[Exception], ...]:
    return (zlib.error,)


def _gzip_writer(target: Any) -> Any:
    import gzip

    # Neither name nor time of day: the same pages make the same bytes.
    return gzip.GzipFile(filename="", mode="wb", fileobj=target, compresslevel=6, mtime=0)


GZIP: Final = Compression(
    "gz",
    re.compile(rb"\x1f\x8b\x08[\x00-\x1f]", re.DOTALL),
    lambda _: Deflated(31),
    lambda: (zlib.error,),
    _gzip_writer,
)
ZSTD: Final = Compression(
    "zst",
    re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18", re.DOTALL),
    lambda dictionary: _Other(_zstd().ZstdDecompressor(dictionary and _zstd().ZstdDict(dictionary))),
    lambda: (_zstd().ZstdError,),
    lambda target: _zstd().ZstdFile(target, "wb"),
)
XZ: Final = Compression(
    "xz",
    re.compile(rb"\xfd7zXZ\x00"),
    lambda _: _Other(lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)),
    lambda: (lzma.LZMAError,),
    lambda target: lzma.LZMAFile(target, "wb"),  # noqa: SIM115
)
BZIP2: Final = Compression(
    "bz2",
    re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"),
    lambda _: _Other(bz2.BZ2Decompressor()),
    lambda: (OSError, ValueError),
    lambda target: bz2.BZ2File(target, "wb"),
)
_DICTIONARY: Final = b"\x5d\x2a\x4d\x18"
FRAME_HEAD: Final = 8
_MOST_DICTIONARY: Final = 64 * 1024 * 1024
COMPRESSIONS: Final = (GZIP, ZSTD, XZ, BZIP2)


def compression_of(beginning: bytes) -> Compression | None:
    """The packing of a file, by its first bytes; None for none."""
    return next((one for one in COMPRESSIONS if one.start.match(beginning)), None)


def dictionary_frame(beginning: bytes) -> int:
    """How many first bytes of a file hold the dictionary for the rest, given its beginning; zstd's WARC files have
    one."""
    if not beginning.startswith(_DICTIONARY):
        return 0
    size = FRAME_HEAD + int.from_bytes(beginning[4:FRAME_HEAD], "little")
    return size if size <= _MOST_DICTIONARY else 0


def pieces(reading: Reading, compression: Compression | None) -> Iterator[UnpackedPiece]:
    """All content of the file, unpacked, at most ``CHUNK`` bytes at once. A file that is not packed is one member."""
    try:
        yield from _stored(reading) if compression is None else _Members(reading, compression).pieces()
    except DamagedFile as error:
        yield UnpackedPiece(b"", reading.position, damage=str(error))


def _stored(reading: Reading) -> Iterator[UnpackedPiece]:
    begins: int | None = 0
    while content := reading.read(CHUNK):
        yield UnpackedPiece(content, begins)
        begins = None
    yield UnpackedPiece(b"", begins, ends=reading.position)


class _Members:
    """Walks over the members of a packed file."""

    def __init__(self, reading: Reading, compression: Compression) -> None:
        self._reading: Final = reading
        self._compression: Final = compression
        self._errors: Final = compression.errors()
        self._ahead = b""
        """Read and not unpacked."""
        self._dictionary: bytes | None = None

    @property
    def _at(self) -> int:
        return self._reading.position - len(self._ahead)

    def pieces(self) -> Iterator[UnpackedPiece]:
        """The members one after the other, and the parts between them that are none."""
        is_told = False  # this damage was reported, and nothing was found after it yet
        while self._fill():
            begins = self._at
            if not begins and self._compression is ZSTD and (size := dictionary_frame(self._ahead)):
                self._read_dictionary(size)
                continue
            if self._compression.start.match(self._ahead):
                damage = None
                for piece in self._member(begins):
                    if piece.damage:
                        damage = piece
                    else:
                        is_told = is_told and not piece.content
                        yield piece
            elif self._ahead[0] == 0:
                self._ahead = self._ahead.lstrip(b"\0")  # padding that tapes and padded streams have between members
                continue
            else:
                damage = UnpackedPiece(b"", begins, damage=f"no {self._compression.name} begins here")
            if damage is not None:
                if not is_told:
                    yield damage
                is_told = True
                self._search(begins + 1)

    def _fill(self) -> bool:
        """Whether anything follows; then there is enough of it to see whether a member begins."""
        while len(self._ahead) < _START and (more := self._reading.read(CHUNK)):
            self._ahead += more
        return bool(self._ahead)

    def _member(self, begins: int) -> Iterator[UnpackedPiece]:
        """One member; or the part of it that can be unpacked, the damage, and its last bytes ahead once more."""
        unpacker = self._compression.unpacker(self._dictionary)
        name = f"{self._compression.name} member that begins here"
        first: int | None = begins
        behind = b""
        while True:
            packed = b""
            if unpacker.hungry:
                packed, self._ahead = self._ahead or self._reading.read(CHUNK), b""
                if not packed:
                    self._ahead = behind
                    yield UnpackedPiece(b"", begins, damage=f"the file ends within the {name}")
                    return
                behind = behind[-_BACK:] + packed
            try:
                content = unpacker.next(packed)
            except self._errors as error:
                self._ahead = behind
                yield UnpackedPiece(b"", begins, damage=f"the {name} cannot be unpacked: {error}")
                return
            if unpacker.eof:
                self._ahead = unpacker.unused_data
                yield UnpackedPiece(content, first, ends=self._at)
                return
            if content:
                yield UnpackedPiece(content, first)
                first = None

    def _read_dictionary(self, size: int) -> None:
        while len(self._ahead) < size and (more := self._reading.read(CHUNK)):
            self._ahead += more
        found, self._ahead = self._ahead[FRAME_HEAD:size], self._ahead[size:]
        if self._compression.start.match(found):
            with suppress(*self._errors):
                found = _zstd().ZstdDecompressor().decompress(found, _MOST_DICTIONARY)
        # A damaged one counts as none: then data packed with it cannot be unpacked, and that is reported.
        with suppress(*self._errors, ValueError):
            _zstd().ZstdDict(found)
            self._dictionary = found

    def _search(self, earliest: int) -> None:
        """Go to where the next member seems to begin, or to the end."""
        self._ahead = self._ahead[max(0, earliest - self._at) :]
        while not (match := self._compression.start.search(self._ahead)):
            more = self._reading.read(CHUNK)
            if not more:
                self._ahead = b""
                return
            self._ahead = self._ahead[-_START:] + more
        self._ahead = self._ahead[match.start() :]
