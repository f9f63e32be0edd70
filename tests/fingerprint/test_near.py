"""The predicate that verdicts rest on."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.forgetting import MAX_U64
from tests.index.worlds import fingerprints, flipped, maybe_fingerprints, text_hashes
from worker.fingerprint.near import (
    ANY_RATIO,
    HAMMING_RATIO,
    SHORT_RATIO,
    SKETCH_RATIO,
    AccurateNear,
    Match,
    Ratio,
    SimHashNear,
)
from worker.fingerprint.sketch import BANDS, SKETCH_BYTES


@dataclass(frozen=True)
class Page:
    fingerprint: int | None
    text_hash: int = 0
    tokens: int = 9
    sketch: bytes = b""
    bands: bytes = b""


def near_sketch(slots_that_differ: int) -> bytes:
    """A sketch that differs from the sketch of all zeros in this many slots."""
    return int("1" * slots_that_differ or "0", 4).to_bytes(SKETCH_BYTES, "little")


def keys(*values: int) -> bytes:
    """Band keys; the remaining ones are unlike any other page's."""
    return np.array([*values, *(random.getrandbits(32) for _ in range(BANDS - len(values)))], "<u4").tobytes()


random = Random(1)
ratios = st.sampled_from((ANY_RATIO, HAMMING_RATIO, Ratio(1, 1)))
counts = st.sampled_from((0, 3, 5, 9, 15, 16))
pages = st.builds(Page, maybe_fingerprints, text_hashes, counts)
radii = st.integers(0, 4)


@pytest.mark.parametrize("k", [0, 1, 2, 3])
@pytest.mark.parametrize("bits", [(0, 1, 2, 3), (63, 62, 61, 60), (15, 16, 31, 32), (0, 21, 42, 63)])
def test_a_distance_of_exactly_k_is_near_and_one_bit_more_is_not(k: int, bits: tuple[int, ...]) -> None:
    near, page = SimHashNear(k), Page(0x0123456789ABCDEF, 1)
    assert near(page, Page(flipped(0x0123456789ABCDEF, bits[:k]), 2)) == Match(k, "hamming")
    assert near(page, Page(flipped(0x0123456789ABCDEF, bits[: k + 1]), 2)) is None


@pytest.mark.parametrize(
    ("a", "b", "match"),
    [
        (Page(5, 1), Page(5, 1), Match(0, "exact-text")),
        (Page(5, 1), Page(5, 2), Match(0, "hamming")),
        (Page(5, 1), Page(4, 1), Match(1, "hamming")),
        (Page(None, 1), Page(None, 1), Match(None, "exact-text")),
        (Page(None, 1, 0), Page(None, 1, 0), Match(None, "exact-bytes")),
        (Page(None, 1, 0), Page(None, 1, 1), Match(None, "exact-text")),
        (Page(None, 1, 0), Page(None, 2, 0), None),
        (Page(None, 1), Page(None, 2), None),
        (Page(None, 1), Page(0, 1), None),
        (Page(None, 1), Page(MAX_U64, 1), None),
        (Page(0), Page(MAX_U64), None),
    ],
    ids=[
        "the same text",
        "the same fingerprint of another text",
        "texts whose hashes collide",
        "no features, the same text",
        "no token, the same bytes",
        "hashes of bytes and of a text that collide",
        "no token, other bytes",
        "no features, another text",
        "no features is not the fingerprint zero",
        "no features is not the fingerprint of all ones",
        "all bits differ",
    ],
)
def test_how_two_pages_are_near(a: Page, b: Page, match: Match | None) -> None:
    assert SimHashNear(3)(a, b) == match
    assert SimHashNear(3)(b, a) == match


@given(pages, pages, radii, ratios)
def test_near_is_symmetric(a: Page, b: Page, k: int, ratio: Ratio) -> None:
    assert SimHashNear(k, ratio)(a, b) == SimHashNear(k, ratio)(b, a)


@given(pages, radii, ratios)
def test_every_page_is_near_to_itself(page: Page, k: int, ratio: Ratio) -> None:
    for near in (SimHashNear(k, ratio), AccurateNear(k, ratio=ratio)):
        match = near(page, page)
        assert match is not None
        bytes_only = page.fingerprint is None and page.tokens == 0
        assert match.reason == ("exact-bytes" if bytes_only else "exact-text")


