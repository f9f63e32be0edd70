"""The same rows in each format."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from crawler_plugin.wire.outcomes import Verdict
from tests.results.test_rows import COPY, DEAD
from worker.results import formats
from worker.results.formats import write_csv, write_jsonl, write_parquet
from worker.results.rows import OF_JOB, OF_SCAN, job_row, scan_row

FIRST = Verdict(url='http://a.example/,"页"', verdict="unique", reason="first", tokens=3, source=(0, 1))
NEAR = COPY.having(source=(0, 2), status=200)


def test_a_line_of_json_a_row_is_there_before_the_next_comes() -> None:
    out, seen = io.BytesIO(), []

    def rows() -> Iterator[dict[str, Any]]:
        for verdict in (FIRST, NEAR):
            yield job_row(verdict)
            seen.append(out.getvalue().count(b"\n"))

    write_jsonl(rows(), out)
    assert seen == [1, 2]
    assert [json.loads(line)["url"] for line in out.getvalue().splitlines()] == [FIRST.url, NEAR.url]


def test_csv_has_the_names_first_and_nothing_where_nothing_is_known() -> None:
    out = io.BytesIO()
    write_csv(map(job_row, [FIRST, NEAR]), OF_JOB, out)
    first, copy = csv.DictReader(io.StringIO(out.getvalue().decode(), newline=""))
    assert (first["url"], first["distance"], first["tokens"]) == (FIRST.url, "", "3")
    assert (copy["duplicate_of"], copy["status"], copy["offset"]) == ("http://a.example/", "200", "2")
    assert tuple(first) == OF_JOB


@pytest.mark.parametrize(
    "text",
    [
        '=HYPERLINK("http://evil.example/","look")',
        "+1+cmd|' /C calc'!A0",
        "-2+3",
        "@SUM(1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "'=1",
        "＝1+1",
        "a;=1",
        "a",
        "",
    ],
)
def test_no_text_of_a_crawl_is_a_formula_and_each_can_be_had_back(text: str) -> None:
    odd = FIRST.having(url=text, spider=text, detail=text, distance=-1)
    out = io.BytesIO()
    write_csv([job_row(odd)], OF_JOB, out)
    (read,) = csv.DictReader(io.StringIO(out.getvalue().decode(), newline=""))
    for name in ("url", "spider", "detail"):
        assert read[name][:1] not in tuple("=+-@\t\r\n＝")
        assert read[name].removeprefix("'") == text
    assert read["distance"] == "-1"
    assert out.getvalue().decode().split("\r\n", 1)[1].startswith('"'), "a ; within it begins no cell"


@pytest.mark.parametrize(("names", "row"), [(OF_SCAN, scan_row), (OF_JOB, job_row)])
def test_every_row_is_a_row_of_parquet_in_its_place_with_the_same_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], row: Callable[[Verdict], dict[str, Any]]
) -> None:
    monkeypatch.setattr(formats, "_GROUP_ROWS", 3)
    verdicts = [FIRST, DEAD, *[FIRST] * 5, NEAR]
    write_parquet(map(row, verdicts), names, tmp_path / "verdicts.parquet")
    table = pq.read_table(tmp_path / "verdicts.parquet")
    assert tuple(table.schema.names) == names
    assert table["url"].to_pylist() == [verdict.url for verdict in verdicts]
    last = table.to_pylist()[-1]
    time = datetime.fromtimestamp(1_700_000_000, UTC).replace(microsecond=123_000)
    assert last == row(NEAR) | {"fetched": time}
    assert table["fetched"].null_count == len(verdicts) - 1


def test_no_rows_are_a_file_too(tmp_path: Path) -> None:
    write_parquet(iter([]), OF_SCAN, tmp_path / "rows.parquet")
    assert pq.read_table(tmp_path / "rows.parquet").num_rows == 0
