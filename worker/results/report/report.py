"""Verdicts in, a page for people out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from crawler_plugin.wire.errors import UnreadableRecord, UsageError
from crawler_plugin.wire.files import replaced
from crawler_plugin.wire.outcomes import Verdict
from worker.compose import parts
from worker.config import Settings
from worker.results.groups.grouping import Grouping
from worker.results.groups.verdict_lines import VerdictLines
from worker.results.report.differences_shown import side_by_side
from worker.results.report.findings import findings
from worker.results.report.group_pictures import largest
from worker.results.report.markup import Markup, joined, tag
from worker.results.report.page import Contents, page
from worker.results.report.samples import SampledPair, Samples, TextsOf, key_of
from worker.results.report.tally import Tally
from worker.results.report.timeline import timeline
from worker.results.report.words import cut_by
from worker.results.rows import DEAD_LETTERS, pageless_records

REPORT: Final = "report.html"
"""The name of the file in the folder of a scan."""

_NO_TEXTS: Final = (
    "No pages are shown side by side: verdicts hold no texts, and this report was not given the pages. Make it again "
    "where the scanned files are: python -m worker report DIR."
)


def write_report(
    rows: Path,
    out: Path,
    settings: Settings,
    texts_of: TextsOf | None = None,
    *,
    name: str | None = None,
    sketched: bool = True,
) -> None:
    """Write the report of a file of verdicts to ``out``, which then exists as a whole or not at all.

    ``settings`` are those of the scan. ``texts_of`` is called once for the main texts of some dozens of pages, which
    are shown side by side; without it the report says that there are none. Records that no page could be read from are
    counted from the dead letters next to ``rows``. ``name`` is the subject of the report, by default the folder of
    ``rows``. ``sketched`` is False for verdicts without sketches, such as those of the topic.

    Memory: about 70 bytes for each row, and some 100 MB in addition. The file has less than 2 MB.

    Raises:
        UsageError: a line is no verdict or no dead letter, or the settings are not those of the scan.
    """
    with VerdictLines(rows) as lines:
        grouping = Grouping(lines, parts.near(settings).near if sketched else None)
        tally, samples = Tally(), Samples()
        for begin, row in lines.rows():
            tally.add(row)
            samples.offer(begin, row)
        for record in _pageless(lines.path.with_name(DEAD_LETTERS)):
            tally.add_record(record)
        groups = largest(lines, grouping)
        contents = Contents(
            name=name or lines.path.resolve().parent.name,
            tally=tally,
            timeline=timeline(*tally.columns()),
            groups=sum(1 for _ in grouping.groups()),
            largest=groups,
            findings=findings(tally, groups),
            pairs=_pairs(samples.chosen(lines, grouping), texts_of, settings),
        )
    with replaced(out) as beside:
        beside.write_text(page(contents), encoding="utf-8")


def _pageless(dead_letters: Path) -> Iterator[Verdict]:
    """Records without a page, for a scan that wrote them down.

    Raises:
        UsageError: the file holds something else.
    """
    if not dead_letters.is_file():
        return
    try:
        with dead_letters.open("rb") as lines:
            yield from pageless_records(lines)
    except UnreadableRecord as error:
        raise UsageError(f"{dead_letters}: {error}; no scan wrote this file, so remove it") from error


def _pairs(samples: list[SampledPair], texts_of: TextsOf | None, settings: Settings) -> Markup:
    if texts_of is None:
        return tag("p", _NO_TEXTS)
    if not samples:
        return tag("p", "No page of this scan is a duplicate of another page of it.")
    wanted = {key_of(row): row for sample in samples for row in (sample.survivor, sample.page)}
    told = (
        "Main texts of pairs at each distance: first the least similar pair, then others drawn evenly. Words in one "
        "text alone are marked; Chinese is cut into words as for fingerprints."
    )
    cut = cut_by(parts.recipe(settings).reader)
    return joined(tag("p", told, class_="quiet"), side_by_side(samples, texts_of(list(wanted.values())), cut))
