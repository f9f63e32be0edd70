"""The command reports sums that do not add up, and refuses impossible numbers of workers."""

from __future__ import annotations

import argparse

import pytest

from crawler_plugin.wire.errors import CheckFailed
from worker.cli import demo
from worker.cli.main import main
from worker.demo.run import Demo


def test_what_does_not_add_up_is_told_with_a_next_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Demo, "run", lambda self: ["one page too few", "a mirror is unique"])
    with pytest.raises(CheckFailed, match=r"(?s)one page too few\n  a mirror is unique\n.*--keep"):
        demo.run(argparse.Namespace(workers=1, keep=False), lambda: None)


@pytest.mark.parametrize("number", ["0", "9", "two"])
def test_a_number_of_workers_that_makes_no_sense_is_refused(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--workers", number]) == 2
    assert "--workers" in capsys.readouterr().err
