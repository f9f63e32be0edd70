"""Distance, similarity, angle and blocks."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.evaluate.literature.measures import (
    BlockLayout,
    alike,
    angle,
    blocks,
    blocks_in_common,
    cosine,
    hamming,
    share_of_equal_bits,
)

fingerprints = st.integers(0, 2**64 - 1)
LAYOUTS = [BlockLayout(4, 16), BlockLayout(8, 8), BlockLayout(16, 4)]


@pytest.mark.parametrize(("distance", "degrees"), [(0, 0), (16, 45), (32, 90), (64, 180)])
def test_the_angle_grows_with_the_distance(distance: int, degrees: float) -> None:
    other = (1 << distance) - 1
    assert math.degrees(angle(0, other)) == pytest.approx(degrees)
    assert cosine(0, other) == pytest.approx(math.cos(math.radians(degrees)), abs=1e-12)


@given(fingerprints, fingerprints)
def test_equal_and_differing_bits_make_up_the_whole(a: int, b: int) -> None:
    assert hamming(a, b) == hamming(b, a)
    assert share_of_equal_bits(a, b) * 64 + hamming(a, b) == 64


@pytest.mark.parametrize(
    ("distance", "threshold", "expected"),
    [(3, 0.5, True), (4, 0.5, False), (5, 0.5, False), (2, 0.75, False), (1, 0.75, True), (0, 1.0, False)],
)
def test_two_fingerprints_are_alike_strictly_above_the_threshold(
    distance: int, threshold: float, expected: bool
) -> None:
    assert alike(0, (1 << distance) - 1, 8, threshold) is expected


def test_block_0_holds_the_least_significant_bits() -> None:
    assert blocks(0x0123_4567_89AB_CDEF, BlockLayout(4, 16)) == (0xCDEF, 0x89AB, 0x4567, 0x0123)
    assert blocks(0x0123_4567_89AB_CDEF, BlockLayout(8, 8)) == (0xEF, 0xCD, 0xAB, 0x89, 0x67, 0x45, 0x23, 0x01)
    assert blocks_in_common(0x0123_4567_89AB_CDEF, 0x0123_FFFF_FFFF_CDEF, BlockLayout(4, 16)) == (0, 3)


@given(fingerprints, st.sampled_from(LAYOUTS), st.data())
def test_fewer_differing_bits_than_blocks_leave_a_block_in_common(
    a: int, layout: BlockLayout, data: st.DataObject
) -> None:
    flipped = data.draw(st.sets(st.integers(0, 63), max_size=layout.count - 1))
    b = a ^ sum(1 << place for place in flipped)
    common = blocks_in_common(a, b, layout)
    assert common == tuple(n for n in range(layout.count) if n not in {place // layout.width for place in flipped})
    assert common


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_is_read_as_it_is_written(layout: BlockLayout) -> None:
    assert BlockLayout.parse(str(layout)) == layout
    assert layout.bits == 64


@pytest.mark.parametrize("text", ["", "4", "x16", "4x", "0x16", "4 x 16", "4x16x2", "-4x16", "4X16"])
def test_anything_else_is_no_layout(text: str) -> None:
    with pytest.raises(ValueError, match="give blocks x bits, as 4x16"):
        BlockLayout.parse(text)
