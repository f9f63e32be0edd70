"""Bars and their labels."""

from __future__ import annotations

from tests.results.report.reports import Parsed
from worker.results.report.charts import counts, share_bar, shares
from worker.results.report.tally import Named


def bars(page: Parsed) -> list[float]:
    return [float(a["height"] or 0) for tag, a in page.elements if tag == "rect" and a["class"] == "bar"]


def test_a_bar_is_as_high_as_its_share_and_says_so() -> None:
    steps = [Named("one", 3, 1, 0, 0), Named("two", 0, 0, 0, 5), Named("three", 0, 4, 0, 0)]
    page = Parsed(shares(steps, "what it is"))
    quarter, whole = bars(page)
    assert whole == 4 * quarter
    assert "one: 25 % duplicates of 4 pages" in page.words
    name, attributes = page.elements[0]
    assert (name, attributes["role"], attributes["aria-label"]) == ("svg", "img", "what it is")


def test_the_highest_bar_is_the_largest_count_and_none_stands_for_nothing() -> None:
    page = Parsed(counts([("a", 2), ("b", 0), ("c", 4)], ["0", "2"], "said"))
    low, high = bars(page)
    assert high == 2 * low
    assert "c: 4 pages" in page.words
    assert bars(Parsed(counts([("a", 0)], ["0"], "said"))) == []


def test_the_bar_in_a_table_is_not_read_aloud() -> None:
    page = Parsed(share_bar(1, 2))
    assert page.elements[0][1]["aria-hidden"] == "true"
    assert [a["width"] for tag, a in page.elements if tag == "rect"] == ["60", "30.0"]
