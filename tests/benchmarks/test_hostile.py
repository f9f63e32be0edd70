"""Hostile input is measured at three sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import hostile
from benchmarks.__main__ import main


def test_each_kind_is_measured_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hostile, "_URL_CHARACTERS", 100)
    monkeypatch.setattr(hostile, "_PATTERN_CHARACTERS", 10)
    out = tmp_path / "hostile.md"
    assert main(["hostile", "--mib", "0.01", "--out", str(out)]) in (0, 1), "times of milliseconds are noise"
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("page") for line in lines) == len(hostile.PAGES)
    assert sum(line.startswith("URL") for line in lines) == len(hostile.URLS)
    assert all(f"| {what} |" in out.read_text(encoding="utf-8") for what in hostile.PAGES)


def test_patterns_of_worker_and_plugin_are_found() -> None:
    names = {name for name, _ in hostile.patterns()}
    assert {"crawler_plugin.wire.url_templates._UUID", "crawler_plugin.config.kinds._SERVER"} <= names


def test_a_square_is_told_from_a_line() -> None:
    assert hostile.Cost("page", "x", (0.1, 0.4, 1.6)).ratio == pytest.approx(16)
    assert hostile.Cost("page", "x", (0.0001, 0.0004, 0.0016)).ratio == 0
    assert len(hostile.filled("<p>", "中", "</p>", 1000)) in range(998, 1001)
