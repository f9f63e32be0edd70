"""Two texts beside each other, as markup."""

from __future__ import annotations

import msgspec
import pytest

from tests.results.report.reports import HOSTILE, Parsed, real_rows
from worker.results.report import differences_shown
from worker.results.report.differences_shown import side_by_side
from worker.results.report.samples import SampledPair, key_of

A, B = (
    msgspec.structs.replace(real_rows()[0], id=name, offset=place, distance=place, similarity=0.5, reason="hamming")
    for place, name in enumerate(("a", "b"))
)
PAIR = SampledPair(A, B)


def shown(a: str, b: str) -> Parsed:
    return Parsed(side_by_side([PAIR], {key_of(A): a, key_of(B): b}, list))


def test_words_of_one_side_are_marked() -> None:
    page = shown("the ferry leaves at nine today", "the ferry leaves at ten")
    assert (page.count("del"), page.count("ins")) == (1, 1)
    assert "distance 1 · similarity 0.50 · hamming · 4 words in both, 2 removed, 1 added" in page.words


def test_texts_may_hold_what_they_like() -> None:
    page = shown("".join(HOSTILE), " ".join(reversed(HOSTILE)))
    assert {name for name, _ in page.elements} <= {
        *("details", "summary", "strong", "div", "p", "a", "span", "bdi", "wbr", "del", "ins"),
    }
    assert all(a.get("dir") in (None, "auto", "ltr") for _, a in page.elements)


def test_equal_texts_are_not_written_out() -> None:
    page = shown("the same", "The  SAME!")
    assert "the same 2 words" in page.words
    assert "No word differs" in page.words


def test_pairs_end_where_the_file_would_become_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {key_of(A): "the ferry leaves at nine", key_of(B): "the ferry leaves at ten"}
    all_of_them = side_by_side([PAIR] * 20, texts, list)
    monkeypatch.setattr(differences_shown, "MOST_BYTES", len(all_of_them.encode()) // 2)
    some = Parsed(side_by_side([PAIR] * 20, texts, list))
    assert 5 < some.count("details") < 15
    assert f"{20 - some.count('details')} more pairs are left out" in some.words
