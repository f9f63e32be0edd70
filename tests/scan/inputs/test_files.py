"""Files that hold one page each."""

from __future__ import annotations

import gzip
from pathlib import Path

from crawler_plugin.wire.urls import canonical_url
from tests.scan.inputs.written import MOST, broken_of, html, pages_of, put
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.files import PageFiles
from worker.scan.inputs.find import find_archives


def test_the_files_of_a_folder_are_pages_in_the_order_of_their_paths(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    put(folder, "b/2.html", html(2).encode())
    put(folder, "b.html", html(3).encode())
    put(folder, "a ü/1.htm.gz", gzip.compress(html(1).encode()))
    put(folder, "b/notes", "Ein Satz.".encode("latin-1"))
    put(folder, ".hidden/x.html", html(9).encode())
    put(folder, "_SUCCESS", b"")
    put(folder, "picture.png", b"\x89PNG\r\n\x1a\n\0\0")
    put(folder, "large.html", b"<p>" + b"a " * MOST)
    put(folder, "cut.html.gz", gzip.compress(html(1).encode())[:-9])
    (archive,) = find_archives([str(folder)], Fields(), most_bytes=MOST)
    assert isinstance(archive, PageFiles) and archive.form == "files"
    pages = pages_of(archive)
    assert [page.id for page in pages] == ["a ü/1.htm.gz", "b/2.html", "b/notes", "b.html"]
    assert [page.page.url for page in pages] == [
        "file:///crawl/a%20%C3%BC/1.htm.gz",
        "file:///crawl/b/2.html",
        "file:///crawl/b/notes",
        "file:///crawl/b.html",
    ]
    assert all(canonical_url(page.page.url) == page.page.url for page in pages)
    assert pages[0].page.body == html(1).encode()
    assert [page.page.content_type for page in pages] == ["text/html", "text/html", "text/plain", "text/html"]
    assert [page.place for page in pages][1] == (str(folder / "b/2.html"), 0)
    assert {one.id: one.reason for one in broken_of(archive)} == {
        "cut.html.gz": "damaged",
        "large.html": "too-large",
        "picture.png": "no-page",
    }
    assert archive.passed_over == {"empty": 1, "hidden": 1}
    assert list(archive.records()) == list(archive.records())
    assert archive.bytes_read == archive.bytes_in_all


def test_a_file_that_is_gone_is_broken_and_the_next_is_read(tmp_path: Path) -> None:
    put(tmp_path, "a.html", html(1).encode())
    put(tmp_path, "b.html", html(2).encode())
    (archive,) = find_archives([str(tmp_path)], Fields(), most_bytes=MOST)
    (tmp_path / "a.html").unlink()
    assert [page.id for page in pages_of(archive)] == ["b.html"]
    assert [one.reason for one in broken_of(archive)] == ["damaged"]


def test_a_single_file_has_the_name_that_it_was_given(tmp_path: Path) -> None:
    path = put(tmp_path, "a.html", html(1).encode())
    (archive,) = find_archives([str(path)], Fields(), most_bytes=MOST)
    (page,) = pages_of(archive)
    assert (page.id, page.page.url) == (str(path), f"file://{path}")


def test_a_feed_and_other_xml_are_no_html_and_xhtml_as_browsers_save_it_is(tmp_path: Path) -> None:
    declared = b'<?xml version="1.0"?>\n'
    put(tmp_path, "pages/1.xml", declared + b"<rss><channel><title>News</title></channel></rss>")
    put(tmp_path, "pages/2", b"<feed><title>News</title></feed>")
    put(tmp_path, "pages/3.html", declared + b"<!DOCTYPE html><html><p>A page</html>")
    put(tmp_path, "pages/4.html", b"<p>A page")
    (archive,) = find_archives([str(tmp_path / "pages")], Fields(), most_bytes=MOST)
    types = [page.page.content_type for page in pages_of(archive)]
    assert types == ["application/xml", "application/xml", "text/html", "text/html"]
