"""Inputs are opened, on this machine and elsewhere."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import fsspec
import pytest

from crawler_plugin.wire.errors import Unavailable, UsageError
from tests.scan.inputs.written import MOST, html, jsonl, pages_of, parquet, put, rows, url, warc_of
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.find import find_archives
from worker.scan.inputs.opening import StoredFile, failing, files_within, matching, printable, stored


@pytest.fixture
def memory() -> fsspec.AbstractFileSystem:
    system = fsspec.filesystem("memory")
    system.store.clear()
    return system


def test_urls_are_read_as_files_are(memory: fsspec.AbstractFileSystem, tmp_path: Path) -> None:
    memory.pipe("/crawl/a.jsonl", jsonl(rows(2)))
    memory.pipe("/crawl/b.warc.gz", warc_of(2, packed=True))
    memory.pipe("/crawl/c/d.parquet", parquet(tmp_path / "d", rows(2)).read_bytes())
    memory.pipe("/crawl/c/e.html", html(1).encode())
    memory.pipe("/crawl/.hidden", html(1).encode())
    for inputs in (["memory://crawl"], ["memory:///crawl/*.html", "memory://crawl/*"]):
        if len(inputs) == 1:
            archives = find_archives(inputs, Fields(), most_bytes=MOST)
            assert [archive.form for archive in archives] == ["files", "jsonl", "warc+gz", "parquet"]
            assert [archive.below for archive in archives] == [
                "crawl", "crawl/a.jsonl", "crawl/b.warc.gz", "crawl/c/d.parquet",
            ]  # fmt: skip
            assert [page.page.url for page in pages_of(archives[0])] == ["file:///crawl/c/e.html"]
            for archive in archives[1:]:
                assert [page.page.url for page in pages_of(archive)] == [url(0), url(1)]
                assert archive.name.startswith("memory://")
                assert archive.bytes_read == archive.bytes_in_all != 0
        else:
            with pytest.raises(UsageError, match="no file matches"):
                find_archives(inputs, Fields(), most_bytes=MOST)


@pytest.mark.parametrize("name", ["memory://nothing.jsonl", "nothing.jsonl", "nowhere://a/b", "https://[a/b"])
def test_what_is_not_there_is_refused_with_the_next_move(name: str) -> None:
    with pytest.raises(UsageError, match=r"cannot be (read|opened) \(.*\): (name a file|install what)"):
        find_archives([name], Fields(), most_bytes=MOST)


@pytest.mark.parametrize(
    "where", ["ftp://user:secret@127.0.0.1:1/a.jsonl", "zip://a.jsonl::https://user:secret@127.0.0.1:1/a.zip"]
)
def test_no_password_in_the_url_of_an_input_is_shown(where: str) -> None:
    name = StoredFile(where, "a.jsonl", None).name
    assert name == where.replace("user:secret@", "")
    with pytest.raises(UsageError) as refused:
        find_archives([where], Fields(), most_bytes=MOST)
    assert "secret" not in str(refused.value)


def test_without_fsspec_a_url_is_refused_with_the_next_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(UsageError, match=r"needs fsspec, which is not installed: pip install 'crawl-dedup\[scan\]'$"):
        stored("s3://bucket/a.jsonl")


def test_a_glob_names_files_in_order_and_brackets_may_be_a_part_of_a_name(tmp_path: Path) -> None:
    for name in ("b/2.jsonl", "a/10.jsonl", "a/9.jsonl", "a[1].jsonl"):
        put(tmp_path, name, jsonl(rows(1)))
    below = [Path(name).relative_to(tmp_path).as_posix() for name in matching(str(tmp_path / "**/*.jsonl"))[0]]
    assert below == ["a/10.jsonl", "a/9.jsonl", "a[1].jsonl", "b/2.jsonl"]
    assert matching(str(tmp_path / "a[1].jsonl")) == ([str(tmp_path / "a[1].jsonl")], {})
    assert matching("https://host.example/a?b=*") == (["https://host.example/a?b=*"], {})


def test_a_pipe_is_refused_since_it_cannot_be_read_twice(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="pipe it in, and name it -"):
        stored(str(tmp_path / "pipe"))
    found = files_within(str(put(tmp_path, "a", b"<p>").parent))
    assert found.files[0].below.endswith("/a") and found.passed_over == {"special": 1}


def test_what_is_no_file_of_the_folder_is_passed_over_and_counted(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", put(tmp_path, "out/secret.html", b"<p>secret")
    put(inside, "b.html", b"<p>b")
    put(inside, ".git/config", b"a")
    put(inside, ".hidden", b"a")
    os.mkfifo(inside / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(inside / "socket"))
        (inside / "a.html").symlink_to(outside)
        (inside / "c").symlink_to(outside.parent)
        (inside / "circle").symlink_to(inside)
        (inside / "self").symlink_to(inside / "self")
        (inside / "gone").symlink_to(tmp_path / "nothing")
        others = {"hidden": 2, "broken-link": 2, "special": 2}
        found = files_within(str(inside))
        assert [file.below for file in found.files] == ["in/b.html"]
        assert found.passed_over == others | {"link": 3}
        found = files_within(str(inside), follow_links=True)
        assert [file.below for file in found.files] == ["in/a.html", "in/b.html", "in/c/secret.html"]
        assert found.passed_over == others | {"link": 1}
        (archive,) = find_archives([str(inside)], Fields(), most_bytes=MOST)
        assert archive.passed_over == others | {"link": 3} and [page.id for page in pages_of(archive)] == ["b.html"]
        assert archive.passed_over == others | {"link": 3}
    assert matching(str(inside / "**/*.html")) == ([str(inside / "b.html")], {"link": 3})
    assert matching(str(inside / "*"))[1] == {"link": 3, "broken-link": 2, "special": 2}
    with pytest.raises(UsageError, match=r"that is read \(1 of link; --follow-links reads links\)"):
        find_archives([str(inside / "a*")], Fields(), most_bytes=MOST)
    (named,) = find_archives([str(inside / "a.html")], Fields(), most_bytes=MOST)
    assert len(pages_of(named)) == 1, "what is named itself is read"


def test_what_a_pattern_passes_over_is_counted_beside_what_it_finds(tmp_path: Path) -> None:
    put(tmp_path, "a.jsonl", jsonl(rows(2)))
    (tmp_path / "b.jsonl").symlink_to(tmp_path / "a.jsonl")
    first, second = find_archives([str(tmp_path / "*.jsonl")], Fields(), most_bytes=MOST)
    assert len(pages_of(first)) == 2
    assert (second.form, second.passed_over, list(second.records())) == ("none", {"link": 1}, [])


def test_a_name_that_is_no_utf_8_can_be_read_and_printed(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff.html")
    put(tmp_path, name, html(1).encode())
    (archive,) = find_archives([str(tmp_path)], Fields(), most_bytes=MOST)
    (page,) = pages_of(archive)
    assert page.id == printable(name) == "\\xff.html"
    assert page.place.file.encode() and page.page.url.endswith("/%FF.html")


def test_a_disk_that_fails_is_no_damage_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reading = stored(str(put(tmp_path, "a", b"content"))).open()
    reading.close()
    with pytest.raises(Unavailable, match=r"cannot be read further .* run the same command again"):
        reading.read(1)
    assert failing("a", OSError(5, "Input/output error")).exit_code == 3
