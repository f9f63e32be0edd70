"""Sums of jobs as readers of committed records add them up, whatever happens between the transactions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from crawler_plugin.wire.outcomes import JobSum, Verdict
from crawler_plugin.wire.page_headers import PageMeta, text_headers
from crawler_plugin.wire.topics import DEAD_LETTERS, JOBS, PAGES, VERDICTS
from tests.simulation.checks import everything
from tests.stream.script import (
    COMMIT,
    CRASH,
    REBALANCE,
    REDELIVER,
    TAKE_OVER,
    UNACKNOWLEDGED,
    Event,
    Page,
    Stage,
    policy,
)
from tests.stream.script import claim as claimed
from worker.stream.log import Output
from worker.stream.partition.job_sums import MOST, JobSums, ToldPage
from worker.verdict.decide import Decision

PAGES_A_ROUND = [("one", "dead"), ("one", 0b000), ("two", 0b001), ("two", 0b111), (None, 0b110000)]
"""Job and fingerprint of pages. The last page has no job."""


def publish(stage: Stage, url: str, job: str | None, fingerprint: object) -> None:
    page = Page(url, fingerprint)  # type: ignore[arg-type]
    said = PageMeta(url=url, fetched=0, job=job, spider="news").to_headers()
    stage.world.publish(page.partition, url.encode(), page.value, said)


def added_up(stage: Stage, field: str) -> Counter[tuple[str, str]]:
    """The field's sums by job and the field's own key, from the last record of each key."""
    last = {record.key: JobSum.decode(record.value) for record in everything(stage.world, JOBS)}
    found: Counter[tuple[str, str]] = Counter()
    for part in last.values():
        counts: Mapping[str, int] = getattr(part, field)
        found.update({(part.job, name): count for name, count in counts.items()})
    return found


@pytest.mark.parametrize(
    "events",
    [
        (),
        (COMMIT,),
        (REDELIVER,),
        (UNACKNOWLEDGED,),
        (CRASH,),
        (COMMIT, CRASH),
        (REBALANCE,),
        (TAKE_OVER,),
        (UNACKNOWLEDGED, CRASH),
        (REDELIVER, UNACKNOWLEDGED, COMMIT),
    ],
    ids=lambda events: " ".join(event.name for event in events) or "nothing",
)
def test_whatever_happens_the_parts_add_up_to_the_verdicts_and_dead_letters(events: tuple[Event, ...]) -> None:
    stage = Stage()
    for lap in range(3):
        for number, (job, fingerprint) in enumerate(PAGES_A_ROUND):
            publish(stage, f"http://{lap % 2}-{number}.example/", job, fingerprint)
        stage.play(*events)
    stage.play(COMMIT)
    pages: Counter[tuple[str, str]] = Counter()
    sizes: Counter[tuple[str, str]] = Counter()
    reasons: Counter[tuple[str, str]] = Counter()
    values = {(record.partition, record.offset): record.value for record in everything(stage.world, PAGES)}
    verdicts = [Verdict.decode(record.value) for record in everything(stage.world, VERDICTS)]
    verdicts += [Verdict.of_dead_letter(text_headers(r.headers)) for r in everything(stage.world, DEAD_LETTERS)]
    assert len(verdicts) == 3 * len(PAGES_A_ROUND)
    for verdict in verdicts:
        if verdict.job is not None:
            pages[verdict.job, verdict.verdict] += 1
            sizes[verdict.job, verdict.verdict] += len(values[verdict.source] or b"")
            reasons[verdict.job, f"{verdict.verdict}: {verdict.reason}"] += 1
    assert {outcome for _, outcome in pages} == {"unique", "duplicate", "refetch", "dead"}
    assert added_up(stage, "pages") == pages
    assert added_up(stage, "body_bytes") == sizes
    assert added_up(stage, "reasons") == reasons


def test_of_more_jobs_than_are_kept_each_page_is_counted_once() -> None:
    sums = JobSums(policy(generation="b"))
    decision = Decision((0, 0), claimed(0), "unique", "first")

    def told(job: str) -> ToldPage:
        return ToldPage(Output(VERDICTS, 0, b"", b"", [("job", job.encode())], (0, 0)), decision, 10)

    jobs = ["first", *map(str, range(MOST)), "first"]
    written = [JobSum.decode(output.value) for output in sums.grown_by(map(told, jobs))]
    assert Counter(part.job for part in written) == Counter(jobs)
    assert len({part.key for part in written}) == len(jobs)
    for part in written:
        assert (part.pages, part.body_bytes, part.generation) == ({"unique": 1}, {"unique": 10}, "b")
    (again,) = sums.grown_by([told("first")])
    assert JobSum.decode(again.value).pages == {"unique": 2}
