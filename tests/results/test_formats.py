"""The same rows in each format."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from worker.results.jobs.rows import JobRow

from worker.results.formats import write_as_parquet, write_csv, write_jsonl

FIRST = JobRow(url='http://a.example/,"页"', verdict="unique", reason="first", tokens=3, partition=0, offset=1)
COPY = JobRow(
    url="http://b.example/",
    verdict="duplicate",
    duplicate_of="http://a.example/",
    distance=2,
    reason="hamming",
    status=200,
    fetched=1_700_000_000_000,
    partition=0,
    offset=2,
)


def test_a_line_of_json_a_row_is_there_before_the_next_comes() -> None:
    out, seen = io.BytesIO(), []

    def rows() -> Iterator[JobRow]:
        for row in (FIRST, COPY):
            yield row
            seen.append(out.getvalue().count(b"\n"))

    write_jsonl(rows(), out)
    assert seen == [1, 2]
    assert [json.loads(line)["url"] for line in out.getvalue().splitlines()] == [FIRST.url, COPY.url]


def test_csv_has_the_names_first_and_nothing_where_nothing_is_known() -> None:
    out = io.BytesIO()
    write_csv(iter([FIRST, COPY]), out)
    first, copy = csv.DictReader(io.StringIO(out.getvalue().decode(), newline=""))
    assert (first["url"], first["distance"], first["tokens"]) == (FIRST.url, "", "3")
    assert (copy["duplicate_of"], copy["status"]) == ("http://a.example/", "200")
    assert list(first) == list(JobRow.__struct_fields__)


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
    row = msgspec.structs.replace(FIRST, url=text, spider=text, detail=text, distance=-1)
    out = io.BytesIO()
    write_csv(iter([row]), out)
    (read,) = csv.DictReader(io.StringIO(out.getvalue().decode(), newline=""))
    for name in ("url", "spider", "detail"):
        assert read[name][:1] not in tuple("=+-@\t\r\n＝")
        assert read[name].removeprefix("'") == text
    assert read["distance"] == "-1"
    assert out.getvalue().decode().split("\r\n", 1)[1].startswith('"'), "a ; within it begins no cell"


def test_parquet_has_the_same_columns_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    write_as_parquet(iter([FIRST, COPY]), tmp_path / "verdicts.parquet")
    table = pq.read_table(tmp_path / "verdicts.parquet")
    assert table.schema.names == list(JobRow.__struct_fields__)
    assert table["url"].to_pylist() == [FIRST.url, COPY.url]
    assert table["status"].to_pylist() == [None, 200]
    assert table["offset"].to_pylist() == [1, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["verdicts.parquet"]
