"""The life of real workers: they start, share the work, are stopped, come back under their name."""

from __future__ import annotations

import re
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.topics import DEDUPLICATED, VERDICTS
from tests.cluster.cluster import SMALL, STARTED, Cluster, WorkerProcess
from tests.cluster.outside import read, traces
from tests.guarantees import check_guarantees
from tests.waiting import wait_for
from worker.stream.kafka.output_reader import OutputReader

pytestmark = pytest.mark.cluster

HTML: Final = "text/html; charset=utf-8"
CLAIMING: Final = r"pages partition (\d+): claiming"
LOST: Final = r"pages partition (\d+): lost"
Page = tuple[PageMeta, bytes]


def articles(first: int, count: int, words: int = 60) -> Iterator[Page]:
    """Pages, every third of which repeats the page before it under another URL."""
    for number in range(first, first + count):
        subject = number - 1 if number % 3 == 2 else number
        text = " ".join(f"word{subject * subject * 7919 + place * (subject + 3)}" for place in range(words))
        yield PageMeta(url=f"http://site.example/{number}", content_type=HTML), f"<p>{text}</p>".encode()


def says(worker: WorkerProcess, pattern: str, times: int = 1) -> None:
    """Wait until the worker's output has this pattern that often."""
    wait_for(lambda: len(re.findall(pattern, worker.said())) >= times or not worker.alive, f"a worker to say {pattern}")
    assert worker.alive, worker.said()[-3000:]


def metric(worker: WorkerProcess, pattern: str) -> float:
    """The sum of the samples whose names and labels match."""
    address = re.search(r"^metrics: (\S+)$", worker.said(), re.MULTILINE)
    assert address, worker.said()
    with urllib.request.urlopen(address[1], timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if re.match(pattern, line))


def test_stopped_in_the_middle_of_its_work_it_commits_what_it_has_consumed_and_ends_with_0(cluster: Cluster) -> None:
    count = 250
    cluster.publish(articles(0, count, words=4000))
    worker = cluster.start_worker("commit.pages=20", "commit.megabytes=1")
    wait_for(lambda: sum(cluster.consumed().values()) >= 20, "the first pages to be committed")
    assert worker.stop() == 0
    said = worker.said()
    assert "Traceback" not in said
    assert "shutdown.seconds are over" not in said
    assert "has ended" in said
    done = sum(cluster.consumed().values())
    assert done < count, "it was through already: the test has not tried what it says"
    committed = read(cluster.bootstrap, cluster.prefix + VERDICTS)
    assert len(committed) == done, "what was consumed is committed, and nothing else"

    # The worker's blocks are written, so that the next worker begins where it ended.
    heir = cluster.start_worker()
    cluster.wait_until_committed()
    restored = sum(int(entries) for entries in re.findall(r"restored (\d+) entries", heir.said()))
    assert restored == sum(b'"verdict":"unique"' in (record.value or b"") for record in committed)
    found = check_guarantees(traces(cluster.bootstrap, cluster.prefix))
    assert len(found) == count
    assert cluster.stop() == [0]


@pytest.mark.parametrize("moment", ["metrics:", STARTED])
def test_stopped_while_it_starts_it_ends_with_0(cluster: Cluster, moment: str) -> None:
    """The worker prints ``metrics:`` before it joins its groups, and the other line before it owns anything."""
    worker = cluster.start_worker()
    wait_for(lambda: moment in worker.said() or not worker.alive, f"a worker to say {moment}")
    assert worker.stop() == 0, worker.said()
    assert "Traceback" not in worker.said()


def test_two_workers_share_the_pages_and_the_index(cluster: Cluster) -> None:
    both = [cluster.start_worker(), cluster.start_worker()]

    for worker in both:
        says(worker, STARTED)
        says(worker, CLAIMING)
    cluster.publish(articles(0, 60))
    cluster.wait_until_committed()
    wait_for(lambda: all(len(owned(worker)) == 1 for worker in both), "each to own one partition")
    cluster.publish(articles(60, 120))
    cluster.wait_until_committed()
    wait_for(lambda: all(metric(worker, r"dedup_pages_total") > 0 for worker in both), "both to count pages")
    assert sum(metric(worker, r"dedup_pages_total") for worker in both) == 180
    assert all(metric(worker, r"dedup_index_entries") > 0 for worker in both), "each holds a part of the index"
    found = check_guarantees(traces(cluster.bootstrap, cluster.prefix))
    assert sorted({record.verdict for record in found.values() if record}) == ["duplicate", "unique"]
    assert cluster.stop() == [0, 0]


def owned(worker: WorkerProcess) -> set[int]:
    """The partitions of ``pages`` that the worker last reported as its own."""
    mine: set[int] = set()
    for number, life in re.findall(r"pages partition (\d+): (\w+)", worker.said()):
        if life == "lost":
            mine.discard(int(number))
        else:
            mine.add(int(number))
    return mine


def test_in_mode_verdicts_no_page_is_copied_and_the_topic_for_copies_is_neither_made_nor_needed(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    with Cluster(broker, topic_prefix, tmp_path, (*SMALL, "output.mode=verdicts")) as cluster:
        worker = cluster.start_worker()
        cluster.publish([*articles(0, 30), (PageMeta(url="http://site.example/paper"), b"%PDF-1.7")])
        cluster.wait_until_committed()
        found = check_guarantees(traces(broker, topic_prefix, output="verdicts"))
        assert Counter(record.verdict if record else "dead" for record in found.values()) == Counter(
            unique=20, duplicate=10, dead=1
        )
        assert worker.stop() == 0
        cluster.workers.clear()
        with pytest.raises(Unavailable, match=f"missing: {topic_prefix}deduplicated"):
            OutputReader(cluster.options, topic_prefix, [DEDUPLICATED])
        copying = cluster.start_worker("output.mode=tag")
        assert copying.process.wait(timeout=60) == 3
        assert re.search(rf"{topic_prefix}deduplicated: missing\. .*topics create", copying.said())
