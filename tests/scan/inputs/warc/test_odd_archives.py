"""Odd files are read as another reader reads them, except for stated reasons; each record is accounted for."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.scan.inputs.warc.odd_archives import OddArchive, odd_archives
from tests.scan.inputs.written import archive_of, broken_of, content_of, pages_of, put

ALL = odd_archives()
TEXT = ("text/html", "text/plain", "application/xhtml+xml", "")


def pages_by_warcio(content: bytes) -> int:
    """How many pages warcio finds, by the same rule; -1 where it gives up."""
    pages = 0
    try:
        for record in ArchiveIterator(io.BytesIO(content), arc2warc=True):
            headers, body = record.http_headers, record.content_stream().read()
            url = record.rec_headers.get_header("WARC-Target-URI") or ""
            said = (headers or record.rec_headers).get_header("Content-Type") or ""
            is_page = url.startswith("http") and said.lower() in TEXT and bool(body)
            match record.rec_type:
                case "response":
                    pages += is_page and headers is not None and headers.get_statuscode() == "200"
                case "resource" | "conversion":
                    pages += is_page
    except Exception:
        return -1
    return pages


def test_there_are_more_than_fifty_and_each_time_the_same() -> None:
    assert len(ALL) > 50 and len({odd.name for odd in ALL}) == len(ALL)
    assert odd_archives() == ALL


@pytest.mark.parametrize("odd", ALL, ids=lambda odd: odd.name)
def test_every_record_of_an_odd_file_is_a_page_or_passed_over_or_a_dead_letter(odd: OddArchive, tmp_path: Path) -> None:
    archive = archive_of(put(tmp_path, odd.name, odd.content))
    pages = pages_of(archive)
    assert Counter(one.reason for one in broken_of(archive)) == odd.dead
    assert archive.passed_over == odd.passed_over
    assert len(pages) == odd.pages
    assert all(content_of(page).strip() for page in pages), "no body is lost"
    assert list(archive.records()) == list(archive.records()), "which resuming relies on"


@pytest.mark.parametrize("odd", ALL, ids=lambda odd: odd.name)
def test_an_independent_reader_finds_as_many_pages_unless_there_is_a_reason(odd: OddArchive) -> None:
    assert (pages_by_warcio(odd.content) == odd.pages) is not bool(odd.warcio)
