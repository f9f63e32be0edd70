"""``python -m benchmarks serve``: a real service, real clients, a few pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.__main__ import main
from tests.sizing.documents import write_documents


@pytest.mark.long
def test_each_way_of_sending_has_its_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_documents(tmp_path, 5)
    assert main(["serve", "--docs", str(tmp_path), "--turns", "1"]) == 0
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [row.split("|")[1].strip() for row in rows] == [
        "judge_all",
        "4 connections with JSON lines",
        "32 connections page by page",
        "64 connections page by page",
    ]
    assert rows[0].split("|")[3].strip() == "1.00"


def test_a_folder_without_documents_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--docs", str(tmp_path)]) == 2
    assert "docs.jsonl.xz" in capsys.readouterr().err
