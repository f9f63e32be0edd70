"""JSON lines: which lines are pages, and how other lines are handled."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from crawler_plugin.wire.errors import UsageError
from tests.scan.inputs.written import archive_of, broken_of, html, jsonl, pages_of, put, rows, url, write_kept
from worker.scan.inputs.records import ArchivedPage, BrokenRecord

GOOD = jsonl(rows(3))


def test_an_offset_counts_the_unpacked_bytes_before_the_line(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf\n \r\n" + GOOD.replace(b"\n", b"\r\n").rstrip()
    pages = pages_of(archive_of(put(tmp_path, "a", content)))
    assert [page.id for page in pages] == ["n0", "n1", "n2"]
    for page in pages:
        assert content[page.place.offset :].startswith(b'{"id": "%s"' % page.id.encode())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"url": "https://host.example/", "html": "a', "no-json"),
        (b"here is no JSON", "no-json"),
        (b'{"url": "https://host.example/", "html": "\xff\xfe"}', "no-json"),
        (b"[" * 100_000, "no-object"),
        (b'{"html":' + b"[" * 100_000, "no-json"),
        (b'["https://host.example/", "a"]', "no-object"),
        (b"17", "no-object"),
        (b'{"url": "https://host.example/"}', "no-body"),
        (b'{"url": "https://host.example/", "html": null}', "no-body"),
        (b'{"url": "https://host.example/", "html": {"a": 1}}', "no-body"),
        (b'{"url": "https://host.example/", "html": "' + b"a" * 1_000_000 + b'"}', "too-large"),
    ],
)
def test_a_line_that_is_no_page_is_named_and_the_next_is_read(line: bytes, reason: str, tmp_path: Path) -> None:
    first, second, third = list(archive_of(put(tmp_path, "a", GOOD + line + b"\n" + GOOD)).records())[2:5]
    assert isinstance(first, ArchivedPage) and isinstance(third, ArchivedPage)
    assert isinstance(second, BrokenRecord) and second.reason == reason
    assert second.place.offset == len(GOOD)
    assert third.place.offset == len(GOOD) + len(line) + 1


def test_what_python_writes_and_json_does_not_know_is_read(tmp_path: Path) -> None:
    line = b'{"url": "https://host.example/", "html": "\\ud83d", "score": NaN}\n'
    page = pages_of(archive_of(put(tmp_path, "a", GOOD + line)))[-1]
    assert page.page.body == "\ud83d"


def test_an_empty_body_is_a_page(tmp_path: Path) -> None:
    assert (
        pages_of(archive_of(put(tmp_path, "a", GOOD + b'{"url": "http://a.example/", "html": ""}')))[-1].page.body == ""
    )


def test_the_fields_that_were_chosen_are_told(tmp_path: Path) -> None:
    archive = archive_of(put(tmp_path, "a", GOOD))
    assert archive.fields == {"url": "url", "body": "html", "id": "id", "fetched": "fetched_at"}
    assert pages_of(archive)[1].page.fetched == 1_700_000_001_000


def test_a_dot_leads_into_an_object(tmp_path: Path) -> None:
    content = jsonl({"meta": {"link": url(n), "a": {"b": html(n)}}} for n in range(2))
    archive = archive_of(put(tmp_path, "a", content), text="meta.a.b")
    assert archive.fields == {"url": "meta.link", "text": "meta.a.b"}
    assert [(page.page.url, page.page.text) for page in pages_of(archive)] == [(url(n), html(n)) for n in range(2)]
    assert [page.id for page in pages_of(archive)] == [url(0), url(1)]


def test_a_file_without_a_page_in_any_line_is_refused_with_the_next_move(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there are url, title; name one of them with --body-field"):
        archive_of(put(tmp_path, "a", jsonl([{"url": url(1), "title": "a"}])))
    with pytest.raises(
        UsageError, match=r"has no column 'boddy' \(--body-field\): there are id, url, html, fetched_at"
    ):
        archive_of(put(tmp_path, "a", GOOD), body="boddy")


def test_a_damaged_first_line_hides_no_other_one(tmp_path: Path) -> None:
    archive = archive_of(put(tmp_path, "a", b"\xff\x00{" + GOOD * 4))
    assert len(pages_of(archive)) == 11 and [one.place.offset for one in broken_of(archive)] == [0]


def test_an_array_is_read_as_scrapy_writes_it_and_a_copy_is_one(tmp_path: Path) -> None:
    content = b"[\n" + GOOD.replace(b"\n", b",\n")[:-2] + b"\n]\n"
    archive = archive_of(put(tmp_path, "items.json.gz", gzip.compress(content)))
    assert archive.form == "json+gz" and archive.fields["body"] == "html"
    pages = pages_of(archive)
    assert [page.id for page in pages] == ["n0", "n1", "n2"]
    for page in pages:
        assert content[page.place.offset :].startswith(b'{"id": "%s"' % page.id.encode())
    for kept in (["n0", "n1", "n2"], ["n1"], []):
        write_kept(archive, tmp_path / "copy", lambda page, kept=kept: page.id in kept)  # type: ignore[misc]
        found = json.loads(gzip.decompress((tmp_path / "copy").read_bytes()))
        assert [row["id"] for row in found] == kept
        assert len(kept) < 3 or gzip.decompress((tmp_path / "copy").read_bytes()) == content


def test_an_array_of_no_element_has_no_pages_and_one_of_no_object_is_refused(tmp_path: Path) -> None:
    archive = archive_of(put(tmp_path, "a", b"[\n]\n"))
    assert archive.form == "json" and list(archive.records()) == []
    with pytest.raises(UsageError, match="has no element that is a JSON object"):
        archive_of(put(tmp_path, "a", b'["a"]'))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32-le"])
def test_rows_in_wide_characters_are_read_and_copied_in_them(encoding: str, tmp_path: Path) -> None:
    for content in (GOOD, b"[\n" + GOOD.replace(b"\n", b",\n")[:-2] + b"\n]\n"):
        wide = content.decode().encode(encoding)
        archive = archive_of(put(tmp_path, "a", wide))
        assert [page.page.body for page in pages_of(archive)] == [html(number) for number in range(3)]
        write_kept(archive, tmp_path / "copy", lambda page: True)
        assert (tmp_path / "copy").read_bytes() == wide
        write_kept(archive, tmp_path / "copy", lambda page: page.id != "n0")
        assert [page.id for page in pages_of(archive_of(tmp_path / "copy"))] == ["n1", "n2"]


def test_a_line_in_an_encoding_that_is_not_named_is_no_json_and_is_read_when_it_is_named(tmp_path: Path) -> None:
    path = put(tmp_path, "a", GOOD + '{"url": "http://a.example/", "html": "Zürich"}'.encode("cp1252"))
    assert [one.reason for one in broken_of(archive_of(path))] == ["no-json"]
    path.write_bytes(path.read_bytes().decode("cp1252").encode("cp1252"))
    assert pages_of(archive_of(path, file_encoding="cp1252"))[-1].page.body == "Zürich"


def test_numbers_of_any_size_cost_no_page(tmp_path: Path) -> None:
    lines = [
        b'{"html": "a", "n": %s}\n' % number for number in (b"1e999", b"9" * 5000, b"-" + b"9" * 20_000, b"1" * 400)
    ]
    assert len(pages_of(archive_of(put(tmp_path, "a", b"".join(lines))))) == 4
