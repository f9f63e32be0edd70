"""``python -m worker bench pipeline|scaling`` with real brokers and real workers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sizing.documents import write_documents
from worker.cli.main import main

PARSING = ("extract", "segment", "fingerprint", "pipes")


@pytest.mark.cluster
def test_the_command_prints_the_rate_and_the_share_of_each_stage(tmp_path: Path) -> None:
    folder = write_documents(tmp_path, 12)
    command = [sys.executable, "-m", "worker", "bench", "pipeline", "--docs", str(folder), "--laps", "50", "--json"]
    ended = subprocess.run(
        [*command, "--processes", "1"], cwd=folder, capture_output=True, text=True, timeout=180, check=False
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    report = json.loads(ended.stdout.splitlines()[-1])
    assert report["pages"] == 600
    assert report["pages_a_second_and_core"] > 0
    assert sum(report["shares"].values()) == pytest.approx(1.0)
    assert {f"parsers: {stage}" for stage in PARSING} < set(report["shares"])


@pytest.mark.parametrize("given", ["0", "1,0", "two", ""])
def test_numbers_of_workers_that_make_no_sense_are_refused(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "scaling", "--docs", "folder", "--workers", given]) == 2
    assert "--workers" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.cluster
def test_two_real_workers_commit_every_page_and_all_their_time_is_told(tmp_path: Path) -> None:
    folder = write_documents(tmp_path, 40)
    command = [sys.executable, "-m", "worker", "bench", "scaling", "--docs", str(folder), "--workers", "2", "--json"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    run = json.loads(ended.stdout)
    assert (run["workers"], run["pages"]) == (2, 40)
    assert run["pages_a_second"] > 0
    assert min(run["loops"], run["parsers"], run["broker"], run["steps"]["answer"], run["protocol"]) >= 0
    assert 0 <= run["busy"] <= 1
