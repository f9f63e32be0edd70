"""The command ends its demo in order however it is ended, and says what does not add up."""

from __future__ import annotations

import argparse
import signal
from pathlib import Path

import pytest

from tests.demo.running import Running
from worker.cli import demo
from worker.cli.main import main
from worker.demo.run import Demo
from worker.errors import CheckFailed


@pytest.mark.cluster
@pytest.mark.parametrize(("ending", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_a_signal_in_the_middle_ends_all_of_it(
    tmp_path: Path, running: list[Running], ending: signal.Signals, status: int
) -> None:
    started = Running(tmp_path)
    running.append(started)
    started.wait_for("3. The crawl")
    started.process.send_signal(ending)
    assert started.status() == status, started.output
    assert started.has_left_nothing()


def test_what_does_not_add_up_is_told_with_a_next_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Demo, "run", lambda self: ["one page too few", "a mirror is unique"])
    with pytest.raises(CheckFailed, match=r"(?s)one page too few\n  a mirror is unique\n.*--keep"):
        demo.run(argparse.Namespace(workers=1, keep=False), lambda: None)


@pytest.mark.parametrize("number", ["0", "9", "two"])
def test_a_number_of_workers_that_makes_no_sense_is_refused(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--workers", number]) == 2
    assert "--workers" in capsys.readouterr().err
