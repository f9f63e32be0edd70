"""Rows of tables as text: the meaning of an opening quote."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.scan.inputs.tables import csv_lines
from worker.scan.inputs.tables.csv_lines import Row, rows_of
from worker.scan.inputs.tables.lines import lines_of
from worker.scan.inputs.unpacking import UnpackedPiece

MOST = 100_000
CELLS = st.text(st.sampled_from('ab",\r\n '), max_size=6)


def rows(content: bytes, columns: int = 2, most: int = MOST) -> list[Row]:
    return list(rows_of(lines_of([UnpackedPiece(content)], most), columns, ",", most))


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=6), st.sampled_from([0, 1]))
def test_what_csv_writes_is_read_as_it_reads_it(table: list[list[str]], quoting: Any) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, quoting=quoting).writerows(table)
    content = out.getvalue().encode()
    found = rows(content)
    assert [row.cells for row in found] == table and not any(row.broken for row in found)
    for row in found:
        assert content[row.offset :].startswith(row.content)


HONEST = b"https://host.example/,a page\n"
TABLES = {
    "one": (b'x,"a\n' + HONEST * 3000, 3000),
    "one before quoted cells": (b'x,"a\n' + b'"x","a page"\n' * 3000, 3000),
    "one before cells of lines": (b'x,"a\n' + b'"x","a\n<p>\nb"\n' * 3000, 2999),
    "every tenth": ((b'x,"a\n' + HONEST * 9) * 300, 1500),
    "in cells": (b'a"b,"\n' * 3000, 0),
    "nothing else": (b'"\n' * 3000, 0),
    "far from the next rows": (b'x,"a\n' + b"not a row\n" * 20_000 + HONEST * 3000, 2969),
}


@pytest.mark.parametrize("name", TABLES)
def test_however_many_quotes_are_stray_each_line_is_read_a_few_times(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, honest = TABLES[name]
    read = 0
    plain = csv.reader

    def counting(lines: Iterator[str], **options: Any) -> Iterator[list[str]]:
        def counted() -> Iterator[str]:
            nonlocal read
            for line in lines:
                read += len(line)
                yield line

        return iter(plain(counted(), **options))

    monkeypatch.setattr("csv.reader", counting)
    found = rows(content)
    assert len([row for row in found if not row.broken]) >= honest
    assert read < 6 * len(content)


def test_a_row_of_more_lines_than_are_held_is_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_lines, "_MOST_LINES", 100)
    found = rows(HONEST + b'x,"' + b"a\n" * 1000 + b'"\n' + HONEST)
    assert [row.broken for row in found] == ["", "too-large", ""]


def test_lines_of_a_table_without_end_are_not_held() -> None:
    import tracemalloc

    def pieces() -> Iterator[UnpackedPiece]:
        yield UnpackedPiece(b'x,"a\n')
        for _ in range(400):
            yield UnpackedPiece(b"not a row of it\n" * 100)

    tracemalloc.start()
    found = list(rows_of(lines_of(pieces(), MOST), 2, ",", MOST))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [row.broken for row in found] == ["too-large"] and peak < 40 * MOST
