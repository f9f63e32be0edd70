"""The demo's results for a reader: the sums are right, and examples show where two texts differ."""

from __future__ import annotations

import io

from rich.cells import cell_len
from rich.console import Console

from tests.demo.test_expected_counts import FIRST_VISITS, judged, reckoned
from worker.demo import tables
from worker.demo.site import PageKind, SitePage
from worker.observe.scrape import (
    WorkerShare,
)


def test_examples_are_of_every_kind_and_show_where_two_texts_part() -> None:
    expected = reckoned(judged(FIRST_VISITS))
    found = tables.examples(expected)
    assert [kind for _, page, original in found for kind in [tables._shows(page, original)]] == list(tables.EXAMPLES)
    assert len({page.group for _, page, _ in found}) == len(found)
    verdict, page, original = next(example for example in found if example[1].kind is PageKind.REPOST)

    def text_of(side: SitePage) -> str:
        return "all the same until " + ("here" if side is page else "there") + " and after it again " * 9

    heading, a_url, a, b_url, b = tables.example(verdict, page, original, text_of)
    assert heading.startswith("repost duplicates ")
    assert (a_url, b_url) == (f"  A  {page.url}", f"  B  {original.url}")
    assert " until here and" in a
    assert " until there and" in b


def test_a_pair_without_distance_and_equal_texts_is_shown_from_the_beginning() -> None:
    verdict, page, original = next(
        pair for pair in tables.examples(reckoned(judged(FIRST_VISITS))) if pair[1].kind is PageKind.SHORT
    )
    bare = verdict.having(distance=None)
    heading, _, a, _, b = tables.example(bare, page, original, lambda side: "Moved.")
    assert "distance" not in heading
    assert (a, b) == ("     Moved.", "     Moved.")


def test_examples_of_wide_characters_and_all_tables_fit_into_80_columns_and_nothing_of_them_is_cut() -> None:
    expected = reckoned(judged(FIRST_VISITS))
    for verdict, page, original in tables.examples(expected):
        lines = tables.example(
            verdict, page, original, lambda side: f"某{side.kind.value}{'一二三四五六七八九十' * 20}"
        )
        assert all(cell_len(line) <= 80 for line in lines), lines
    out = io.StringIO()
    shares = {f"worker {n}": WorkerShare(tuple(range(8)), tuple(range(8)), 10_000, 10_000) for n in range(8)}
    Console(file=out, width=80).print(tables.sums(expected), tables.sections(expected), tables.owners(shares))
    assert "…" not in out.getvalue()
    words = set(out.getvalue().split())
    assert {"(dedup/confirmed)", "duplicates", "committed", "survivors"} <= words


def test_the_table_of_owners_adds_up_what_their_shards_hold() -> None:
    out = io.StringIO()
    shares = {"worker 1": WorkerShare((0, 2), (1,), 20, 5), "worker 2": WorkerShare((1,), (0,), 22, 4)}
    Console(file=out, width=120).print(tables.owners(shares))
    rows = [line.replace("│", " ").split() for line in out.getvalue().splitlines()]
    assert ["worker", "1", "0", "2", "20", "1", "5"] in rows
    assert ["42", "9"] in rows


def test_tables_show_each_section_and_outcome() -> None:
    expected = reckoned(judged(FIRST_VISITS))
    out = io.StringIO()
    console = Console(file=out, width=120)
    console.print(tables.sums(expected), tables.sections(expected))
    for section in expected.by_section():
        assert section in out.getvalue()
    assert str(expected.outcomes["duplicate"]) in out.getvalue()
