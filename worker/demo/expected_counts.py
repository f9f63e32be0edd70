"""The results of the demo's crawl, and whether they are as they must be: a pure function of site and outputs.

Which page of a group is met first depends on the crawl, so the check holds in any order: one page of each group is
unique, all others are duplicates of that one, a second visit is a refetch of the unique one or a duplicate again, and a
page that is no text is a dead letter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.urls import canonical_url
from worker.demo.site import PageKind, Site, SitePage
from worker.stream.kafka.output_reader import Delivered, Output
from worker.verdict import decide

UNIQUE: Final = "unique"
DUPLICATE: Final = "duplicate"
REFETCH: Final = "refetch"
DEAD: Final = "dead letter"
OUTCOMES: Final = (UNIQUE, DUPLICATE, REFETCH, DEAD)


@dataclass(frozen=True)
class Counts:
    """Pages at each station of their way; ``fetched`` and ``confirmed`` are the crawl's own counts."""

    fetched: int
    confirmed: int
    in_pages: int


@dataclass(frozen=True)
class ExpectedCounts:
    """The results of the crawl, next to the site that was crawled."""

    site: Site
    counts: Counts
    verdicts: tuple[Verdict, ...]
    delivered: tuple[Delivered, ...]
    dead_letters: tuple[Verdict, ...]

    @classmethod
    def of(cls, site: Site, counts: Counts, outputs: Iterable[Output]) -> ExpectedCounts:
        """Sort the records of the three output topics."""
        read = list(outputs)
        verdicts = [output for output in read if isinstance(output, Verdict)]
        judged = [verdict for verdict in verdicts if verdict.verdict != decide.DEAD]
        return cls(
            site,
            counts,
            verdicts=tuple(sorted(judged, key=lambda verdict: verdict.order)),
            delivered=tuple(output for output in read if isinstance(output, Delivered)),
            dead_letters=tuple(verdict for verdict in verdicts if verdict.verdict == decide.DEAD),
        )

    @property
    def outcomes(self) -> Counter[str]:
        """Pages by outcome, each of ``OUTCOMES``."""
        return Counter({DEAD: len(self.dead_letters)}) + Counter(verdict.verdict for verdict in self.verdicts)

    @property
    def reasons(self) -> Counter[str]:
        """Duplicates by the reason of their verdict."""
        return Counter(verdict.reason for verdict in self.verdicts if verdict.verdict == DUPLICATE)

    def by_section(self) -> dict[str, Counter[str]]:
        """Outcomes of the pages of each section, in the site's order."""
        sections = {page.section: Counter[str]() for page in self.site.pages}
        section_of = {canonical: page.section for canonical, page in self.site.by_canonical_url().items()}
        for url, outcome in self._outcomes_by_page():
            if url in section_of:
                sections[section_of[url]][outcome] += 1
        return sections

    def disagreements(self) -> list[str]:
        """Everything that is not as it must be, a sentence each; none: it adds up."""
        return [*self._sums(), *self._delivery(), *self._files(), *self._groups()]

    def _outcomes_by_page(self) -> list[tuple[str, str]]:
        judged = [(verdict.url, str(verdict.verdict)) for verdict in self.verdicts]
        return judged + [(dead.url, DEAD) for dead in self.dead_letters]

    def _sums(self) -> Iterable[str]:
        outcomes = self.outcomes
        committed = outcomes.total()
        terms = " + ".join(f"{outcomes[outcome]} {outcome}" for outcome in OUTCOMES)
        equal = {
            "visits that the site expects": self.site.visits,
            "pages fetched from it": self.counts.fetched,
            "pages confirmed to the spider (dedup/confirmed)": self.counts.confirmed,
            "records on the topic pages": self.counts.in_pages,
            f"outputs ({terms})": committed,
        }
        if len(set(equal.values())) > 1:
            yield "these numbers should be equal: " + ", ".join(f"{what}: {count}" for what, count in equal.items())
        sources = Counter([verdict.source for verdict in self.verdicts] + [dead.source for dead in self.dead_letters])
        for (partition, offset), times in sources.items():
            if times > 1:
                yield f"the page at offset {offset} of partition {partition} of pages was committed {times} times"

    def _delivery(self) -> Iterable[str]:
        """Each verdict has its page on ``deduplicated``, and no page is there without one."""
        told = Counter((verdict.url, str(verdict.verdict), verdict.duplicate_of) for verdict in self.verdicts)
        sent = Counter((canonical_url(out.page.url), out.verdict, out.duplicate_of) for out in self.delivered)
        for (url, verdict, _), count in (told - sent).items():
            yield f"deduplicated lacks {count} × {url}, which is {verdict}"
        for (url, verdict, _), count in (sent - told).items():
            yield f"deduplicated has {count} × {url} as {verdict}, for which there is no verdict"

    def _files(self) -> Iterable[str]:
        dead = Counter(letter.url for letter in self.dead_letters)
        files = {page.canonical for page in self.site.pages if page.kind is PageKind.FILE}
        yield from (f"the file {url} should be a dead letter, but is none" for url in files - dead.keys())
        for letter in self.dead_letters:
            if letter.url not in files:
                yield f"{letter.url} is a dead letter ({letter.reason}: {letter.detail}), but should have a verdict"

    def _groups(self) -> Iterable[str]:
        by_url: dict[str, list[Verdict]] = {}
        for verdict in self.verdicts:
            by_url.setdefault(verdict.url, []).append(verdict)
        for url in by_url.keys() - self.site.by_canonical_url().keys():
            yield f"{url} has a verdict, but is no page of the site"
        for pages in self.site.groups.values():
            yield from _group(pages, by_url)


def _group(pages: Sequence[SitePage], by_url: dict[str, list[Verdict]]) -> Iterable[str]:
    """One is unique, the others are duplicates of it."""
    first_visits = {page: by_url.get(page.canonical, [])[:1] for page in pages}
    unique = [page for page, verdicts in first_visits.items() if any(verdict.verdict == UNIQUE for verdict in verdicts)]
    if len(unique) != 1:
        names = ", ".join(page.url for page in unique) or "none"
        yield f"of the pages that repeat {pages[0].url} ({pages[0].kind.value}) one should be unique, not: {names}"
        return
    original = unique[0].canonical
    for page in pages:
        verdicts = by_url.get(page.canonical, [])
        for visit, verdict in enumerate(verdicts):
            expected = DUPLICATE if page is not unique[0] else REFETCH if visit else UNIQUE
            of = None if expected == UNIQUE else original
            if (verdict.verdict, verdict.duplicate_of) != (expected, of):
                yield (
                    f"{page.url} ({page.kind.value}), visit {visit + 1}: expected {expected} of {of or 'none'}, "
                    f"found {verdict.verdict} of {verdict.duplicate_of or 'none'} at distance {verdict.distance}"
                )
        if len(verdicts) != page.visits:
            yield f"{page.url} ({page.kind.value}) has {len(verdicts)} verdicts and should have {page.visits}"
