"""``python -m benchmarks latency``: a real worker, a real broker, a few pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from tests.sizing.documents import write_documents


@pytest.mark.long
def test_each_page_of_each_rate_is_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_documents(tmp_path, 5)
    assert main(["latency", "--docs", str(tmp_path), "--rates", "10,20", "--seconds", "1", "--json"]) == 0
    slow, fast = map(json.loads, capsys.readouterr().out.splitlines())
    assert (slow["pages_a_second"], slow["pages"]) == (10, 10)
    assert (fast["pages_a_second"], fast["pages"]) == (20, 20)
    for measured in (slow, fast):
        assert 0 < measured["half"] <= measured["ninety_ninth"]
        assert measured["longest"] > 0


def test_a_folder_without_documents_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["latency", "--docs", str(tmp_path)]) == 2
    assert "docs.jsonl.xz" in capsys.readouterr().err
