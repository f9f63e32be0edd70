"""Archives are found again by their written references."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path

import msgspec
import pytest

from crawler_plugin.wire.errors import UsageError
from tests.scan.inputs.written import MOST, PACKED, csv_of, html, jsonl, pages_of, parquet, put, rows, warc_of
from worker.scan.inputs.archive_ref import ArchiveRef, now_at
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.find import find_archives
from worker.scan.inputs.records import Archive


def found(*inputs: Path, fields: Fields | None = None) -> list[Archive]:
    return find_archives([str(one) for one in inputs], fields or Fields(), most_bytes=MOST)


def written_down(archive: Archive) -> ArchiveRef:
    return msgspec.json.decode(msgspec.json.encode(ArchiveRef.of(archive).with_pages(3)), type=ArchiveRef)


def test_every_form_is_opened_again_with_the_same_pages(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    put(folder, "a.warc.gz", warc_of(3, packed=True))
    put(folder, "b.jsonl.zst", PACKED[".zst"](jsonl(rows(3))))
    put(folder, "c.csv", csv_of(rows(3)))
    parquet(folder / "d.parquet", rows(3))
    with zipfile.ZipFile(folder / "e.wacz", "w") as wacz:
        wacz.writestr("archive/data.warc.gz", warc_of(2, packed=True))
        wacz.writestr("archive/more.warc", warc_of(1))
    put(folder, os.fsdecode(b"f\xff.jsonl"), jsonl(rows(2)))
    archives = found(folder)
    assert len(archives) == 7
    for archive in archives:
        again = written_down(archive).archive(MOST)
        assert [page.place for page in pages_of(again)] == [page.place for page in pages_of(archive)]
        assert (again.form, again.fields) == (archive.form, archive.fields)


def test_fields_and_encoding_that_the_user_named_are_those_again(tmp_path: Path) -> None:
    table = [{"where": "http://a.example/", "content": "Zürich", "url": "http://b.example/"}]
    path = put(tmp_path, "a.csv", csv_of(table).decode().encode("windows-1252"))
    (archive,) = found(path, fields=Fields(url="where", text="content", file_encoding="windows-1252"))
    (page,), (again,) = pages_of(archive), pages_of(written_down(archive).archive(MOST))
    assert again == page and page.page.url == "http://a.example/"


def test_pages_that_are_files_are_known_as_such(tmp_path: Path) -> None:
    put(tmp_path, "in/a.html", html(1).encode())
    (folder,) = found(tmp_path / "in")
    (file,) = found(tmp_path / "in/a.html")
    assert [(ref.is_files, ref.is_folder) for ref in map(written_down, (folder, file))] == [(True, True), (True, False)]


def test_an_archive_that_has_moved_is_found_there(tmp_path: Path) -> None:
    path = put(tmp_path, "old/a.jsonl", jsonl(rows(3)))
    (archive,) = found(path)
    shutil.move(tmp_path / "old", tmp_path / "new")
    ref = written_down(archive)
    with pytest.raises(UsageError, match=r"old/a.jsonl cannot be read \(No such file or directory\)"):
        ref.archive(MOST)
    moved = ref.moved({str(tmp_path): "/nowhere", f"{tmp_path}/old": f"{tmp_path}/new"}).archive(MOST)
    assert moved.name == f"{tmp_path}/new/a.jsonl" and len(pages_of(moved)) == 3
    assert now_at("s3://a/b", {"s3://a": "/mnt"}) == "/mnt/b"


@pytest.mark.parametrize("content", [jsonl(rows(4)), csv_of(rows(3)), b"\0" * 64])
def test_one_that_is_another_one_now_is_refused(content: bytes, tmp_path: Path) -> None:
    path = put(tmp_path, "a", jsonl(rows(3)))
    ref = written_down(found(path)[0])
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"a is not the file that was judged, jsonl of \d+ bytes: put back that file"):
        ref.archive(MOST)
    with zipfile.ZipFile(tmp_path / "b.wacz", "w") as wacz:
        wacz.writestr("archive/data.warc", warc_of(2))
    ref = written_down(found(tmp_path / "b.wacz")[0])
    with zipfile.ZipFile(tmp_path / "b.wacz", "w") as wacz:
        wacz.writestr("archive/other.warc", warc_of(2))
    with pytest.raises(UsageError, match=r"b.wacz any more: put back the file that was judged"):
        ref.archive(MOST)
