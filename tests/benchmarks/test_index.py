"""Results of the benchmark of the index: objects, and a table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import index
from benchmarks.__main__ import main


def test_results_go_out_as_objects_and_as_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "TURNS", 1)
    monkeypatch.setattr(index, "LEAST_SECONDS", 0.001)
    out = tmp_path / "results" / "index.md"
    command = ["index", "--entries", "2048", "--rounds", "1", "--against", "dicts of lists"]
    assert main([*command, "--json", "--out", str(out)]) == 0
    ours, theirs = map(json.loads, capsys.readouterr().out.splitlines())
    assert (ours["contender"], theirs["contender"]) == ("this index", "dicts of lists")
    for measured in (ours, theirs):
        assert measured["found"] == [1, 1, 1, 1, 0]
        assert measured["wrong"] == 0
    written = out.read_text()
    assert "| this index |" in written and "| dicts of lists |" in written
    assert "## 2,048 entries, uniform codes, one round" in written


@pytest.mark.parametrize("options", [["--entries", "10"], ["--rounds", "0"]])
@pytest.mark.parametrize("kind", ["index", "crowded-block"])
def test_nonsense_is_refused(kind: str, options: list[str]) -> None:
    assert main([kind, *options]) == 2
