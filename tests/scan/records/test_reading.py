"""Records that a program makes batch by batch equal those of the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scan.archives import some_pages, write_jsonl, write_warc
from worker import records
from worker.config import Settings
from worker.local import FetchedPage
from worker.page.canonical import canonical_link
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.find import find_archives
from worker.scan.inputs.records import ArchivedPage, RecordPlace
from worker.scan.records.reading import reading_by_processes, reading_here

SETTINGS = Settings.model_validate({"page": {"processes": 1}})


@pytest.mark.usefixtures("read_here")
def test_archives_give_the_same_records_by_batches_as_by_the_command(tmp_path: Path) -> None:
    pages = some_pages(2, 40)
    lines = write_jsonl(pages[:20], tmp_path / "a.jsonl")
    with lines.open("a", encoding="utf-8") as file:
        file.write('no json\n{"url": "http://half.example/\\ud800", "text": "half of a pair"}\n')
        file.write('{"url": "x", "text": "y"}\n')
    names = [str(lines), str(write_warc(pages[20:], tmp_path / "b.warc.gz"))]
    with reading_by_processes(SETTINGS) as reading:
        found = [record for one in find_archives(names, Fields(), most_bytes=1 << 20) for record in one.records()]
        expected = [row for batch in reading.batches(found) for row in batch.to_pylist()]
    batches = [records.fingerprint(batch) for batch in records.pages(*names)]
    assert [row for batch in batches for row in batch.to_pylist()] == expected
    assert len(expected) == 43
    assert [row["dead"] is None for row in expected[20:23]] == [False] * 3
    assert {row["scheme"] for row in expected} == {reading.scheme.id.hex()}
    assert all(batch.schema.equals(records.SCHEMA) for batch in batches)


OWN = (
    '<html><head><title>t</title><link rel="canonical" href="{}"></head><body><p>one two three four five</body></html>'
)
NAMING: dict[str, tuple[bytes | str, str | None]] = {
    "absolute": (OWN.format("https://a.example/1").encode(), "text/html"),
    "relative": (OWN.format("../own?c=1").encode(), "text/html"),
    "in a text": (OWN.format("/own?c=1"), None),
    "of other letters": (OWN.format("/\u0444").encode(), "text/html"),
    "in another encoding": (OWN.format("/\u0444").encode("cp1251"), "text/html; charset=windows-1251"),
    "in UTF-16": (OWN.format("/own").encode("utf-16"), "text/html"),
    "behind a mark": (b"\xef\xbb\xbf" + OWN.format("/own").encode(), "text/html"),
    "with a NUL": (OWN.format("/o\0wn").encode(), "text/html"),
    "none": (b"<html><head><title>t</title></head><p>one two three four five", "text/html"),
    "very long": (OWN.format("/" + "own" * 30_000).encode(), "text/html"),
    "XML": (b"<rss><channel>" + OWN.format("/own").encode() + b"</channel></rss>", "application/rss+xml"),
    "no markup": (OWN.format("/own").encode(), "text/plain"),
    "no text": (OWN.format("/own").encode(), "application/pdf"),
    "a frame": (OWN.format("/own").encode() + b'<iframe srcdoc="<link rel=canonical href=/2>x"></iframe>', "text/html"),
    "empty": (b"", "text/html"),
}


@pytest.mark.parametrize("url", ["https://a.example/b/c", "HTTP://A.example/b/../c?b=1&a=2#d"])
def test_a_record_has_the_url_that_the_page_names_whoever_reads_that(url: str) -> None:
    pages = {name: FetchedPage(url, body, content_type=kind) for name, (body, kind) in NAMING.items()}
    found = [ArchivedPage(RecordPlace("a", number), name, pages[name]) for number, name in enumerate(pages)]
    rows = [row for batch in reading_here(SETTINGS).batches(found) for row in batch.to_pylist()]
    expected = {name: canonical_link(page.body, url) if page.body else None for name, page in pages.items()}
    assert {row["id"]: row["canonical"] for row in rows} == expected
    assert rows[0]["canonical"] == "https://a.example/1"


def test_a_page_that_names_a_scope_has_it_in_its_record_though_no_setting_reads_headers() -> None:
    named: tuple[dict[str, str], ...] = ({}, {"dedup-scope": "shop-7"}, {"spider": "news"})
    found = [
        ArchivedPage(RecordPlace("a", number), str(number), FetchedPage("https://a.example/", b"one two", headers=told))
        for number, told in enumerate(named)
    ]
    rows = [row for batch in reading_here(SETTINGS).batches(found) for row in batch.to_pylist()]
    assert [row["scope"] == 0 for row in rows] == [True, False, True]
