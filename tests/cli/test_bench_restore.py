"""The benchmark of restoring fills topics that workers can read, and restores all of it."""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from pathlib import Path

import pytest

from worker.broker.jars import KAFKA
from worker.cli.bench_handover import leave_first_core
from worker.cli.main import main

ENTRIES = 40_000


@pytest.mark.cluster
def test_all_survivors_are_restored_from_the_topic_and_from_snapshots(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "restore.md"
    options = ["--set", "topics.shards=3", "--set", "log.level=error"]
    assert main([*options, "bench", "restore", "--entries", str(ENTRIES), "--json", "--out", str(out)]) == 0
    measured = [json.loads(line) for line in capfd.readouterr().out.splitlines() if line.startswith("{")]
    assert [each["how"] for each in measured] == ["cold, from the topic", "writing the snapshots", "with snapshots"]
    assert {(each["entries"], each["shards"]) for each in measured} == {(ENTRIES, 3)}
    written = out.read_text()
    assert "## 40,000 survivors in 3 shards" in written
    (measured_on,) = (line for line in written.splitlines() if line.startswith("Measured on: "))
    assert measured_on.endswith(f"; kafka-python {version('kafka-python')}, Apache Kafka {KAFKA}.")


def test_too_few_survivors_are_refused() -> None:
    assert main(["bench", "restore", "--entries", "10"]) == 2


@pytest.mark.cluster
def test_a_handover_is_seen_in_the_answers_of_both_workers(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "handover.md"
    assert main(["bench", "restore", "--handover", "--entries", "8192", "--json", "--out", str(out)]) == 0
    measured = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert measured["answers"] > measured["batches"] > 0, "the first worker has more than one shard to the end"
    assert 0 < measured["median_ms"] <= measured["ninety_ninth_ms"] <= measured["longest_ms"]
    assert measured["handover_seconds"] > 0
    assert f"{measured['longest_ms']:.0f} ms at most" in out.read_text()


def test_all_but_the_first_worker_leave_the_first_core_while_it_is_measured() -> None:
    before = os.sched_getaffinity(0)
    with leave_first_core() as first:
        others = os.sched_getaffinity(0)
        assert len(first) == len(others) == 1
        assert before >= others
        assert not others & set(first) or len(before) == 1
    assert os.sched_getaffinity(0) == before
