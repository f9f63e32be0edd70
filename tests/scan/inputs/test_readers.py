"""Readers that other distributions bring: their pages are those of the scan, and survivors are the bytes they name."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Final

import pytest

from crawler_plugin.wire.errors import UsageError
from worker.local.page import FetchedPage
from worker.scan.inputs import readers
from worker.scan.inputs.opening import stored
from worker.scan.inputs.readers import ExtraFile
from worker.scan.inputs.records import ArchivedPage, BrokenRecord, Fate
from worker.scan.inputs.unpacking import GZIP

ROOT: Final = Path(__file__).resolve().parents[3]
EXAMPLE: Final = ROOT / "examples" / "reader"
FERRY: Final = "The ferry leaves the island at nine and comes back when the harbour bell has rung twelve times."
OTHER: Final = "Nobody on the mainland remembers who built the lighthouse, or for which ships its lamp was lit."


class Lines:
    """A page a line: its URL, a space, its text."""

    def begins(self, beginning: bytes) -> bool:
        return beginning.startswith(b"http://")

    def pages(self, pieces: Iterable[bytes]) -> Iterator[tuple[bytes, FetchedPage]]:
        for line in b"".join(pieces).splitlines(keepends=True):
            url, _, text = line.decode().partition(" ")
            if not text:
                raise ValueError(f"no text behind {url!r}")
            yield line, FetchedPage(url, text=text)


def lines_in(folder: Path, content: bytes, most_bytes: int = 1000, *, packed: bool = False) -> ExtraFile:
    file = folder / "pages.lines"
    file.write_bytes(gzip.compress(content) if packed else content)
    return ExtraFile(stored(str(file)), GZIP if packed else None, most_bytes, "lines", Lines())


def test_pages_come_with_the_offset_of_their_bytes(tmp_path: Path) -> None:
    file = lines_in(tmp_path, b"http://a.example/ one\nhttp://b.example/ two\n", packed=True)
    found = [record for record in file.records() if isinstance(record, ArchivedPage)]
    assert [(page.place.offset, page.id, page.page.text) for page in found] == [
        (0, "http://a.example/", "one\n"),
        (22, "http://b.example/", "two\n"),
    ]
    assert file.form == "lines+gz"


def test_bytes_of_no_page_are_written_whichever_pages_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"the head\nhttp://a.example/ one\nhttp://b.example/ two\n"
    file = lines_in(tmp_path, content)
    lines = Lines.pages

    def headed(reader: Lines, pieces: Iterable[bytes]) -> Iterator[tuple[bytes, FetchedPage | None]]:
        head, _, rest = b"".join(pieces).partition(b"\n")
        yield head + b"\n", None
        yield from lines(reader, [rest])

    monkeypatch.setattr(Lines, "pages", headed)
    assert [record.place.offset for record in file.records()] == [9, 31]

    class SecondStays:
        def of(self, page: ArchivedPage) -> Fate:
            return Fate(page.id == "http://b.example/", None)

    kept, removed = tmp_path / "kept", tmp_path / "removed"
    file.write_parts(kept, removed, SecondStays())  # type: ignore[arg-type]
    assert kept.read_bytes() == b"the head\nhttp://b.example/ two\n"
    assert removed.read_bytes() == b"the head\nhttp://a.example/ one\n"


def test_where_a_reader_cannot_read_on_the_rest_is_one_dead_letter(tmp_path: Path) -> None:
    file = lines_in(tmp_path, b"http://a.example/ one\nhttp://b.example/\nhttp://c.example/ three\n")
    page, broken = file.records()
    assert isinstance(page, ArchivedPage)
    assert isinstance(broken, BrokenRecord)
    assert (broken.reason, broken.place.offset) == ("damaged", 22)
    assert "no text behind" in broken.detail


def test_a_reader_that_fails_is_named_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = lines_in(tmp_path, b"http://a.example/ one\n")

    def fails(reader: Lines, pieces: Iterable[bytes]) -> Iterator[tuple[bytes, FetchedPage]]:
        raise KeyError("nothing")

    monkeypatch.setattr(Lines, "pages", fails)
    with pytest.raises(UsageError, match=r"the reader lines failed on .*pages\.lines, from byte 0 on \(KeyError"):
        list(file.records())


def test_damage_is_one_too(tmp_path: Path) -> None:
    file = lines_in(tmp_path, b"http://a.example/ one\n" * 1000, packed=True)
    whole = (tmp_path / "pages.lines").read_bytes()
    (tmp_path / "pages.lines").write_bytes(whole[:-20])
    assert [record.reason for record in file.records() if isinstance(record, BrokenRecord)] == ["damaged"]


def test_a_page_of_too_many_bytes_is_one_and_those_behind_it_are_read(tmp_path: Path) -> None:
    long = b"http://b.example/ " + b"x" * 100 + b"\n"
    file = lines_in(tmp_path, b"http://a.example/ one\n" + long + b"http://c.example/ three\n", 50)
    kinds = [record.reason if isinstance(record, BrokenRecord) else record.id for record in file.records()]
    assert kinds == ["http://a.example/", "too-large", "http://c.example/"]


def test_there_is_no_room_for_marks(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="without --duplicates tag"):
        lines_in(tmp_path, b"").marked(b"", Fate(True, "unique"))


def test_a_reader_that_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("lines", "not_there:Lines", readers.GROUP)
    monkeypatch.setattr(readers, "entry_points", lambda group: [entry])
    readers.readers.cache_clear()
    try:
        with pytest.raises(UsageError, match=r"the reader lines \(not_there:Lines\) cannot be loaded"):
            readers.readers()
    finally:
        readers.readers.cache_clear()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """One in which the example is installed."""
    folder = tmp_path / "installed"
    info = folder / "crawl_dedup_trec_web-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: crawl-dedup-trec-web\nVersion: 1\n")
    told = (EXAMPLE / "pyproject.toml").read_text().partition("entry-points.")[2]
    group, _, names = told.partition("]\n")
    (info / "entry_points.txt").write_text(f"[{group.strip(chr(34))}]\n{names.partition('[')[0]}".replace('"', ""))
    (folder / "trec_web.py").write_bytes((EXAMPLE / "trec_web.py").read_bytes())
    return {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}


def test_the_example_has_its_form_scanned_and_its_survivors_written(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    documents = [
        f"<DOC>\n<DOCNO>WTX-{number}</DOCNO>\n<DOCHDR>\n{url} 1.2.3.4\nContent-type: text/html\n</DOCHDR>\n"
        f"<html><body><p>{text}</p></body></html>\n</DOC>\n".encode()
        for number, (url, text) in enumerate(
            [("http://a.example/", FERRY), ("http://b.example/", OTHER), ("http://c.example/", FERRY)]
        )
    ]
    (tmp_path / "wt.trec.gz").write_bytes(gzip.compress(b"".join(documents)))

    def worker(*arguments: str) -> None:
        command = [sys.executable, "-m", "worker", *arguments]
        ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr

    worker("scan", "wt.trec.gz", "--out", "scanned", "--no-report")
    verdicts = [json.loads(line) for line in (tmp_path / "scanned" / "verdicts.jsonl").read_text().splitlines()]
    assert [(row["id"], row["url"], row["verdict"]) for row in verdicts] == [
        ("WTX-0", "http://a.example/", "unique"),
        ("WTX-1", "http://b.example/", "unique"),
        ("WTX-2", "http://c.example/", "duplicate"),
    ]
    worker("write", "scanned", "--out", "stay")
    assert gzip.decompress((tmp_path / "stay" / "wt.trec.gz").read_bytes()) == b"".join(documents[:2])
