"""The page for people: one file of HTML that loads nothing and runs nothing except its own few lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from crawler_plugin.wire.counted import counted
from worker.results.report.charts import counts, share_bar, shares
from worker.results.report.document import document
from worker.results.report.findings import Finding
from worker.results.report.group_pictures import GroupPicture
from worker.results.report.markup import Markup, address, breakable, joined, percent, shortened, table, tag, whole
from worker.results.report.tally import SIMILARITIES, Named, Names, Tally
from worker.results.report.timeline import Timeline

_TOP: Final = 20
_HERE: Final = Path(__file__).parent
_NOTHING_WRONG: Final = (
    "None of the faults that this report looks for: no page that takes others of its template under different titles, "
    "no error page under many URLs, no boilerplate, no template that gives only duplicates, few very short or "
    "unreadable pages."
)
_LANGUAGES: Final = {
    "latin": "Latin script",
    "zh": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
    "cyrillic": "Cyrillic script",
    "arabic": "Arabic script",
    "thai": "Thai",
    "other": "other scripts",
    "none": "no letters",
}


@dataclass(frozen=True)
class Contents:
    """The content of the page. ``largest`` are the largest of ``groups`` groups; ``pairs`` is markup already."""

    name: str
    tally: Tally
    timeline: Timeline
    groups: int
    largest: Sequence[GroupPicture]
    findings: Sequence[Finding]
    pairs: Markup


def page(contents: Contents) -> str:
    """The whole file. The same contents make the same bytes."""
    parts = {
        "found": ("Summary", _summary(contents)),
        "wrong": ("What looks wrong", _wrong(contents.findings)),
        "time": ("Over time" if contents.timeline.by_time else "Over the input", _over_time(contents.timeline)),
        "where": ("Where", _where(contents.tally)),
        "near": ("How near", _near(contents.tally)),
        "groups": ("Largest groups", _groups(contents)),
        "pairs": ("Side by side", contents.pairs),
    }
    return document(
        f"Duplicates in {contents.name}",
        tag("h1", "Duplicates in ", tag("bdi", contents.name)),
        parts,
        skip=("report", "Skip to the report"),
        style=(_HERE / "report.css").read_text(encoding="utf-8"),
        script=(_HERE / "report.js").read_text(encoding="utf-8"),
    )


def _summary(contents: Contents) -> Markup:
    tally = contents.tally
    kinds = tally.kinds
    judged = tally.pages - kinds["dead"]
    figures = [
        ("pages", whole(tally.pages), ""),
        ("unique", whole(kinds["unique"]), percent(kinds["unique"], judged)),
        ("duplicates", whole(kinds["duplicate"]), percent(kinds["duplicate"], judged)),
        ("refetches", whole(kinds["refetch"]), percent(kinds["refetch"], judged)),
        ("dead", whole(kinds["dead"]), percent(kinds["dead"], tally.pages)),
        ("groups", whole(contents.groups), ""),
    ]
    shown = (
        tag("div", tag("dt", name), tag("dd", tag("strong", number), tag("small", share) if share else ""))
        for name, number, share in figures
    )
    told = (
        "A page is unique, a duplicate of an earlier page with another URL, a refetch of an earlier page with the same "
        "URL, or dead, which means that it could not be read. Shares are of pages that are not dead; groups are of two "
        "pages and more."
    )
    files = [(one.name, one) for one in tally.files.most_duplicates(_TOP)]
    by_file = tag("details", tag("summary", "By file"), _names(files, "file")) if len(files) > 1 else ""
    return joined(tag("dl", *shown, class_="figures"), tag("p", told, class_="quiet"), by_file)


def _wrong(found: Sequence[Finding]) -> Markup:
    if not found:
        return tag("p", _NOTHING_WRONG)
    return joined(*map(_finding, found))


def _finding(finding: Finding) -> Markup:
    rows = [[shortened(cell) if type(cell) is str else cell for cell in row] for row in finding.evidence]
    evidence = table(finding.heads, rows, f"{finding.title}: evidence")
    return tag(
        "article",
        tag("h3", finding.title),
        tag("p", finding.says),
        tag("p", tag("strong", "Next: "), finding.next_move, class_="next"),
        tag("details", tag("summary", "Evidence"), evidence),
        class_="finding",
    )


def _over_time(timeline: Timeline) -> Markup:
    steps = timeline.steps
    if not steps:
        return tag("p", "There are no pages.")
    judged = sum(one.judged for one in steps)
    duplicates = sum(one.duplicates for one in steps)
    by = "by the time of their fetch (UTC)" if timeline.by_time else "in the order of the input, without fetch times"
    chart = shares(
        steps,
        f"Share of duplicates {by}, from {steps[0].name} to {steps[-1].name}: {percent(duplicates, judged)} of "
        f"{whole(judged)} pages. The table below has the figures.",
    )
    told = f"Share of duplicates of the pages of each step, {by}."
    if timeline.unknown:
        told += f" {whole(timeline.unknown)} pages without a fetch time are left out."
    figures = tag("details", tag("summary", "The figures"), _names([(one.name, one) for one in steps], "from"))
    return joined(tag("figure", chart, tag("figcaption", told)), figures)


def _where(tally: Tally) -> Markup:
    parts: list[tuple[str, str, Names]] = [
        ("Hosts", "host", tally.hosts),
        ("Path templates", "template", tally.templates),
        ("Spiders", "spider", tally.spiders),
        ("Languages", "language", tally.languages),
    ]
    told = (
        "Those with most duplicates come first. In a template {number}, {date}, {id} and {words} stand for parts that "
        "differ from page to page."
    )
    tables = []
    for title, head, names in parts:
        rows = [(_LANGUAGES.get(one.name, one.name), one) for one in names.most_duplicates(_TOP)]
        tables.append(tag("details", tag("summary", tag("h3", title)), _names(rows, head), open=""))
    return joined(tag("p", told, class_="quiet"), *tables)


def _names(rows: Iterable[tuple[str, Named]], head: str) -> Markup:
    cells = [
        [
            tag("bdi", breakable(shortened(name))),
            whole(one.pages),
            whole(one.duplicates),
            joined(share_bar(one.duplicates, one.judged), percent(one.duplicates, one.judged)),
        ]
        for name, one in rows
    ]
    return table([head, "pages", "duplicates", "share"], cells, f"Pages and duplicates by {head}")


def _near(tally: Tally) -> Markup:
    found = tally.distances
    most = max(found, default=0)
    distances = [(f"distance {n}", found[n]) for n in range(max(8, most) + 1)]
    similarities = [
        (f"similarity {n / SIMILARITIES:.2f} to {(n + 1) / SIMILARITIES:.2f}", count)
        for n, count in enumerate(tally.similarities)
    ]
    reasons = [
        [tag("bdi", f"{verdict}: {shortened(reason, 60)}"), whole(pages)]
        for (verdict, reason), pages in tally.reasons.most_common(_TOP)
    ]
    return joined(
        tag(
            "div",
            _histogram(
                distances, ["0", str(max(8, most))], "Bits in which the fingerprints of a page and its survivor differ"
            ),
            _histogram(similarities, ["0", "0.5", "1"], "Share of neighbouring words that they have in common"),
            class_="charts",
        ),
        table(["verdict and reason", "pages"], reasons, "Pages by the rule that decided"),
    )


def _histogram(values: Sequence[tuple[str, int]], ends: Sequence[str], told: str) -> Markup:
    rows = [[name, whole(count)] for name, count in values if count]
    said = f"{told}, of {whole(sum(count for _, count in values))} pages. The table below has the figures."
    figures = tag("details", tag("summary", "The figures"), table(["", "pages"], rows, told))
    return tag("div", tag("figure", counts(values, ends, said), tag("figcaption", f"{told}.")), figures)


def _groups(contents: Contents) -> Markup:
    if not contents.largest:
        return tag("p", "No two pages are near to each other.")
    told = "A group is a survivor and all pages that were found to be near to it. All groups: python -m worker groups."
    return joined(tag("p", told, class_="quiet"), *map(_group, contents.largest[:_TOP]))


def _group(group: GroupPicture) -> Markup:
    facts = [
        counted(len(group.hosts), "host"),
        counted(len(group.templates), "path template"),
        f"{whole(group.tokens)} tokens" if group.tokens else "",
        f"similarity {group.similarity:.2f}" if group.similarity is not None else "",
        f"{_day(group.first_seen)} to {_day(group.last_seen)}" if group.first_seen is not None else "",
        f"of {whole(group.looked_at)} pages that were looked at" if group.looked_at < group.size - 1 else "",
    ]
    return tag(
        "details",
        tag("summary", tag("strong", f"{whole(group.size)} pages"), " ", address(group.url, followed=False)),
        tag("p", ", ".join(filter(None, facts))),
        tag("ul", *(tag("li", address(url)) for url in group.urls), class_="urls"),
        class_="group",
    )


def _day(milliseconds: int | None) -> str:
    try:
        return datetime.fromtimestamp((milliseconds or 0) / 1000, UTC).strftime("%Y-%m-%d")
    except (OverflowError, ValueError, OSError):
        return "a time that cannot be"
