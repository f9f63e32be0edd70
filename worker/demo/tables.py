"""The demo's results for people: sums, sections, and examples of duplicates with the differences of their texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Final

from rich.cells import chop_cells
from rich.table import Table

from crawler_plugin.wire.outcomes import Verdict
from worker.demo.expected_counts import DEAD, DUPLICATE, OUTCOMES, REFETCH, UNIQUE, ExpectedCounts
from worker.demo.site import PageKind, SitePage
from worker.observe.scrape import WorkerShare

EXAMPLES: Final = (
    PageKind.REPOST,
    PageKind.REPOST,
    PageKind.MIRROR,
    PageKind.PRINT,
    PageKind.SESSION,
    PageKind.GONE,
    PageKind.SHORT,
)
"""Kinds of pairs that are shown, each as often as it stands here; a pair of two kinds counts as the first of them."""
SNIPPET: Final = 66
"""Columns of a text that are shown around the place where it differs from the other text."""


def sums(expected: ExpectedCounts) -> Table:
    """Pages by outcome, and duplicates by reason; the rows below the line add up to the row above it."""
    outcomes = expected.outcomes
    table = Table("what became of the pages", "pages")
    table.columns[1].justify = "right"
    table.add_row("fetched by the spider", str(expected.counts.fetched))
    table.add_row("confirmed to the spider by Kafka (dedup/confirmed)", str(expected.counts.confirmed))
    table.add_row("records on the topic pages", str(expected.counts.in_pages))
    table.add_row("committed", str(outcomes.total()), end_section=True)
    table.add_row(UNIQUE, str(outcomes[UNIQUE]))
    table.add_row(DUPLICATE, str(outcomes[DUPLICATE]))
    for reason, count in sorted(expected.reasons.items()):
        table.add_row(f"  by {reason}", f"({count})", style="dim")
    table.add_row(REFETCH, str(outcomes[REFETCH]))
    table.add_row(DEAD, str(outcomes[DEAD]))
    for letter in expected.dead_letters:
        table.add_row(f"  {letter.url.rpartition('/')[2]}: {letter.reason}", "", style="dim")
    return table


def sections(expected: ExpectedCounts) -> Table:
    """How much of each section repeats earlier pages."""
    table = Table("section", *OUTCOMES, "pages", "rate of duplicates")
    for column in table.columns[1:]:
        column.justify = "right"
    for section, counts in expected.by_section().items():
        pages = counts.total()
        rate = f"{counts[DUPLICATE] / pages:.0%}" if pages else ""
        table.add_row(section, *(str(counts[outcome]) for outcome in OUTCOMES), str(pages), rate)
    return table


def owners(shares: Mapping[str, WorkerShare]) -> Table:
    """The owners of shards and partitions, how much the shards hold, and how many pages each worker has committed."""
    table = Table("", "shards of the index", "survivors in them", "partitions of pages", "committed", show_footer=True)
    table.columns[2].footer = str(sum(share.survivors for share in shares.values()))
    table.columns[4].footer = str(sum(share.committed for share in shares.values()))
    for column in (table.columns[2], table.columns[4]):
        column.justify = "right"
    for name, share in shares.items():
        shards, partitions = (" ".join(map(str, owned)) for owned in share[:2])
        table.add_row(name, shards, str(share.survivors), partitions, str(share.committed))
    return table


def examples(expected: ExpectedCounts) -> list[tuple[Verdict, SitePage, SitePage]]:
    """Duplicates to be shown, each with its page and the page that it repeats: kinds as in ``EXAMPLES``."""
    pages = expected.site.by_canonical_url()
    pairs = [
        (verdict, pages[verdict.url], pages[verdict.duplicate_of or ""])
        for verdict in expected.verdicts
        if verdict.verdict == DUPLICATE and verdict.url in pages and verdict.duplicate_of in pages
    ]
    # The farthest apart first: they show most.
    pairs.sort(key=lambda pair: (-(pair[0].distance or 0), pair[0].order))
    found: list[tuple[Verdict, SitePage, SitePage]] = []
    for kind in EXAMPLES:
        taken = {page.group for _, page, _ in found}
        fitting = (pair for pair in pairs if kind is _shows(pair[1], pair[2]) and pair[1].group not in taken)
        found += islice(fitting, 1)
    return found


def example(verdict: Verdict, page: SitePage, original: SitePage, text_of: Callable[[SitePage], str]) -> list[str]:
    """Five lines: which page duplicates which at what distance, and for both where they are and where their texts
    differ."""
    distance = "" if verdict.distance is None else f"distance {verdict.distance}, "
    heading = f"{page.kind.value} duplicates {original.kind.value}: {distance}{verdict.reason}"
    a, b = _snippets(" ".join(text_of(page).split()), " ".join(text_of(original).split()))
    return [heading, f"  A  {page.url}", f"     {a}", f"  B  {original.url}", f"     {b}"]


def _shows(page: SitePage, original: SitePage) -> PageKind:
    """The kind that a pair is an example of: that of the page that is less like the article, whichever came first."""
    return next((kind for kind in EXAMPLES if kind in (page.kind, original.kind)), page.kind)


def _snippets(a: str, b: str) -> Iterable[str]:
    """The same stretch of each text: where they differ, or the beginning of equal ones."""
    parting = next((place for place, pair in enumerate(zip(a, b, strict=False)) if len(set(pair)) > 1), len(min(a, b)))
    begin = 0 if a == b else max(0, parting - SNIPPET // 4)
    for text in (a, b):
        stretch = chop_cells(text[begin : begin + SNIPPET], SNIPPET)[:1]
        end = begin + sum(map(len, stretch))
        yield f"{'… ' if begin else ''}{text[begin:end]}{' …' if end < len(text) else ''}"
