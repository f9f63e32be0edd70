"""A handover of shards is seen from the topics, and measured where nothing else takes the cores."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks import handover
from benchmarks.__main__ import main
from benchmarks.handover import leave_first_core


@pytest.mark.long
@pytest.mark.cluster
def test_a_handover_is_seen_in_the_answers_of_both_workers(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handover, "BEFORE_SECONDS", 1.0)
    monkeypatch.setattr(handover, "AFTER_SECONDS", 1.0)
    out = tmp_path / "handover.md"
    assert main(["restore", "--handover", "--entries", "8192", "--json", "--out", str(out)]) == 0
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
