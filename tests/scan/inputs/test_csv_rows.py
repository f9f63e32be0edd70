"""Tables as text: rows, the lines that they are made of, and what is none."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from tests.scan.inputs.written import archive_of, broken_of, content_of, csv_of, pages_of, put, rows, url
from worker.errors import UsageError
from worker.scan.inputs.records import ArchivedPage, BrokenRecord

HEADER = b"url,html\n"


def row(number: int) -> bytes:
    return f"{url(number)},page {number}\n".encode()


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_cells_may_hold_lines_quotes_and_delimiters(delimiter: str, tmp_path: Path) -> None:
    body = f'<p>a "quoted" line{delimiter}\nand\r\nanother{delimiter}\n'
    table = [{"url": url(n), "html": body + str(n), "note": "a\n"} for n in range(3)]
    content = b"\xef\xbb\xbf" + csv_of(table, delimiter)
    archive = archive_of(put(tmp_path, "a", content))
    pages = pages_of(archive)
    assert [content_of(page) for page in pages] == [body + str(n) for n in range(3)]
    for number, page in enumerate(pages):
        assert content[page.place.offset :].startswith(url(number).encode())
    assert archive.fields == {"url": "url", "body": "html"}


@pytest.mark.parametrize(
    "line",
    [
        b"one cell\n",
        b"https://host.example/,a,b\n",
        b'https://host.example/,"a quote that nothing closes\n',
        b'"\n',
        b"https://host.example/,a\rb\n",
    ],
)
def test_a_row_that_does_not_fit_is_named_and_the_next_line_begins_a_row(line: bytes, tmp_path: Path) -> None:
    content = HEADER + row(0) + line + row(1) + row(2)
    found = list(archive_of(put(tmp_path, "a", content)).records())
    assert [record.page.url for record in found if isinstance(record, ArchivedPage)] == [url(n) for n in range(3)]
    (broken,) = [record for record in found if isinstance(record, BrokenRecord)]
    assert broken.reason == "no-columns" and broken.place.offset == len(HEADER + row(0))


def test_a_table_full_of_open_quotes_is_read_to_its_end(tmp_path: Path) -> None:
    content = HEADER + b'a,b,"c\n' * 20_000
    found = list(archive_of(put(tmp_path, "a", content)).records())
    assert {record.reason for record in found if isinstance(record, BrokenRecord)} == {"no-columns"}
    assert len([record for record in found if isinstance(record, ArchivedPage)]) == 0


def test_zero_bytes_and_bytes_that_are_no_utf_8_belong_to_their_cell(tmp_path: Path) -> None:
    content = HEADER + b"http://a.example/,<p>\0\xb4\xfa\n" + row(1)
    pages = pages_of(archive_of(put(tmp_path, "a", content)))
    assert pages[0].page.body == b"<p>\0\xb4\xfa" and pages[1].page.body == b"page 1"
    text = pages_of(archive_of(put(tmp_path, "a", content), text="html"))
    assert [page.page.text for page in text] == ["page 1"]


def test_a_row_that_is_too_large_is_passed(tmp_path: Path) -> None:
    long, cell = b"a" * 20_000, b"an, other line\n" * 2_000
    content = HEADER + row(0) + b"http://a.example/," + long + b"\n" + row(1)
    content += b'http://a.example/,"' + cell + b'"\n' + row(2)
    archive = archive_of(put(tmp_path, "a", content.replace(b"an, other", b"another")), most_bytes=10_000)
    assert [page.page.url for page in pages_of(archive)] == [url(0), url(1), url(2)]
    assert [one.reason for one in broken_of(archive)] == ["too-large", "too-large"]


def test_rows_behind_a_stray_quote_are_read_however_far_it_is_to_the_next(tmp_path: Path) -> None:
    content = HEADER + row(0) + b'http://a.example/,"a\n' + b"".join(row(number) for number in range(1, 2000))
    for most_bytes in (10_000, 10_000_000):
        archive = archive_of(put(tmp_path, "a", content), most_bytes=most_bytes)
        assert [page.page.url for page in pages_of(archive)] == [url(number) for number in range(2000)]
        assert [one.place.offset for one in broken_of(archive)] == [len(HEADER + row(0))]


def test_a_table_without_a_known_column_is_refused_with_its_columns(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no column that seems to hold a page: there are name, size"):
        archive_of(put(tmp_path, "a.csv", b"name,size\na,1\n"))
    archive = archive_of(put(tmp_path, "a.csv", b"name,size\na,1\n"), text="name", id="size")
    assert [(page.id, page.page.text) for page in pages_of(archive)] == [("1", "a")]
    with pytest.raises(UsageError, match="iconv -f UTF-16 -t UTF-8"):
        archive_of(put(tmp_path, "a.csv", codecs.BOM_UTF16_LE + "url,text\n".encode("utf-16-le")))


def test_a_header_alone_is_a_table_without_pages(tmp_path: Path) -> None:
    archive = archive_of(put(tmp_path, "a", csv_of(rows(1)).split(b"\n")[0]))
    assert archive.form == "csv" and not list(archive.records())
