"""Compressed batches unpack in pieces to the original bytes, and unreadable ones come to an end."""

from __future__ import annotations

import sys
from contextlib import nullcontext

import pytest
import snappy
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka import errors

from tests.stream.kafka.batches import CODECS, LZ4, ZSTD
from worker.stream.kafka import decompression
from worker.stream.kafka.decompression import PIECE_BYTES, SNAPPY_BLOCK_BYTES, unpacked

COMPRESSED = [kind for kind in CODECS if kind != "none"]


@pytest.mark.parametrize("kind", COMPRESSED)
@given(data=st.binary(max_size=3000), times=st.integers(1, 400))
@settings(max_examples=25, deadline=None)
def test_what_was_packed_comes_out(kind: str, data: bytes, times: int) -> None:
    codec, compress = CODECS[kind]
    assert b"".join(unpacked(codec, memoryview(compress(data * times)))) == data * times


@pytest.mark.parametrize("kind", [kind for kind in COMPRESSED if "snappy" not in kind])
def test_a_kilobyte_that_stands_for_megabytes_comes_in_small_pieces(kind: str) -> None:
    codec, compress = CODECS[kind]
    sizes = [len(piece) for piece in unpacked(codec, memoryview(compress(bytes(8 << 20))))]
    assert sum(sizes) == 8 << 20
    assert max(sizes) <= 2 * PIECE_BYTES


@pytest.mark.parametrize("kind", COMPRESSED)
def test_a_stream_that_is_cut_off_ends_with_an_error_or_early(kind: str) -> None:
    codec, compress = CODECS[kind]
    data = bytes((number * number * 31 >> 7) & 255 for number in range(50_000))
    found = b""
    packed = compress(data)
    with (
        nullcontext() if codec == ZSTD else pytest.raises((EOFError, RuntimeError, ValueError, snappy.UncompressError))
    ):
        for piece in unpacked(codec, memoryview(packed)[: len(packed) // 2]):
            found += piece
    assert len(found) < len(data)
    assert data.startswith(found)


def test_an_unknown_codec_is_refused_before_anything_is_read() -> None:
    with pytest.raises(errors.UnsupportedCodecError, match="compression type 7 is unknown"):
        unpacked(7, memoryview(b""))


def test_a_library_is_looked_for_when_a_batch_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lz4.frame", None)
    with pytest.raises(errors.UnsupportedCodecError, match="the library for lz4 is not installed"):
        unpacked(LZ4, memoryview(b""))
    codec, compress = CODECS["gzip"]
    assert b"".join(unpacked(codec, memoryview(compress(b"page")))) == b"page"


def blocks() -> st.SearchStrategy[bytes]:
    """Texts with repeats far and near."""
    return st.lists(st.tuples(st.binary(max_size=50), st.integers(1, 300)), max_size=30).map(
        lambda parts: b"".join(part * times for part, times in parts)
    )


@given(blocks())
@settings(max_examples=200, deadline=None)
def test_large_blocks_of_snappy_are_read_as_by_the_library(data: bytes) -> None:
    packed = memoryview(snappy.compress(data))
    size, place = decompression._snappy_size(packed)
    assert size == len(data)
    assert b"".join(decompression._snappy_pieces(packed, place)) == data


@given(st.binary(min_size=5, max_size=200))
@settings(max_examples=200, deadline=None)
def test_hostile_blocks_of_snappy_end(data: bytes) -> None:
    try:
        for piece in decompression._snappy_pieces(memoryview(data), 0):
            assert len(piece) < PIECE_BYTES + 2**16
    except (ValueError, EOFError, IndexError):
        pass


def test_a_block_of_snappy_that_claims_gigabytes_is_not_believed() -> None:
    claim = b"\xff\xff\xff\xff\x0f"
    assert decompression._snappy_size(memoryview(claim)) == (2**32 - 1, 5)
    assert b"".join(unpacked(decompression.SNAPPY, memoryview(claim + b"\x00a"))) == b"a"


def test_a_large_block_of_snappy_is_taken_apart_here_in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"page " * (SNAPPY_BLOCK_BYTES // 5 + 1)
    packed = memoryview(snappy.compress(data))
    monkeypatch.setattr(snappy, "decompress", lambda block: pytest.fail("the library makes it as a whole"))
    pieces = iter(unpacked(decompression.SNAPPY, packed))
    first = next(pieces)
    assert PIECE_BYTES <= len(first) < PIECE_BYTES + 2**16
    assert data.startswith(first)
