"""Adds up the outcomes of each job's pages, in the transactions that write them: the sums outlive the verdicts.

A record of ``jobs`` holds all pages of a job that this worker has committed since it began the record. It goes into the
same transaction as the verdicts that it counts, so it stands if and only if they do. After a transaction of unknown
outcome the record on the topic is right, whichever it is, and stays as it is: the next pages are counted in a new
record, under another key. No worker reads a record to go on with it.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from crawler_plugin.wire.outcomes import JobSum
from crawler_plugin.wire.topics import DEAD_LETTERS, JOBS
from worker.stream.log import Output
from worker.stream.partition.record_sizes import in_short
from worker.stream.policy import Policy
from worker.verdict.decide import Decision

MOST: Final = 1000
"""Jobs whose record goes on; for another job the next page begins a new record. Each takes a kilobyte."""

Whose: TypeAlias = tuple[str, str | None]
"""Job and spider."""


class ToldPage(NamedTuple):
    """A page and its ``output``, a verdict or dead letter; ``size`` is that of the page's body."""

    output: Output
    decision: Decision
    size: int


@dataclass
class Part:
    """A record that grows; ``name`` is its own alone."""

    name: str
    pages: Counter[str] = field(default_factory=Counter)
    body_bytes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, page: ToldPage) -> None:
        """Count a page."""
        outcome, reason = page.decision.outcome, page.decision.reason.partition(": ")[0]
        self.pages[outcome] += 1
        self.body_bytes[outcome] += page.size
        self.reasons[f"{outcome}: {reason}"] += 1

    def told(self, job: str, spider: str | None, generation: str) -> JobSum:
        """The record as it is now."""
        return JobSum(
            job=job,
            spider=spider,
            generation=generation,
            part=self.name,
            pages=self.pages,
            body_bytes=self.body_bytes,
            reasons=self.reasons,
        )


class JobSums:
    """The sums of one worker."""

    def __init__(self, policy: Policy) -> None:
        self._policy: Final = policy
        self._parts: OrderedDict[Whose, Part] = OrderedDict()
        self._begun = 0

    def grown_by(self, pages: Iterable[ToldPage]) -> Iterator[Output]:
        """The records to write with these pages, one for each of their jobs; pages without a job are in none."""
        grown: dict[str, tuple[Whose, Part]] = {}
        for page in pages:
            if (whose := _whose(page.output)) is not None:
                part = self._part(whose)
                part.add(page)
                grown[part.name] = whose, part
        for whose, part in grown.values():
            told = part.told(*whose, self._policy.generation)
            yield Output(JOBS, 0, told.key, told.encode(), told.to_headers())

    def begin_anew(self) -> None:
        """Begin new records: the last transaction has an unknown outcome."""
        self._parts.clear()

    def _part(self, whose: Whose) -> Part:
        part = self._parts.get(whose)
        if part is None:
            if len(self._parts) == MOST:
                self._parts.popitem(last=False)
            self._begun += 1
            part = self._parts[whose] = Part(f"{self._policy.writer.hex()}-{self._begun}")
        self._parts.move_to_end(whose)
        return part


def _whose(output: Output) -> Whose | None:
    """Job and spider by the headers of a verdict, or of a dead letter, which has them as they came."""
    headers = dict(in_short(output.headers) if output.topic == DEAD_LETTERS else output.headers)
    if not (job := headers.get("job")):
        return None
    spider = headers.get("spider")
    return job.decode(errors="replace"), None if spider is None else spider.decode(errors="replace")
