"""Archives to be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scan.inputs.written import html, jsonl, put, rows
from tests.scan.writing.judged import archives_of, crawl_of
from worker.scan.inputs.records import Archive


@pytest.fixture
def many(tmp_path: Path) -> list[Archive]:
    """Two archives of one name, a folder of pages, and one more."""
    for number, name in enumerate(("a.html", "b/c.html", "d.html")):
        put(tmp_path, f"in/{name}", html(number).encode())
    inputs = [put(tmp_path, f"{n}/a.jsonl", jsonl(rows(4 + n))) for n in range(2)]
    return archives_of(*inputs, tmp_path / "in", put(tmp_path, "a.warc.gz", crawl_of()))
