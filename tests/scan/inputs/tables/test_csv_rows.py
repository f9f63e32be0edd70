"""Tables as text: rows, the lines that they consist of, and bad rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler_plugin.wire.errors import UsageError
from tests.scan.inputs.written import (
    MOST,
    archive_of,
    broken_of,
    content_of,
    csv_of,
    pages_of,
    put,
    rows,
    url,
    write_kept,
)
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


def test_a_backslash_may_escape_quotes(tmp_path: Path) -> None:
    body = r"""<p class="x">one, "two" \ three\d\n, </p>""" + "\n, four\\"
    lines = [f'"{url(n)}","' + body.replace("\\", "\\\\").replace('"', '\\"') + f'","{n}"\n' for n in range(40)]
    content = b"url,html,note\n" + "".join(lines).encode()
    archive = archive_of(put(tmp_path, "a", content))
    assert [content_of(page) for page in pages_of(archive)] == [body] * 40
    assert not write_kept(archive, tmp_path / "kept", lambda page: page.page.url.endswith("7"))
    assert (tmp_path / "kept").read_bytes() == b"url,html,note\n" + "".join(lines[7::10]).encode()


@pytest.mark.parametrize(
    "body", ["C:\\dir\\", 'a \\"quoted\\" word, \\', "\\\\host\\", '{"a": "{\\"b\\": 1, \\"c\\": 2}"}']
)
def test_elsewhere_a_backslash_is_one(body: str, tmp_path: Path) -> None:
    table = [{"url": url(n), "html": body, "note": "x, y"} for n in range(3)]
    archive = archive_of(put(tmp_path, "a", csv_of(table, ",") + b'stray","\n'))
    assert [content_of(page) for page in pages_of(archive)] == [body] * 3


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
    (broken,) = broken_of(archive_of(put(tmp_path, "a", content), text="html"))
    assert broken.reason == "no-body" and "html is text in an unknown encoding: name it with --enc" in broken.detail


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-be", "cp500", "cp932"])
def test_a_table_may_be_in_another_encoding(encoding: str, tmp_path: Path) -> None:
    texts = ["Zürich, Genève" if encoding != "cp932" else "表示, ソート", 'a "quoted"\nline', "c"]
    table = csv_of([{"url": url(n), "text": text} for n, text in enumerate(texts)]).decode().encode(encoding)
    named = {} if encoding in ("cp1252", "utf-16", "utf-16-be") else {"file_encoding": encoding}
    archive = archive_of(put(tmp_path, "a.csv", table), MOST, **named)
    assert [page.page.text for page in pages_of(archive)] == texts and not broken_of(archive)
    assert write_kept(archive, tmp_path / "copy", lambda page: page.page.text != "c") == []
    assert table.startswith((tmp_path / "copy").read_bytes())
    assert [page.page.text for page in pages_of(archive_of(tmp_path / "copy", MOST, **named))] == texts[:-1]
    assert archive.fields == {"url": "url", "text": "text"} | named


def test_a_page_in_a_table_that_was_transcoded_is_characters_whatever_it_says_of_its_encoding(tmp_path: Path) -> None:
    table = csv_of([{"url": url(0), "html": '<meta charset="cp1252"><p>Zürich'}]).decode().encode("utf-16")
    assert [page.page.body for page in pages_of(archive_of(put(tmp_path, "a", table)))] == [
        '<meta charset="cp1252"><p>Zürich'
    ]


def test_lines_may_end_with_cr_alone(tmp_path: Path) -> None:
    table = csv_of([{"url": url(n), "html": "a\nb" if n else "c"} for n in range(3)]).replace(b"\r\n", b"\r")
    content = table.replace(b"a\nb", b"a\rb")
    archive = archive_of(put(tmp_path, "a", content))
    assert [page.page.body for page in pages_of(archive)] == [b"c", b"a\rb", b"a\rb"]


def test_of_two_columns_of_one_name_the_first_counts(tmp_path: Path) -> None:
    archive = archive_of(put(tmp_path, "a.csv", b",url,text,text\n0,http://a.example/,a,b\n"))
    assert [page.page.text for page in pages_of(archive)] == ["a"]


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


def test_a_header_alone_is_a_table_without_pages(tmp_path: Path) -> None:
    archive = archive_of(put(tmp_path, "a", csv_of(rows(1)).split(b"\n")[0]))
    assert archive.form == "csv" and not list(archive.records())
