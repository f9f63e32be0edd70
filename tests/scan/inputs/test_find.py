"""Inputs become archives, in their order."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from crawler_plugin.wire.errors import UsageError
from tests.scan.inputs.written import (
    MOST,
    PACKED,
    broken_of,
    csv_of,
    html,
    jsonl,
    pages_of,
    parquet,
    put,
    rows,
    warc_of,
)
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.find import find_archives
from worker.scan.inputs.opening import files_within
from worker.scan.inputs.records import BrokenRecord


def forms(*inputs: Path, fields: Fields = Fields()) -> list[str]:  # noqa: B008
    return [archive.form for archive in find_archives([str(one) for one in inputs], fields, most_bytes=MOST)]


def test_a_folder_is_its_pages_and_then_its_archives(tmp_path: Path) -> None:
    put(tmp_path, "z.html", html(1).encode())
    put(tmp_path, "b.warc", warc_of(1))
    put(tmp_path, "a/c.txt", csv_of(rows(1)))
    parquet(tmp_path / "a.parquet", rows(1))
    assert forms(tmp_path) == ["files", "csv", "parquet", "warc"]
    assert forms(tmp_path / "b.warc", tmp_path / "a", tmp_path / "b.warc") == ["warc", "csv", "warc"]
    with pytest.raises(UsageError, match="holds no file"):
        forms(put(tmp_path, "empty/.hidden", b"").parent)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "has no form that pages are read from: WARC, ARC"),
        (b'{\n"items": [{"url": "a"}]}', "is JSON, and neither an object a line nor an array of objects: .*jq -c"),
        (b'[{"url": "a"}]', "no column that seems to hold a page: there are url"),
        (b'["a", "b"]', "has no element that is a JSON object"),
        (jsonl([{"title": "a"}]), "no column that seems to hold a page"),
    ],
)
def test_a_file_without_pages_is_refused_where_it_was_named_and_broken_where_it_was_found(
    content: bytes, match: str, tmp_path: Path
) -> None:
    path = put(tmp_path, "a", content)
    put(tmp_path, "b.html", html(1).encode())
    with pytest.raises(UsageError, match=match):
        forms(path)
    for name in (tmp_path, tmp_path / "*"):
        archives = find_archives([str(name)], Fields(), most_bytes=MOST)
        assert len([page for archive in archives for page in pages_of(archive)]) == 1
        (broken,) = [one for archive in archives for one in broken_of(archive)]
        assert broken.reason == "no-page" and broken.place.file == str(path)


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        (b"PAR1 and nothing else", "is no whole Parquet file"),
        (PACKED[".zst"](jsonl(rows(9)))[:-30], "cannot be unpacked from its beginning on"),
        (PACKED[".xz"](b'{"text": "' + b"a" * 200_000)[:-40], "holds no whole line"),
    ],
)
def test_a_damaged_file_is_a_broken_record_also_where_it_was_named(content: bytes, detail: str, tmp_path: Path) -> None:
    archives = find_archives([str(put(tmp_path, "a", content))], Fields(), most_bytes=MOST)
    (broken,) = [one for archive in archives for one in archive.records()]
    assert isinstance(broken, BrokenRecord) and broken.reason == "damaged" and detail in broken.detail


def test_an_empty_file_is_no_fault(tmp_path: Path) -> None:
    (archive,) = find_archives([str(put(tmp_path, "part-1.jsonl", b""))], Fields(), most_bytes=MOST)
    assert list(archive.records()) == [] and archive.passed_over == {"empty": 1}


@pytest.mark.parametrize(("package", "content"), [("pyarrow.parquet", b"PAR1")])
def test_a_missing_package_is_named_also_within_a_folder(
    package: str, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "a", content)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=r"is not installed: pip install 'crawl-dedup\[scan\]'$"):
        forms(tmp_path)


def test_a_file_that_vanishes_while_a_folder_is_looked_through_costs_no_other_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "a.html", html(1).encode())
    put(tmp_path, "b.html", html(2).encode())
    listed = files_within(str(tmp_path))
    monkeypatch.setattr("worker.scan.inputs.find.files_within", lambda folder, without, follow_links: listed)
    (tmp_path / "a.html").unlink()
    (archive,) = find_archives([str(tmp_path)], Fields(), most_bytes=MOST)
    assert [page.id for page in pages_of(archive)] == ["b.html"]
    assert [one.reason for one in broken_of(archive)] == ["no-page"]


@pytest.mark.parametrize("name", ["a.warc.gz", "a.arc", "a.jsonl", "a.parquet"])
@pytest.mark.parametrize("content", [html(1).encode(), b"a text of nothing but words"])
def test_a_page_in_the_place_of_an_archive_is_an_error_that_names_both(
    name: str, content: bytes, tmp_path: Path
) -> None:
    path = put(tmp_path, name, content)
    put(tmp_path, "b.html", html(1).encode())
    with pytest.raises(UsageError, match=r"has the name of .*, but its content is one page of"):
        find_archives([str(path)], Fields(), most_bytes=MOST)
    (archive,) = find_archives([str(tmp_path)], Fields(), most_bytes=MOST)
    assert [page.id for page in pages_of(archive)] == ["b.html"]
    assert [one.reason for one in broken_of(archive)] == ["no-page"]
