"""Whether all verdicts of a job are out: the pages that its runs have published against those that were judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.outcomes import JobMark, JobSum
from worker.results.rows import OUTCOMES
from worker.verdict.decide import DUPLICATE


@dataclass
class JobAccount:
    """The account of one job, or of one spider of it. ``whose`` names it for people."""

    whose: str
    marks: dict[bytes, JobMark] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)

    def mark(self, mark: JobMark) -> None:
        """A run's own statement; the later one of the same run counts."""
        self.marks[mark.key] = mark

    def count(self, outcome: str) -> None:
        """A page has its verdict, or is a dead letter."""
        self.outcomes[outcome] += 1

    @property
    def judged(self) -> int:
        """Pages that were judged."""
        return self.outcomes.total()

    @property
    def published(self) -> int | None:
        """Pages that its runs have put on ``pages``; None while one of them goes on, or if none is known."""
        pages = [mark.pages for mark in self.marks.values()]
        return None if None in pages or not pages else sum(filter(None, pages))

    @property
    def complete(self) -> bool:
        """Whether there is nothing to wait for."""
        return self.published is not None and self.judged >= self.published

    def in_words(self) -> Iterator[str]:
        """The sum, for people."""
        summands = " + ".join(f"{self.outcomes[outcome]:,} {outcome}" for outcome in OUTCOMES)
        yield f"{self.whose}: {counted(self.judged, 'page')} = {summands}"

    def problem(self) -> str | None:
        """Why these are not all, or too many, with the next move; None if they are as many as were published."""
        open_runs = sum(mark.pages is None for mark in self.marks.values())
        if not self.marks:
            return (
                f"{self.whose} has no mark on the topic jobs: check that the name is right (the header job of its "
                "pages, the setting DEDUP_JOB), and that the topic was there when the crawl ended (python -m worker "
                "topics check)"
            )
        if open_runs:
            return (
                f"{open_runs} of {len(self.marks)} runs of {self.whose} have begun and not said how many pages they "
                "have published: they still run (--follow waits for them), or were killed, and then the number is not "
                "known"
            )
        assert self.published is not None
        missing = self.published - self.judged
        if missing > 0:
            return (
                f"{missing:,} of {self.published:,} pages of {self.whose} have no verdict yet: --follow waits for "
                "them; check that workers run, and that the topics still hold their verdicts (topics.retention_days; "
                "`python -m worker verdicts --jobs` also counts verdicts that are gone)"
            )
        if missing < 0:
            return (
                f"{self.whose} has {counted(-missing, 'page')} more than the {self.published:,} that its runs have "
                "counted: a page whose confirmation was lost is sent twice, and the second one is a refetch"
            )
        return None


@dataclass
class JobTotal(JobAccount):
    """The total of one job and spider by its sums, which are kept longer than its verdicts."""

    job: str = ""
    spider: str | None = None
    parts: dict[bytes, JobSum] = field(default_factory=dict)

    def add(self, part: JobSum) -> None:
        """Add one worker's record; the later one of the same part counts."""
        before = self.parts.get(part.key)
        self.parts[part.key] = part
        self.outcomes.update(part.pages)
        self.outcomes.subtract({} if before is None else before.pages)

    def row(self) -> dict[str, Any]:
        """The row of ``OF_JOBS``."""
        sizes: Counter[str] = Counter()
        reasons: Counter[str] = Counter()
        for part in self.parts.values():
            sizes.update(part.body_bytes)
            reasons.update(part.reasons)
        return {
            "job": self.job,
            "spider": self.spider,
            "published": self.published,
            **{outcome: self.outcomes[outcome] for outcome in OUTCOMES},
            "bytes": sizes.total(),
            "duplicate_bytes": sizes[DUPLICATE],
            "reasons": dict(sorted(reasons.items())),
        }
