"""``python -m worker scan``, as people call it."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crawler_plugin.wire.outcomes import Verdict
from tests.scan.archives import some_pages, write_jsonl, write_warc
from tests.scan.inputs.written import with_codec
from tests.test_imports import ROOT
from worker.cli import _installed as installed
from worker.cli.main import main
from worker.cli.scan import _how_far
from worker.results.rows import read_line
from worker.scan.scan import Done
from worker.stopping import AskedToStop

pytestmark = pytest.mark.usefixtures("read_here")
PAGES = some_pages(5, 30)
PLAIN = ("--set", "page.processes=1", "--set", "index.memory_mb=9")


def rows(out: Path) -> list[Verdict]:
    return [read_line(line) for line in (out / "verdicts.jsonl").read_bytes().splitlines()]


def pipe_in(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_standard_input_is_scanned_and_people_are_told_what_came_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written = write_jsonl(PAGES, tmp_path / "pages").read_bytes() + b"no json\n"
    pipe_in(monkeypatch, written)
    out = tmp_path / "out"
    assert main(["scan", "-", "--out", str(out), *PLAIN]) == 0
    told = capsys.readouterr()
    assert "standard-input: jsonl; url from url, body from html, id from id" in told.err
    assert "memory: up to 9 MiB for the index" in told.err
    first, *others = told.out.splitlines()
    assert first == "30 pages"
    assert any(line.split()[-1] == "unique" for line in others)
    assert re.search(r"^ +1 +records that no page could be read from: no-json", told.out, re.MULTILINE)
    assert re.search(r"^ +1 +dead letters in all", told.out, re.MULTILINE)
    assert sorted(file.name for file in out.iterdir()) == [
        "dead-letters.jsonl", "report.html", "summary.json", "verdicts.jsonl", "verdicts.parquet",
    ]  # fmt: skip
    assert [row.id for row in rows(out)] == [f"<urn:page:{number}>" for number in range(30)]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["pages", "--out", ""], "argument --out: it is empty"),
        (["pages", "--out", "out", "--state", ""], "argument --state: it is empty"),
        (["", "--out", "out"], "argument INPUT: it is empty"),
        (["pages", "--out", "out", "--against", ""], "argument --against: it is empty"),
        (["x" * 5000, "--out", "out"], "x... cannot be looked at (File name too long)"),
        (["pages", "--out", "out", "--against", "x" * 5000], "x... cannot be looked at (File name too long)"),
        (["pages", "--out", "x" * 5000], "--out xxx"),
        (["pages", "--out", "out", "--state", "x" * 5000], "cannot be opened (File name too long)"),
        (["pages", "--out", "out", "--state", "pages"], "the state pages cannot be opened"),
        (["pages", "--out", "pages"], "--out pages: cannot be made"),
        (["pages", "--out", "out", "--url-field", ""], "no column '' (--url-field)"),
        (["pages", "--out", "out", "--encoding", ""], "--encoding : no encoding has this name"),
        (["pages", "--out", "o\udcff"], "argument --out: its bytes are not UTF-8: choose another name"),
        (["pages", "--out", "out", "--write", "all"], "argument --write"),
        (["pages", "--out", "out", "--set", "page.processes=-1"], "page.processes"),
        (["pages", "--out", "out", "--set", f"near.k={'9' * 5000}"], "near.k"),
        (["pages", "--out", "out", "--set", "near.threshold=nan"], "near.threshold"),
    ],
)
def test_an_argument_that_cannot_be_is_named_before_anything_is_judged(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    given: list[str],
    named: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(PAGES[:2], Path("pages"))
    assert main(["scan", *given]) == 2
    said = capsys.readouterr().err
    assert named in said and "Traceback" not in said
    assert not list(tmp_path.rglob("verdicts*"))


def test_what_is_piped_in_after_an_input_that_was_refused_is_what_is_scanned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    for content, code in ((b'{"score": 1}\n', 2), (write_jsonl(PAGES[:3], tmp_path / "pages").read_bytes(), 0)):
        pipe_in(monkeypatch, content)
        assert main(["scan", "-", "--out", str(out), "--no-report", *PLAIN]) == code
    assert len(rows(out)) == 3


def test_standard_input_that_was_interrupted_is_gone_on_with_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["scan", "-", "--out", str(tmp_path / "out"), "--no-report", *PLAIN]
    pipe_in(monkeypatch, write_jsonl(PAGES, tmp_path / "pages").read_bytes())
    with monkeypatch.context() as stopping:
        stopping.setattr(AskedToStop, "by_now", lambda asked: True)
        assert main(command) == 130
    pipe_in(monkeypatch, b"")
    assert main([*command, "--resume"]) == 0
    assert len(rows(tmp_path / "out")) == len(PAGES)


@pytest.mark.parametrize("named", [".", "*"])
def test_what_a_scan_writes_is_none_of_its_inputs_when_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(PAGES, Path("pages.jsonl"))
    command = ["scan", named, "--out", "out", "--no-report", *PLAIN]
    with monkeypatch.context() as stopping:
        stopping.setattr(AskedToStop, "by_now", lambda asked: True)
        assert main(command) == 130
    assert main([*command, "--resume"]) == 0
    assert len(rows(Path("out"))) == len(PAGES)
    assert json.loads(Path("out/summary.json").read_text())["dead_letters"] == {}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", ["scan", "fingerprint"])
def test_it_stops_while_a_server_does_not_answer(tmp_path: Path, command: str, number: signal.Signals) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"http://127.0.0.1:{mute.getsockname()[1]}/pages.jsonl"
        process = subprocess.Popen(
            [sys.executable, "-m", "worker", command, url, "--out", str(tmp_path / "out")],
            cwd=ROOT,
            env=os.environ | {"DEDUP_CONFIG": ""},
        )
        connection, _ = mute.accept()
        with connection:
            assert connection.recv(1)
            process.send_signal(number)
            assert process.wait(300) == 130


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_also_while_the_last_files_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    command = ["scan", str(write_jsonl(PAGES[:5], tmp_path / "pages")), "--out", str(tmp_path / "out"), *PLAIN]
    for name, told in (
        ("worker.scan.scan.summary", "--resume goes on"),
        (
            "worker.results.report.report.write_report",
            f"`python -m worker report {tmp_path / 'out'}` writes its report",
        ),
    ):
        with monkeypatch.context() as stopping:
            stopping.setattr(name, lambda *about, **more: signal.raise_signal(number))
            assert main([*command, "--resume"]) == 130
        assert told in capsys.readouterr().err
    assert len(rows(tmp_path / "out")) == 5
    assert (tmp_path / "out" / "summary.json").exists()


def test_a_report_that_fails_costs_no_verdict_and_is_made_again_by_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*given: object) -> None:
        raise RecursionError

    archive, out = tmp_path / "pages.jsonl", tmp_path / "out"
    archive.write_text('{"url": "http://a/", "text": "one two three four five"}\n')
    with monkeypatch.context() as patched:
        patched.setattr("worker.results.report.report.write_report", fails)
        assert main(["scan", str(archive), "--out", str(out), *PLAIN]) == 0
    told = capsys.readouterr()
    assert "1 page\n" in told.out
    assert f"RecursionError: ): `python -m worker report {out}` tries again" in told.err
    assert (out / "summary.json").is_file()
    assert main(["report", str(out), *PLAIN]) == 0
    assert (out / "report.html").is_file()


def test_what_could_not_be_read_counts_where_it_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = write_jsonl(PAGES[:2], tmp_path / "pages")
    with archive.open("ab") as file:
        file.write(b"no json\n")
    assert main(["scan", str(archive), "--out", str(tmp_path / "out"), "--no-report", "--strict", *PLAIN]) == 1
    assert "dead-letters.jsonl says which, and why" in capsys.readouterr().err


def test_what_came_before_is_compared_with(tmp_path: Path) -> None:
    old = write_warc(PAGES[:20], tmp_path / "old.warc.gz")
    new = write_jsonl(PAGES[:10], tmp_path / "new.jsonl")
    state = tmp_path / "state"
    quick = ("--no-report", *PLAIN)
    assert main(["scan", str(old), "--out", str(tmp_path / "1"), "--state", str(state), *quick]) == 0
    assert main(["scan", str(new), "--out", str(tmp_path / "2"), "--against", str(old), *quick]) == 0
    assert main(["scan", str(new), "--out", str(tmp_path / "3"), "--against", str(state), *quick]) == 0
    found = [(row.verdict, row.duplicate_of_id) for row in rows(tmp_path / "2")]
    assert found == [(row.verdict, row.duplicate_of_id) for row in rows(tmp_path / "3")]
    assert {verdict for verdict, _ in found} <= {"duplicate", "refetch", "dead"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("missing.warc",), "missing.warc"),
        (("pages", "--against", "kept", "--state", "kept"), "kept is named twice"),
        (("pages", "--out", "pages/out"), "name another folder"),
        (("pages", "--url-field", "nothing"), "nothing"),
        (("pages", "--encoding", "nothing"), "no encoding has this name"),
        (("pages", "--out", "s3://bucket/a"), "s3://bucket/a is a URL, and results are written to this machine"),
        ((), "INPUT"),
    ],
)
def test_what_cannot_be_scanned_is_a_usage_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(PAGES[:1], Path("pages"))
    Path("kept").mkdir()
    Path("kept/index.blocks").touch()
    assert main(["scan", "--out", "out", *arguments, *PLAIN]) == 2
    assert told in capsys.readouterr().err


def test_without_the_extra_the_command_that_installs_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = installed._is_installed
    monkeypatch.setattr(installed, "_is_installed", lambda package: package != "fsspec" and there(package))
    assert main(["scan", "pages", "--out", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert "fsspec" in told
    assert told.strip().endswith("pip install 'crawl-dedup[scan]'")


@pytest.mark.parametrize(
    ("done", "seconds", "size", "told"),
    [
        (Done(100, 30, 0, 5000), 2.0, 10_000, "100 pages, 30 of them copies, 50 a second, 50% of the files, 2 s left"),
        (
            Done(1, 0, 3, 0),
            0.0,
            10,
            "1 page, 0 of them copies, 3 records not readable, 1,000 a second, 0% of the files",
        ),
        (Done(7200, 0, 0, 1), 7200.0, 2, "7,200 pages, 0 of them copies, 1 a second, 50% of the files, 2 h 0 min left"),
        (Done(61, 0, 0, 1), 61.0, 2, "61 pages, 0 of them copies, 1 a second, 50% of the files, 1 min 1 s left"),
        (Done(5, 1, 0, 7), 1.0, None, "5 pages, 1 of them copies, 5 a second"),
    ],
)
def test_how_far_it_is_stands_in_a_line(done: Done, seconds: float, size: int | None, told: str) -> None:
    assert _how_far(done, Done(), seconds, size) == told


def test_pages_that_stay_and_cannot_be_written_are_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    urls, bodies = zip(*((page.url, page.body) for page in PAGES), strict=True)
    table = pa.table({"url": urls, "html": bodies, "more": ["a" * 99] * len(PAGES)})
    path = tmp_path / "pages.parquet"
    pq.write_table(table, path, row_group_size=10, use_dictionary=False, compression="none", write_page_checksum=True)
    column = pq.ParquetFile(path).metadata.row_group(1).column(2)
    content = bytearray(path.read_bytes())
    content[column.data_page_offset + column.total_compressed_size - 20] ^= 255
    path.write_bytes(content)
    out = tmp_path / "out"
    assert main(["scan", str(path), "--out", str(out), "--write", "unique", "--no-report", *PLAIN]) == 1
    unique = [row.offset for row in rows(out) if row.verdict == "unique"]
    lost = [offset for offset in unique if 10 <= offset < 20]
    assert pq.read_metadata(out / "unique/pages.parquet").num_rows == len(unique) - len(lost) and lost
    told = capsys.readouterr().err
    assert f"{len(lost)} pages that stay could not be written to" in told
    assert f"{len(lost)} pages that stay are not written: row group 1 cannot be read" in told
    assert json.loads((out / "summary.json").read_bytes())["not_written"] == len(lost)


def test_what_write_needs_is_tried_before_a_page_is_judged_also_when_it_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pa.table({"html": [page.body for page in PAGES], "more": ["a"] * len(PAGES)})
    pq.write_table(table, tmp_path / "pages")
    with_codec(tmp_path / "pages", "more", 3)  # LZO
    command = ["scan", str(tmp_path / "pages"), "--out", str(tmp_path / "out"), "--no-report", *PLAIN]
    for more in ([], ["--resume"]):
        assert main([*command, "--write", "unique", *more]) == 2
        assert "leave --write out" in capsys.readouterr().err
        assert not (tmp_path / "out/verdicts.jsonl").exists()
    assert main(command) == 0


def test_links_and_encodings_are_read_as_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, secret = tmp_path / "crawl", tmp_path / "secret.csv"
    folder.mkdir()
    secret.write_bytes("url,text\nhttp://a.example/,Zürich und Genève\n".encode("cp500"))
    (folder / "a.csv").symlink_to(secret)
    (folder / "b.html").write_text("<p>a page")
    command = ["scan", str(folder), "--no-report", *PLAIN]
    assert main([*command, "--out", str(tmp_path / "1")]) == 0
    assert len(rows(tmp_path / "1")) == 1 and "records passed over: link" in capsys.readouterr().out
    links = ["--follow-links", "--encoding", "cp500"]
    assert main([*command, "--out", str(tmp_path / "2"), *links]) == 0
    assert len(rows(tmp_path / "2")) == 2
    assert "a.csv: csv; url from url, text from text, in cp500" in capsys.readouterr().err
