"""Two texts side by side, as markup."""

from __future__ import annotations

import msgspec
import pytest

from tests.results.report.reports import HOSTILE, Parsed, real_rows
from worker.results.report import differences_shown
from worker.results.report.differences_shown import side_by_side
from worker.results.report.samples import SampledPair, key_of


@pytest.fixture
def pair() -> SampledPair:
    a, b = (
        msgspec.structs.replace(real_rows()[0], id=name, offset=place, distance=place, similarity=0.5, reason="hamming")
        for place, name in enumerate(("a", "b"))
    )
    return SampledPair(a, b)


def shown(pair: SampledPair, a: str, b: str, times: int = 1) -> str:
    return side_by_side([pair] * times, {key_of(pair.survivor): a, key_of(pair.page): b}, list)


def test_words_of_one_side_are_marked(pair: SampledPair) -> None:
    page = Parsed(shown(pair, "the ferry leaves at nine today", "the ferry leaves at ten"))
    assert (page.count("del"), page.count("ins")) == (1, 1)
    assert "distance 1 · similarity 0.50 · hamming · 4 words in both, 2 removed, 1 added" in page.words


def test_texts_may_hold_what_they_like(pair: SampledPair) -> None:
    page = Parsed(shown(pair, "".join(HOSTILE), " ".join(reversed(HOSTILE))))
    assert {name for name, _ in page.elements} <= {
        *("details", "summary", "strong", "div", "p", "a", "span", "bdi", "wbr", "del", "ins"),
    }
    assert all(a.get("dir") in (None, "auto", "ltr") for _, a in page.elements)


def test_equal_texts_are_not_written_out(pair: SampledPair) -> None:
    page = Parsed(shown(pair, "the same", "The  SAME!"))
    assert "the same 2 words" in page.words
    assert "No word differs" in page.words


def test_pairs_end_where_the_file_would_become_too_large(pair: SampledPair, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = "the ferry leaves at nine", "the ferry leaves at ten"
    all_of_them = shown(pair, *texts, times=20)
    monkeypatch.setattr(differences_shown, "MOST_BYTES", len(all_of_them.encode()) // 2)
    some = Parsed(shown(pair, *texts, times=20))
    assert 5 < some.count("details") < 15
    assert f"{20 - some.count('details')} more pairs are left out" in some.words
