"""How a comparison is shown."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len

from worker.evaluate.literature.comparison import compare
from worker.evaluate.literature.explained import Explained
from worker.evaluate.literature.measures import BlockLayout
from worker.fingerprint.near import SimHashNear
from worker.results.explain.side_by_side import as_object, as_text

NAMES = ("first.html", "zweite-Seite.html")


def explained(fingerprint: int | None, *, bits: int = 64, words: dict[str, float] | None = None) -> Explained:
    words = {"飞碟": 5.0, "fish": 2.0, "外星人": 1.0} if words is None else words
    return Explained(
        bits=bits,
        fingerprint=fingerprint,
        text_hash=7 if fingerprint is None else fingerprint % 2**64,
        language="zh",
        reason="2 features, 3 are needed" if fingerprint is None else None,
        words=tuple(words),
        tokens=len(words),
        features=tuple(words.items()),
        sums=(1.0,) * bits,
        ordinary={"blake2b": 2**bits - 1, "xxh3": 0},
    )


def shown(a: Explained, b: Explained, layout: str = "4x16", *, k: int = 3, everything: bool = False) -> list[str]:
    comparison = compare(a, b, near=SimHashNear(k), layout=BlockLayout.parse(layout))
    return as_text(comparison, NAMES, everything=everything).splitlines()


def test_bits_that_differ_are_marked_under_both_fingerprints() -> None:
    lines = shown(explained(0b1011 << 48), explained(0b0001 << 48 | 1))
    row = next(place for place, line in enumerate(lines) if line.startswith("fingerprints")) + 1
    ours, theirs, marks, distance = lines[row : row + 4]
    assert ours == "A  0000000000001011 0000000000000000 0000000000000000 0000000000000000"
    assert theirs == "B  0000000000000001 0000000000000000 0000000000000000 0000000000000001"
    assert distance == "   3 of 64 bits differ"
    differing = [place for place in range(3, len(ours)) if ours[place] != theirs[place]]
    assert len(differing) == 3
    assert [place for place, mark in enumerate(marks) if mark == "^"] == differing


@pytest.mark.parametrize(
    ("bits", "layout", "expected"),
    [
        (64, "16x4", [" ".join(["0001"] + ["0000"] * 15)]),
        (8, "4x16", ["00010000"]),
        (12, "4x16", ["0001 00000000"]),
        (128, "4x16", [" ".join(["00010000"] + ["00000000"] * 7), " ".join(["00000000"] * 8)]),
    ],
)
def test_rows_hold_64_bits_in_the_groups_that_the_index_cuts(bits: int, layout: str, expected: list[str]) -> None:
    lines = shown(explained(1 << (bits - 4), bits=bits), explained(0, bits=bits), layout)
    start = next(place for place, line in enumerate(lines) if line.startswith("fingerprints")) + 1
    rows = [line for line in lines[start:] if line.startswith("A  ")][: len(expected)]
    assert [row.removeprefix("A  ") for row in rows] == expected


def test_measures_and_the_verdict_at_k() -> None:
    a, b = explained(0), explained(0b111)
    rows = shown(a, b)[-6:]
    assert [re.split(" {3,}", row) for row in rows] == [
        ["Hamming distance", "3 bits"],
        ["share of equal bits", "0.953"],
        ["blocks in common, 4x16", "3 of 4: 1 (bits 16-31), 2 (bits 32-47), 3 (bits 48-63)"],
        ["angle, π·d/f", "8.4°"],
        ["cosine of that angle", "0.989"],
        ["verdict at k = 3", "near (hamming)"],
    ]
    assert len({row.index(re.split(" {3,}", row)[1]) for row in rows}) == 1, "the values stand below each other"
    assert shown(a, b, k=2)[-1].split("   ")[-1].strip() == "not near"


def test_the_columns_of_weights_stay_aligned_beside_wide_characters() -> None:
    lines = shown(explained(1, words={"飞碟": 5, "fish": 2.5}), explained(2, words={"飞碟": 4, "naïve": 1}))
    start = next(place for place, line in enumerate(lines) if line.startswith("features"))
    assert {cell_len(line) for line in lines[start : start + 4]} == {cell_len(lines[start])}
    assert [line.split() for line in lines[start + 1 : start + 4]] == [
        ["飞碟", "5.00", "4.00"],
        ["fish", "2.50", "-"],
        ["naïve", "-", "1.00"],
    ]


def test_only_the_first_tokens_and_features_are_shown_unless_all_are_asked_for() -> None:
    many = {f"w{number:03}": 1.0 for number in range(100)}
    some = "\n".join(shown(explained(1, words=many), explained(2, words=many)))
    assert "w019" in some and "w099" not in some
    assert "… 60 more: --all shows them" in some
    assert "… 80 more: --all shows them" in some
    everything = "\n".join(shown(explained(1, words=many), explained(2, words=many), everything=True))
    assert everything.count("w099") == 3
    assert "more" not in everything


def test_a_side_without_a_fingerprint_says_why() -> None:
    lines = shown(explained(None, words={}), explained(5))
    assert "A  no fingerprint, because: 2 features, 3 are needed" in lines
    assert lines[-1] == "verdict at k = 3   not near"
    assert not any("Hamming" in line for line in lines)


@pytest.mark.parametrize(
    ("known", "told"),
    [
        (
            {"doubt": 1, "title": 2, "thing": "tropical fish", "site_name": "a.example"},
            "its title does not announce its text, so on a.example near only to pages of its title: tropical fish",
        ),
        (
            {"doubt": 1, "title": 3},
            "near only to pages of its title; it has none but the site's, so to pages that show the same",
        ),
        ({"doubt": 2, "title": 2}, "a text under several titles of its site, so near only to pages of its title"),
        ({"shown": ("12", "ab")}, "near only to texts shown with 12, ab"),
    ],
)
def test_a_side_that_is_bound_to_something_says_so(known: dict[str, Any], told: str) -> None:
    assert told in shown(replace(explained(1), **known), explained(1))[0]


def test_two_sides_without_fingerprint_are_near_only_with_the_same_text() -> None:
    assert shown(explained(None), explained(None))[-1] == "verdict at k = 3   near (exact-text)"


def test_the_object_holds_the_same_as_plain_values() -> None:
    comparison = compare(explained(0), explained(0b111), near=SimHashNear(3), layout=BlockLayout(4, 16))
    read = json.loads(json.dumps(as_object(comparison, NAMES)))
    assert read["distance"] == 3
    assert read["share_of_equal_bits"] == 61 / 64
    assert read["blocks"] == {"layout": "4x16", "in_common": [1, 2, 3]}
    assert read["near"] is True
    assert read["reason"] == "hamming"
    assert read["a"]["fingerprint"] == "0" * 64
    assert read["b"]["fingerprint"] == "0" * 61 + "111"
    assert read["ordinary_hash_distance"] == {"blake2b": 0, "xxh3": 0}
    assert read["a"]["features"][0] == {"word": "飞碟", "weight": 5.0}


def test_the_object_of_a_side_without_fingerprint_has_nulls() -> None:
    comparison = compare(explained(None), explained(5), near=SimHashNear(3), layout=BlockLayout(4, 16))
    read = json.loads(json.dumps(as_object(comparison, NAMES)))
    assert read["distance"] is read["reason"] is read["cosine"] is read["a"]["fingerprint"] is None
    assert read["near"] is False
    assert read["a"]["no_fingerprint_because"] == "2 features, 3 are needed"
