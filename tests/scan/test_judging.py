"""Records are judged in the order of the files, or of fetch times."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from crawler_plugin.wire.errors import Unavailable
from tests.scan.halves import PAGES, judged, read
from tests.scan.test_scan import rows, settings
from worker.scan.judging import Judged

pytestmark = pytest.mark.usefixtures("read_here")


def test_verdicts_are_those_of_a_scan(tmp_path: Path, records: Path, scanned: Path) -> None:
    found = judged(tmp_path / "out", records)
    for name in ("verdicts.jsonl", "dead-letters.jsonl"):
        assert (tmp_path / "out" / name).read_bytes() == (scanned / name).read_bytes()
    assert pq.read_table(tmp_path / "out" / "verdicts") == pq.read_table(scanned / "verdicts.parquet")
    whole = json.loads((scanned / "summary.json").read_text())
    assert {name: found[name] for name in ("pages", "verdicts", "archives", "inputs", "settings")} == {
        name: whole[name] for name in ("pages", "verdicts", "archives", "inputs", "settings")
    }
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "dead-letters.jsonl", "summary.json", "verdicts", "verdicts.jsonl",
    ]  # fmt: skip


def test_a_folder_that_another_process_takes_away_is_told_as_such(tmp_path: Path, records: Path) -> None:
    out = tmp_path / "out"

    def taken_away(done: Judged) -> None:
        shutil.rmtree(out, ignore_errors=True)

    with pytest.raises(Unavailable, match="another process may be writing there: let it end"):
        judged(out, records, tell=taken_away)


@pytest.mark.parametrize("ttl", [None, 0.5])
def test_in_the_order_of_fetch_times_it_judges_what_a_scan_of_that_order_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ttl: float | None
) -> None:
    monkeypatch.setattr("worker.scan.judge.external_sort._AT_ONCE", 16)
    times = [(number * 37 % len(PAGES)) * 3_600_000 for number in range(len(PAGES))]
    pages = [replace(page, fetched=time) for page, time in zip(PAGES, times, strict=True)]

    def written(order: list[int], name: str) -> Path:
        lines = (
            {"id": number, "url": pages[number].url, "html": pages[number].body, "fetched": pages[number].fetched}
            for number in order
        )
        (tmp_path / name).write_text("\n".join(map(json.dumps, lines)))
        return tmp_path / name

    chosen = settings().model_copy(update={"near": settings().near.model_copy(update={"ttl_days": ttl})})
    in_time = sorted(range(len(PAGES)), key=times.__getitem__)
    read(tmp_path / "records", written(list(range(45)), "a.jsonl"), written(list(range(45, 90)), "b.jsonl"))
    read(tmp_path / "sorted", written(in_time, "c.jsonl"))
    judged(tmp_path / "out", tmp_path / "records", by_fetch_time=True, settings=chosen)
    judged(tmp_path / "expected", tmp_path / "sorted", settings=chosen)

    def fates(folder: Path) -> dict[str | None, tuple[Any, ...]]:
        return {row.id: (row.verdict, row.duplicate_of_id, row.reason, row.distance) for row in rows(folder)}

    assert fates(tmp_path / "out") == fates(tmp_path / "expected")
    assert [row.id for row in rows(tmp_path / "out")] == [str(number) for number in range(90)]
    judged(tmp_path / "files", tmp_path / "records", settings=chosen)
    assert fates(tmp_path / "files") != fates(tmp_path / "out")