@given(fingerprints, fingerprints, radii)
def test_the_distance_is_the_number_of_bits_that_differ(a: int, b: int, k: int) -> None:
    differing = f"{a ^ b:b}".count("1")
    match = SimHashNear(k)(Page(a, 1), Page(b, 2))
    assert match == (Match(differing, "hamming") if differing <= k else None)


@pytest.mark.parametrize(
    ("ratio", "a", "b", "allowed"),
    [
        (HAMMING_RATIO, 3, 5, True),
        (HAMMING_RATIO, 59, 100, False),
        (HAMMING_RATIO, 60, 100, True),
        (SHORT_RATIO, 3, 4, True),
        (SHORT_RATIO, 74, 99, False),
        (SKETCH_RATIO, 75, 100, True),
        (ANY_RATIO, 0, 100, True),
        (HAMMING_RATIO, 0, 0, True),
    ],
)
def test_a_ratio_includes_its_own_value(ratio: Ratio, a: int, b: int, allowed: bool) -> None:
    assert ratio.allows(a, b) == ratio.allows(b, a) == allowed
    near = SimHashNear(3, ratio)
    assert (near(Page(5, 1, a), Page(5, 2, b)) is not None) == allowed


FAR = 0xFFFF


@pytest.mark.parametrize(
    ("other", "match"),
    [
        (Page(FAR, 2, 9, near_sketch(38), keys(7)), Match(16, "sketch")),
        (Page(FAR, 2, 9, near_sketch(39), keys(7)), None),
        (Page(FAR, 2, 9, near_sketch(0), keys(8)), None),
        (Page(FAR, 2, 12, near_sketch(0), keys(7)), Match(16, "sketch")),
        (Page(FAR, 2, 13, near_sketch(0), keys(7)), None),
        (Page(FAR, 1, 9, near_sketch(128), keys(7)), None),
        (Page(7, 2, 9, near_sketch(57), keys(8)), Match(3, "hamming")),
        (Page(7, 2, 9, near_sketch(58), keys(8)), None),
        (Page(7, 2, 9, b"", keys(7)), Match(3, "hamming")),
        (Page(7, 1, 9, near_sketch(128), keys(8)), Match(3, "hamming")),
        (Page(7, 2, 9, near_sketch(0), keys(7)), Match(3, "hamming")),
        (Page(0, 1, 9, near_sketch(0), keys(7)), Match(0, "exact-text")),
        (Page(7, 2, 16, near_sketch(0), keys(7)), None),
        (Page(None, 1, 9, b"", b""), None),
        (Page(FAR, 2, 9, b"", b""), None),
    ],
    ids=[
        "90 equal slots",
        "89 equal slots",
        "no band in common",
        "three quarters of the tokens",
        "fewer than three quarters",
        "a text hash of equal value alone",
        "close fingerprints, 71 equal slots",
        "close fingerprints, 70 equal slots",
        "close fingerprints, no sketch on one side",
        "close fingerprints and equal texts",
        "both rules: the closer one is named",
        "the same text",
        "close fingerprints and sketches of far too different length",
        "no fingerprint on one side",
        "no sketch on one side",
    ],
)
def test_how_two_pages_are_accurately_near(other: Page, match: Match | None) -> None:
    page = Page(0, 1, 9, near_sketch(0), keys(7))
    assert AccurateNear()(page, other) == match
    assert AccurateNear()(other, page) == match


def test_a_key_counts_only_in_its_own_band() -> None:
    a, b = Page(0, 1, 9, near_sketch(0), keys(7, 1)), Page(FAR, 2, 9, near_sketch(0), keys(1, 7))
    assert AccurateNear()(a, b) is None


sketched = st.builds(
    Page,
    st.sampled_from((0, 1, FAR)),
    text_hashes,
    counts,
    st.sampled_from((b"", *map(near_sketch, (0, 10, 38, 39, 57, 58, 67)))),
    st.sampled_from((b"", keys(7), keys(7, 8), keys(8, 8), bytes(32))),
)


@given(st.lists(sketched | pages, max_size=8), radii, ratios)
def test_of_two_pages_each_is_near_to_the_other_accurately_or_neither(batch: list[Page], k: int, ratio: Ratio) -> None:
    near = AccurateNear(k, ratio=ratio)
    assert all(near(a, b) == near(b, a) for a in batch for b in batch)
