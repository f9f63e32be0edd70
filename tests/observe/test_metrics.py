"""The step's events are counted, and a scrape at the same time is consistent."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any, Literal

import pytest

from crawler_plugin.wire.messages import Hit
from crawler_plugin.wire.outcomes import Verdict
from tests.observe.exposed import INFO, OPENMETRICS, series
from tests.stream.script import COMMIT, CRASH, FLUSH, REDELIVER, UNACKNOWLEDGED, Event, Page, Stage, claim
from worker.observe.counters import OTHER
from worker.observe.metrics import LANGUAGES, REASONS, Metrics, ServedMetrics
from worker.stream.log import Record
from worker.stream.watchdog import Watch
from worker.verdict.decide import Decision

NOW = 1_700_000_000.0
SCRIPT = [
    Page("http://a/", 0b000),
    Page("http://b/", 0b001),
    Page("http://dead/", "dead"),
    Page("http://c/", 0b111),
    Page("http://a/", 0b001),
    Page("http://bare/", None, text=7),
    Page("http://bare-too/", None, text=7),
]


def committed(
    outcome: Literal["unique", "duplicate", "refetch", "dead"],
    reason: str,
    *,
    age: float = 0,
    language: str = "zh",
    distance: int | None = None,
) -> tuple[Record, Decision]:
    """A page and its decision, ``age`` seconds after it came to the broker."""
    record = Record(0, 0, b"", b"", (), int((NOW - age) * 1000))
    original = None
    if outcome in ("duplicate", "refetch"):
        original = Hit(place=0, order=(0, 0), url="http://original/", distance=distance, reason=reason)
    return record, Decision((0, 0), claim(0, language=language), outcome, reason, original)


def after(*told: tuple[Any, ...]) -> dict[str, float]:
    """Each of ``told`` is a method of the observer and its arguments."""
    metrics = Metrics(INFO, now=lambda: NOW)
    for method, *arguments in told:
        getattr(metrics, method)(*arguments)
    return series(metrics)


def of(seen: dict[str, float], name: str) -> dict[str, float]:
    """The series of one metric that are not 0, by label values."""
    return {key.partition(" ")[2]: value for key, value in seen.items() if key.split(" ")[0] == name and value}


def told_by(stage: Stage) -> dict[str, float]:
    """The series after all events that the workers of this stage have reported."""
    heard = [listener.told for listener in stage.observers.values()]
    return after(*((method, *told) for calls in heard for method, all_told in calls.items() for told in all_told))


@pytest.mark.parametrize("events", [(COMMIT,), (COMMIT, CRASH), (REDELIVER,), (REDELIVER, CRASH)])
def test_pages_are_counted_as_readers_see_them(events: tuple[Event, ...]) -> None:
    stage = Stage(shards=1)
    for page in SCRIPT:
        stage.play(page, *events)
    seen = told_by(stage.play(COMMIT, FLUSH))
    outcomes = Counter(line.split()[1] for line in stage.verdicts())
    assert outcomes == {"unique": 3, "duplicate": 2, "dead": 1, "refetch": 1}
    assert {key.split()[0]: value for key, value in of(seen, "dedup_pages_total").items()} == outcomes
    assert sum(of(seen, "dedup_page_bytes_total").values()) == sum(len(page.value) for page in SCRIPT)
    assert of(seen, "dedup_page_bytes_total")["dead"] == len(SCRIPT[2].value)
    assert of(seen, "dedup_duplicates_total") == {"hamming": 1, "exact-text": 1}
    assert of(seen, "dedup_dead_letters_total") == {"parser-raised": 1}
    assert seen["dedup_distance_count"] == 1  # pages without fingerprint have no distance
    assert seen["dedup_latency_seconds_count"] == len(SCRIPT)
    assert seen["dedup_commit_failures_total"] == len(SCRIPT) * (REDELIVER in events)


def test_what_is_through_without_the_worker_being_told_is_a_failure_and_no_page() -> None:
    seen = told_by(Stage().play(SCRIPT[0], UNACKNOWLEDGED, COMMIT))
    assert of(seen, "dedup_pages_total") == {}
    assert seen["dedup_commit_failures_total"] == 1


def test_distances_of_duplicates_are_in_the_bucket_of_their_number() -> None:
    pages = [committed("duplicate", "hamming", distance=distance) for distance in (0, 1, 1, 3, 40)]
    seen = after(("committed", [*pages, committed("refetch", "same-url", distance=2)]))
    buckets = {key.split(" ")[1]: value for key, value in seen.items() if key.startswith("dedup_distance_bucket")}
    assert [buckets[bound] for bound in ("0.0", "1.0", "2.0", "3.0", "16.0", "+Inf")] == [1, 3, 3, 4, 4, 5]
    assert seen["dedup_distance_sum"] == 45


def test_latency_is_from_the_broker_s_time_stamp_and_never_below_zero() -> None:
    seen = after(("committed", [committed("unique", "first", age=age) for age in (1.5, 0, -60)]))
    assert seen["dedup_latency_seconds_sum"] == pytest.approx(1.5)
    assert seen["dedup_latency_seconds_bucket 0.1"] == 2
    assert seen["dedup_latency_seconds_bucket 1.0"] == 2
    assert seen["dedup_latency_seconds_bucket 2.0"] == 3


def test_a_page_without_language_is_of_language_none() -> None:
    pages = [committed("dead", "oversize", language=""), committed("unique", "first", language="none")]
    assert of(after(("committed", pages)), "dedup_pages_total") == {"dead none": 1, "unique none": 1}


def test_details_of_a_dead_letter_are_no_label() -> None:
    pages = [committed("dead", f"bad-url: http://{number}/ has no host") for number in range(3)]
    assert of(after(("committed", pages)), "dedup_dead_letters_total") == {"bad-url": 3}


def test_headers_that_could_not_be_read_are_counted_by_name() -> None:
    (record, decision), *_ = [committed("unique", "first")]
    unread = record._replace(headers=[("url", b"a"), ("status", b"200 OK"), ("form", b"video"), ("job", b"\xff")])
    pages = [(record, decision), (unread, decision), (unread._replace(headers=[]), decision)]
    counted = of(after(("committed", pages)), "dedup_unread_headers_total")
    assert counted == {"form": 1, "job": 1, "status": 1}


def test_labels_from_the_log_cannot_become_many() -> None:
    pages = [committed("dead", f"reason-{number}", language=f"l{number}") for number in range(100)]
    seen = after(("committed", pages))
    reasons, languages = of(seen, "dedup_dead_letters_total"), of(seen, "dedup_pages_total")
    assert len(reasons) == REASONS + 1
    assert reasons[OTHER] == 100 - REASONS
    assert len(languages) == LANGUAGES + 1
    assert languages[f"dead {OTHER}"] == 100 - LANGUAGES


@pytest.mark.parametrize(
    ("told", "changed"),
    [
        (("claimed", [claim(0), claim(1)], True), {"dedup_resent_claims_total": 2}),
        (("answered", 3, 40), {"dedup_answers_total": 1}),
        (("stood_in", 3), {"dedup_stood_in_answers_total": 1}),
        (("decided", 4), {"dedup_rounds_total": 4}),
        (("stage", "poll", 0.25), {"dedup_stage_seconds_total poll": 0.25}),
        (("committed", []), {"dedup_commits_total": 1}),
        (("commit_failed", 70), {"dedup_commit_failures_total": 1}),
        (("unreadable", "index", 3, "torn"), {"dedup_unreadable_records_total index": 1}),
        (("foreign_scheme", 3, b"12345678"), {"dedup_foreign_batches_total": 1}),
        (("restored", 0, 50, 5, 2), {"dedup_damaged_blocks_total": 2}),
        (("flushed", 0, 12, False), {"dedup_flushed_blocks_total": 1, "dedup_flushed_entries_total": 12}),
        (("flushed", 0, 12, True), {"dedup_flush_errors_total": 1}),
        (("expired", 0, 9), {"dedup_expired_entries_total": 9}),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_each_thing_told_changes_its_own_number_and_no_other(told: tuple[Any, ...], changed: dict[str, float]) -> None:
    def counted(seen: dict[str, float]) -> dict[str, float]:
        timed = ("dedup_loop_age", "dedup_broker_silence", "process_", "python_")
        return {key: value for key, value in seen.items() if not key.startswith(timed)}

    before, seen = counted(after()), counted(after(told))
    assert {key: value for key, value in seen.items() if value != before.get(key, 0)} == changed


def test_batches_are_counted_by_size_when_first_sent() -> None:
    first, again = [claim(number) for number in range(3)], [claim(0)]
    seen = after(("claimed", first, False), ("claimed", again, True), ("claimed", first[:1], False))
    assert (seen["dedup_batch_claims_count"], seen["dedup_batch_claims_sum"]) == (2, 4)


def test_what_runs_is_told_in_labels() -> None:
    seen = after()
    assert seen["dedup_settings_info 00112233445566ff simhash 3 4x16 2 tag b"] == 1
    build = of(seen, "dedup_build_info")
    assert list(build) == [f"{INFO.version} {INFO.python} {INFO.kafka_client}"]
    assert INFO.kafka_client.startswith("3.")


def test_two_workers_in_one_process_do_not_share_their_numbers() -> None:
    one, other = Metrics(INFO), Metrics(INFO)
    one.decided(3)
    assert series(one)["dedup_rounds_total"] == 3
    assert series(other)["dedup_rounds_total"] == 0


@pytest.mark.parametrize("accept", ["", OPENMETRICS])
def test_a_scrape_in_the_midst_of_counting_sees_a_page_in_all_its_metrics_or_in_none(accept: str) -> None:
    metrics = Metrics(INFO, now=lambda: NOW)
    done = threading.Event()
    rounds = 400

    def work() -> None:
        for number in range(rounds):
            page = committed("duplicate", "hamming", language=f"l{number % 12}", distance=1)
            metrics.committed([page] * 20)
            metrics.stage(f"stage-{number % 20}", 0.001)
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    scrapes = []
    while not done.is_set():
        scrapes.append(series(metrics))
        metrics.exposition(accept)
    worker.join()
    scrapes.append(series(metrics))
    totals = []
    for seen in scrapes:
        pages = sum(of(seen, "dedup_pages_total").values())
        together = {pages, seen["dedup_distance_count"], seen["dedup_latency_seconds_count"]}
        assert together == {seen["dedup_duplicates_total hamming"]}
        totals.append(pages)
    assert totals == sorted(totals)
    assert totals[-1] == rounds * 20


def test_a_round_lasts_from_the_sending_of_a_batch_to_its_being_decided() -> None:
    times = iter((10.0, 10.25, 20.0, 23.0))
    metrics = Metrics(INFO, stopwatch=lambda: next(times))
    metrics.own_decided()  # sent before this began to listen
    metrics.claimed([claim(0)], again=False)
    metrics.claimed([claim(0)], again=True)
    metrics.own_decided()
    metrics.claimed([claim(1)], again=False)
    metrics.own_decided()
    seen = series(metrics)
    assert seen["dedup_round_seconds_count"] == 2
    assert seen["dedup_round_seconds_sum"] == 3.25
    assert seen["dedup_round_seconds_bucket 0.25"] == 1


def test_a_worker_tells_of_each_batch_of_its_own_that_is_decided() -> None:
    stage = Stage().play(SCRIPT[0], COMMIT, SCRIPT[1], COMMIT)
    assert len(stage.observer.told["own_decided"]) == 2


def test_what_fails_while_it_counts_is_counted() -> None:
    seen = after(("failed", "committed"), ("failed", "sample"), ("failed", "sample"))
    assert of(seen, "dedup_observer_errors_total") == {"committed": 1, "sample": 2}


def test_while_what_is_sent_keeps_failing_the_worker_is_not_ready() -> None:
    stage = Stage()
    metrics = Metrics(INFO)
    watch = Watch(stage.worker.log, stage.worker, 60)
    metrics.heard()
    watch.failing = ["appends keep failing, 3 in 12 s (a record of topic dedup.index: NotEnoughReplicasError: few)"]
    metrics.sample(stage.play(COMMIT).worker, watch)
    assert metrics.health.not_ready() == watch.failing
    watch.failing = []
    metrics.sample(stage.worker, watch)
    assert metrics.health.not_ready() == []


def test_a_service_counts_verdicts_as_a_worker_does() -> None:
    metrics = ServedMetrics()
    for told in (
        Verdict(url="http://a/", verdict="unique", reason="first"),
        Verdict(url="http://b/", verdict="duplicate", language="zh", reason="hamming", distance=2, suspect=True),
        Verdict(url="http://c/", verdict="dead", reason="bad-url", detail="no URL"),
    ):
        metrics.judged(told, 10, 0.2)
    found = {name: value for name, value in series(metrics).items() if value and not name.endswith("_created")}
    assert of(found, "dedup_pages_total") == {"unique none": 1, "duplicate zh": 1, "dead none": 1}
    assert of(found, "dedup_page_bytes_total") == {"unique": 10, "duplicate": 10, "dead": 10}
    assert of(found, "dedup_duplicates_total") == {"hamming": 1}
    assert found["dedup_suspect_duplicates_total"] == found["dedup_distance_count"] == 1
    assert of(found, "dedup_dead_letters_total") == {"bad-url": 1}
    assert found["dedup_latency_seconds_count"] == 3
    assert "dedup_ready" not in found
    metrics.health.report([])
    assert series(metrics)["dedup_ready"] == 1
    assert metrics.hosts() == b"{}"
