"""The benchmark of restoring fills topics that workers can read, and restores all of it."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from worker.broker.jars import KAFKA

ENTRIES = 40_000


@pytest.mark.cluster
def test_all_survivors_are_restored_from_the_topic_and_from_snapshots(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "restore.md"
    options = ["--set", "topics.shards=3", "--set", "log.level=error"]
    assert main(["restore", *options, "--entries", str(ENTRIES), "--json", "--out", str(out)]) == 0
    measured = [json.loads(line) for line in capfd.readouterr().out.splitlines() if line.startswith("{")]
    assert [each["how"] for each in measured] == ["cold, from the topic", "writing the snapshots", "with snapshots"]
    assert {(each["entries"], each["shards"]) for each in measured} == {(ENTRIES, 3)}
    written = out.read_text()
    assert "## 40,000 survivors in 3 shards" in written
    (measured_on,) = (line for line in written.splitlines() if line.startswith("Measured on: "))
    assert measured_on.endswith(f"; kafka-python {version('kafka-python')}, Apache Kafka {KAFKA}.")


def test_too_few_survivors_are_refused() -> None:
    assert main(["restore", "--entries", "10"]) == 2
