"""Unpacks compressed record batches a piece at a time: one kilobyte may unpack to thirty megabytes.

The libraries are imported when a batch needs one: no one has to install a library that none of his spiders uses.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final

from kafka import errors

PIECE_BYTES: Final = 1 << 17
"""About the size of one piece; with smaller pieces, pages of 20 kB are copied more often."""
FEED_BYTES: Final = 1 << 14
"""How much compressed data gzip and lz4 get at once: with each piece they copy the data that they have not used yet."""
ZSTD_WINDOW_BYTES: Final = 32 << 20
"""How far back a zstd stream may refer. A stream that is read has a buffer of the size that it asks for: up to zstd's
level 20 that is not larger than this, and brokers accept four times as much."""
SNAPPY_BLOCK_BYTES: Final = 32 << 20
"""A snappy block that claims more is unpacked here; the library would unpack it as a whole."""
SNAPPY_REACH_BYTES: Final = 1 << 16
"""How far back such a block may refer: every snappy compressor works on parts of that size."""

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
_XERIAL: Final = b"\x82SNAPPY\x00"
"""The beginning of a stream of snappy blocks with their lengths, which Java writes; librdkafka writes one bare
block."""
_XERIAL_HEADER_BYTES: Final = 16


def unpacked(codec: int, packed: memoryview) -> Iterator[bytes]:
    """The pieces of the unpacked batch, in their order; some may be empty.

    Raises:
        UnsupportedCodecError: at once; the codec is unknown, or its library is not installed.
        Exception: with a piece, any exception of the library about data that it cannot read.
    """
    if codec not in _CODECS:
        raise errors.UnsupportedCodecError(f"compression type {codec} is unknown")
    name, module, unpack = _CODECS[codec]
    try:
        library = importlib.import_module(module)
    except ImportError as error:
        raise errors.UnsupportedCodecError(f"the library for {name} is not installed") from error
    return unpack(library, packed)


def _gzip(_: ModuleType, packed: memoryview) -> Iterator[bytes]:
    fed, data = 0, b""
    while data or fed < len(packed):  # a member
        inflate = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        while not inflate.eof:
            if not data:
                data = bytes(packed[fed : fed + FEED_BYTES])
                fed += len(data)
            piece = inflate.decompress(data, PIECE_BYTES)
            if not (piece or data):
                raise EOFError("the gzip stream is cut off")
            data = inflate.unconsumed_tail
            yield piece
        data = inflate.unused_data


def _lz4(library: Any, packed: memoryview) -> Iterator[bytes]:
    fed, data = 0, b""
    while data or fed < len(packed):  # a frame
        frame = library.LZ4FrameDecompressor()
        while not frame.eof:
            if frame.needs_input and not data:
                data = bytes(packed[fed : fed + FEED_BYTES])
                fed += len(data)
                if not data:
                    raise EOFError("the lz4 frame is cut off")
            piece = frame.decompress(data, PIECE_BYTES)
            data = b""
            yield piece
        data = frame.unused_data or b""


def _zstd(library: Any, packed: memoryview) -> Iterator[bytes]:
    decompressor = library.ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES)
    with decompressor.stream_reader(packed, read_across_frames=True) as stream:
        while piece := stream.read(PIECE_BYTES):
            yield piece


def _snappy(library: Any, packed: memoryview) -> Iterator[bytes]:
    if bytes(packed[: len(_XERIAL)]) != _XERIAL:
        yield from _snappy_block(library, packed)
        return
    place = _XERIAL_HEADER_BYTES
    while place < len(packed):
        begin = place + 4
        place = begin + int.from_bytes(packed[place:begin], "big")
        if place > len(packed):
            raise EOFError("the snappy stream is cut off")
        yield from _snappy_block(library, packed[begin:place])


def _snappy_block(library: Any, block: memoryview) -> Iterator[bytes]:
    size, place = _snappy_size(block)
    if size <= SNAPPY_BLOCK_BYTES:
        yield library.decompress(bytes(block))
    else:
        yield from _snappy_pieces(block, place)


def _snappy_size(block: memoryview) -> tuple[int, int]:
    """The size that a block says it unpacks to, and where its elements begin."""
    size = 0
    for place in range(5):
        size |= (block[place] & 0x7F) << 7 * place
        if block[place] < 0x80:
            return size, place + 1
    raise ValueError("the snappy block has no length")


def _snappy_pieces(block: memoryview, place: int) -> Iterator[bytes]:
    """Unpack the elements of a block one after the other, and keep no more than later ones may refer to.

    A literal holds its bytes; a copy repeats bytes from so far back, and may repeat what it has just written. (See
    ``format_description.txt`` of snappy.)
    """
    made = bytearray()
    given = 0
    while place < len(block):
        tag = block[place]
        kind = tag & 3
        if kind == 0:
            size, begin = (tag >> 2) + 1, place + 1
            if size > 60:
                begin += size - 60
                size = int.from_bytes(block[place + 1 : begin], "little") + 1
            place = begin + size
            made += block[begin:place]
        else:
            if kind == 1:
                size, back, place = 4 + (tag >> 2 & 7), (tag >> 5) << 8 | block[place + 1], place + 2
            else:
                width = 2 if kind == 2 else 4
                size, back = (tag >> 2) + 1, int.from_bytes(block[place + 1 : place + 1 + width], "little")
                place += 1 + width
            if not 0 < back <= min(len(made), SNAPPY_REACH_BYTES):
                raise ValueError(f"the snappy block refers {back} bytes back")
            begin = len(made) - back
            source = made[begin : begin + size]
            made += (source * (size // len(source) + 1))[:size]
        if len(made) - given >= PIECE_BYTES:
            yield bytes(memoryview(made)[given:])
            del made[:-SNAPPY_REACH_BYTES]
            given = len(made)
    if place > len(block):
        raise EOFError("the snappy block is cut off")
    yield bytes(memoryview(made)[given:])


_CODECS: Final[dict[int, tuple[str, str, Callable[[Any, memoryview], Iterator[bytes]]]]] = {
    GZIP: ("gzip", "zlib", _gzip),
    SNAPPY: ("snappy", "snappy", _snappy),
    LZ4: ("lz4", "lz4.frame", _lz4),
    ZSTD: ("zstd", "zstandard", _zstd),
}
