"""A worker's clock decides nothing: the broker dates its records, however wrong the machine's time is."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from itertools import islice
from pathlib import Path
from typing import Final

import pytest

from crawler_plugin.wire.topics import ALL, FINDINGS, FINGERPRINTS, INDEX, INDEX_STANDBY, JOBS
from tests.cluster.cluster import Cluster, WorkerProcess, alter, running
from tests.cluster.crawl import invented
from tests.cluster.outside import read, traces
from tests.cluster.shifted_clock import ShiftedClock
from tests.guarantees import check_guarantees
from tests.waiting import wait_for

pytestmark = pytest.mark.cluster

AHEAD: Final = 1.5 * 60 * 60
BEHIND: Final = -30 * 24 * 60 * 60
MINUTES: Final = 10 * 60 * 1000
"""Longer than a test takes, in milliseconds, and less than the error of the clocks."""


def readiness(worker: WorkerProcess) -> str:
    """The answer of ``/readyz``; empty once the worker has ended."""
    address = next(line for line in worker.said().splitlines() if line.startswith("metrics: "))
    url = address.removeprefix("metrics: ").replace("/metrics", "/readyz")
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return error.read().decode()
    except OSError:
        return ""


def test_workers_whose_clocks_are_ahead_behind_and_jump_lose_nothing(cluster: Cluster, tmp_path: Path) -> None:
    begun = time.time() * 1000
    clocks = [ShiftedClock(tmp_path / f"clock-{number}", wrong) for number, wrong in enumerate((AHEAD, BEHIND))]
    for clock in clocks:
        running(cluster.start_worker(clock=clock))
    pages = list(islice(invented(seed=1), 120))
    cluster.publish(pages[:60])
    cluster.wait_until_committed()
    clocks[0].shift(BEHIND)
    clocks[1].shift(AHEAD)
    cluster.publish(pages[60:])
    cluster.wait_until_committed()
    assert cluster.stop() == [0, 0]
    assert len(check_guarantees(traces(cluster.bootstrap, cluster.prefix))) == len(pages)
    for topic in set(ALL) - {JOBS, FINDINGS, INDEX_STANDBY}:  # workers do not write to these here
        times = [record.timestamp for record in read(cluster.bootstrap, cluster.prefix + topic)]
        assert times, topic
        assert begun - MINUTES < min(times) <= max(times) < time.time() * 1000 + MINUTES, topic


@pytest.mark.parametrize("topic", [FINGERPRINTS, INDEX])
def test_a_worker_whose_records_are_refused_for_good_says_so_and_ends(
    cluster: Cluster, tmp_path: Path, topic: str
) -> None:
    """They are refused by a topic that takes writers' times, as it was made by hand, and because of a clock that is
    ahead."""
    clock = ShiftedClock(tmp_path / "clock")
    worker = running(cluster.start_worker("shutdown.seconds=10", clock=clock))
    alter(cluster, topic, message_timestamp_type="CreateTime")
    clock.shift(AHEAD)
    cluster.publish(islice(invented(seed=1), 20))
    heard: set[str] = set()

    def has_ended() -> bool:
        heard.add(readiness(worker))
        return not worker.alive

    wait_for(has_ended, "the worker to end", pause=0.01)
    said = worker.said()
    assert worker.process.returncode == 4, said[-3000:]
    wanted = f"the broker refused a record of topic {cluster.prefix}{topic} because of the time"
    assert any(wanted in line and "--alter-config" in line for line in heard), heard
    assert wanted in said.splitlines()[-1]
    cluster.workers.clear()

    alter(cluster, topic, message_timestamp_type="LogAppendTime")
    running(cluster.start_worker(clock=clock))
    cluster.wait_until_committed()
    check_guarantees(traces(cluster.bootstrap, cluster.prefix))
