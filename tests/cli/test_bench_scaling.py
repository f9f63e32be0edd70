"""``python -m worker bench pipeline --workers N,N``: what one more worker brings."""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
from pathlib import Path

import pytest

from worker.cli.bench_scaling import Scaling, cpu_of, scaling_lines
from worker.cli.main import main


def scaling(workers: int, wall: float) -> Scaling:
    """A run of 600 pages that took 4 CPU seconds, one of them the broker's."""
    steps = {"read": 0.1, "answer": 0.15, "decide": 0.05, "claim": 0.4}
    return Scaling(workers, 600, wall, loops=1.0, parsers=2.0, broker=1.0, busy=0.9, steps=steps)


def test_rates_are_by_the_wall_and_by_all_cpu_time_and_the_protocol_is_a_share_of_the_workers() -> None:
    run = scaling(1, wall=3.0)
    assert run.pages_a_second == pytest.approx(200)
    assert run.pages_a_cpu_second == pytest.approx(150)
    assert run.protocol == pytest.approx(0.3 / 3.0)
    assert json.loads(run.as_json())["pages_a_second"] == pytest.approx(200)


def test_each_number_of_workers_has_a_line_of_its_run_in_the_middle_beside_the_fewest() -> None:
    runs = [scaling(1, 3.0), scaling(2, 1.0), scaling(1, 4.0), scaling(2, 1.5), scaling(1, 2.0), scaling(2, 9.0)]
    lines = [line.split() for line in scaling_lines(runs)]
    assert lines[2][:3] == ["1", "200", "1.00"]
    assert lines[3][:3] == ["2", "400", "2.00"]


def test_the_cpu_time_of_a_process_is_what_its_clock_says() -> None:
    before = os.times()
    measured = cpu_of(os.getpid())
    after = os.times()
    tick = 2 / os.sysconf("SC_CLK_TCK")
    assert before.user + before.system - tick <= measured <= after.user + after.system + tick


@pytest.mark.parametrize("given", ["0", "1,0", "two", ""])
def test_numbers_of_workers_that_make_no_sense_are_refused(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "pipeline", "--docs", "folder", "--workers", given]) == 2
    assert "--workers" in capsys.readouterr().err


@pytest.mark.cluster
def test_two_real_workers_commit_every_page_and_all_their_time_is_told(tmp_path: Path) -> None:
    with lzma.open(tmp_path / "docs.jsonl.xz", "wt", encoding="utf-8") as lines:
        for number in range(40):
            words = " ".join(f"word{number * 1000 + place}" for place in range(200))
            page = {"id": number, "url": f"http://a.example/{number}", "html": f"<p>{words}</p>"}
            lines.write(json.dumps(page) + "\n")
    command = [sys.executable, "-m", "worker", "bench", "pipeline", "--docs", str(tmp_path), "--workers", "2", "--json"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    run = json.loads(ended.stdout)
    assert (run["workers"], run["pages"]) == (2, 40)
    assert run["pages_a_second"] > 0
    assert min(run["loops"], run["parsers"], run["broker"], run["steps"]["answer"], run["protocol"]) >= 0
    assert 0 <= run["busy"] <= 1
