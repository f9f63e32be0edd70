"""Bytes in pieces."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.serve.pieces import Pieces

PIECE = st.one_of(st.binary(max_size=3), st.integers(16_383, 16_385).map(lambda size: b"x" * size))


@given(st.lists(PIECE))
def test_they_are_joined_in_their_order_and_none_is_left(found: list[bytes]) -> None:
    pieces = Pieces()
    for piece in found:
        pieces.add(piece)
    assert pieces.size == sum(map(len, found))
    assert pieces.take() == b"".join(found)
    assert (pieces.size, pieces.take()) == (0, b"")


def test_a_large_piece_alone_is_not_copied() -> None:
    pieces, large = Pieces(), bytes(100_000)
    pieces.add(large)
    assert pieces.take() is large


@pytest.mark.parametrize("between", [b"", bytes(1 << 14)])
def test_single_bytes_take_no_more_memory_than_they_are(between: bytes) -> None:
    pieces = Pieces()
    for _ in range(10_000):
        pieces.add(b"x")
    pieces.add(between)
    for _ in range(10_000):
        pieces.add(b"y")
    assert sum(map(sys.getsizeof, pieces._pieces)) < 2 * pieces.size + 1000
