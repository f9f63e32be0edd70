"""A handover of shards is observed on the topics, and measured where nothing else takes the cores."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import handover
from benchmarks.__main__ import main


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
