"""Look-ups in a crowded block, compared with look-ups of uniform codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import index
from benchmarks.__main__ import main


def test_uniform_and_crowded_codes_are_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "TURNS", 1)
    monkeypatch.setattr(index, "LEAST_SECONDS", 0.001)
    out = tmp_path / "skew.md"
    command = ["crowded-block", "--entries", "2048", "--rounds", "1", "--against", "dicts of lists", "--out", str(out)]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(" 2,048")[0] for line in lines[:6:2]] == ["uniform", "10% in one block", "25% in one block"]
    assert [line.partition(" 2,048")[0] for line in lines[6:12]] == [*["unrelated"] * 2, *["one text"] * 4]
    assert out.read_text().count("| this index |") == 3
    assert out.read_text().count("| one text |") == 4
