"""``python -m worker report``, as a person calls it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.groups.scanned import crawled, written
from worker.cli.main import main

SETTINGS = ["--set", "features.units=characters", "--set", "index.memory_mb=0"]


def test_it_is_written_beside_the_verdicts_or_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(crawled(0).rows, tmp_path)
    assert main(["report", str(tmp_path), *SETTINGS]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{tmp_path / 'report.html'}\n"
    assert "no pages are shown side by side, since the scanned files are not found" in printed.err
    assert main(["report", str(path), "--out", str(tmp_path / "other.html"), *SETTINGS]) == 0
    assert (tmp_path / "other.html").read_text() == (tmp_path / "report.html").read_text()


def test_a_file_that_cannot_be_written_is_told_with_the_next_move(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(crawled(0).rows, tmp_path)
    assert main(["report", str(tmp_path), "--out", "/nowhere/report.html", *SETTINGS]) == 2
    assert "/nowhere/report.html cannot be written" in capsys.readouterr().err
