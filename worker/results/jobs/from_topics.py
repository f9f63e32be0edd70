"""A job's rows from the topics, as they become visible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from crawler_plugin.wire.outcomes import JobMark, JobSum, Verdict
from crawler_plugin.wire.topics import DEAD_LETTERS, JOBS, VERDICTS
from worker.results.jobs.account import JobAccount, JobTotal
from worker.stream.kafka.connection import Options
from worker.stream.kafka.output_reader import follow_outputs, read_outputs

TOPICS: Final = (JOBS, VERDICTS, DEAD_LETTERS)


@dataclass(frozen=True)
class JobTopics:
    """The verdicts, dead letters and marks of one job, or of one spider of it."""

    options: Options
    prefix: str
    generation: str
    job: str
    spider: str | None = None

    def verdicts(self, account: JobAccount, *, follow: bool) -> Iterator[Verdict]:
        """The rows that are visible now and, to ``follow``, those that become visible until the account is complete.

        ``account`` is updated until then.

        Raises:
            Unavailable: no broker answers, or a topic is missing.
            UnreadableRecord: a record that no worker and no crawl wrote.
        """
        outputs = follow_outputs(
            self.options,
            self.prefix,
            TOPICS,
            self.generation,
            wanted=self._is_of_job,
            until=lambda: not follow or account.complete,
        )
        for output in outputs:
            if isinstance(output, JobMark):
                account.mark(output)
            elif isinstance(output, Verdict):
                account.count(output.verdict)
                yield output

    def _is_of_job(self, headers: Mapping[str, str]) -> bool:
        return headers.get("job") == self.job and (self.spider is None or headers.get("spider") == self.spider)


def totals(options: Options, prefix: str, generation: str) -> list[JobTotal]:
    """The totals of all jobs in ``jobs``, by job and spider.

    Raises:
        Unavailable: no broker answers, or the topic is missing.
        UnreadableRecord: a record that no worker and no crawl wrote.
    """
    found: dict[tuple[str, str], JobTotal] = {}
    for output in read_outputs(options, prefix, [JOBS]):
        assert isinstance(output, JobMark | JobSum)
        if isinstance(output, JobSum) and output.generation != generation:
            continue
        job, spider = output.job, output.spider
        spoken = f", spider {spider}" if spider else ""
        total = found.setdefault((job, spider or ""), JobTotal(f"job {job}{spoken}", job=job, spider=spider))
        if isinstance(output, JobMark):
            total.mark(output)
        else:
            total.add(output)
    return [found[whose] for whose in sorted(found)]
