"""``python -m worker fingerprint`` and ``judge``, as people call them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.scan.archives import some_pages, write_jsonl, write_warc
from tests.test_imports import ROOT
from worker.cli.main import main

PLAIN = ("--set", "page.processes=1", "--set", "index.memory_mb=9")
PAGES = some_pages(5, 30)


@pytest.mark.usefixtures("read_here")
def test_people_are_told_what_was_written_and_what_came_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = write_jsonl(PAGES, tmp_path / "pages.jsonl")
    with archive.open("ab") as file:
        file.write(b"no json\n")
    out, records = tmp_path / "out", tmp_path / "records"
    assert main(["fingerprint", str(archive), "--out", str(records), "--strict", *PLAIN]) == 1
    told = capsys.readouterr()
    assert "pages.jsonl: jsonl; url from url, body from html, id from id" in told.err
    assert "1 page or record could not be read: `judge` lists them" in told.err
    assert f"31 records in 1 file: all is in {records}" in told.out
    assert main(["fingerprint", str(archive), "--out", str(records), *PLAIN]) == 0
    assert "0 records in 0 files; 1 file was whole before" in capsys.readouterr().out
    assert main(["judge", f"{records}/*.parquet", "--out", str(out), "--lines", *PLAIN]) == 0
    told = capsys.readouterr()
    assert "31 records take 0 MiB if none is a copy" in told.err
    assert told.out.splitlines()[0] == "30 pages"


@pytest.mark.usefixtures("read_here")
def test_groups_and_report_are_the_same_with_and_without_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = write_jsonl(PAGES, tmp_path / "pages.jsonl")
    out, records = tmp_path / "out", tmp_path / "records"
    tracked = ("--set", "near.track_changes=true", *PLAIN)
    assert main(["fingerprint", str(archive), "--out", str(records), *tracked]) == 0
    assert main(["judge", str(records), "--out", str(out), "--lines", *tracked]) == 0
    seen = []
    for lines in (True, False):
        if not lines:
            (out / "verdicts.jsonl").unlink()
        capsys.readouterr()
        assert main(["groups", str(out), "--least", "1", *tracked]) == 0
        assert main(["report", str(out), *tracked]) == 0
        printed = capsys.readouterr().out
        assert printed.count("\n") > 2
        seen.append((printed, (out / "report.html").read_text()))
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("fingerprint", "missing.warc", "--out", "out"), "missing.warc"),
        (("judge", "missing.parquet", "--out", "out"), "missing.parquet"),
        (("judge", "pages", "--out", "out"), "cannot be read as records"),
        (("fingerprint", "pages", "--out", "o\udcff"), "argument --out: its bytes are not UTF-8: choose another name"),
        (("judge", "pages", "--out", "o\udcff"), "argument --out: its bytes are not UTF-8: choose another name"),
        (("judge", "pages", "--out", "s3://bucket/a", "--lines"), "--lines needs an --out on this machine"),
    ],
)
def test_what_cannot_be_done_is_a_usage_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(PAGES[:1], Path("pages"))
    assert main([*arguments, *PLAIN]) == 2
    assert told in capsys.readouterr().err


def test_stopped_by_ctrl_c_it_goes_on_with_the_file_that_was_not_whole(tmp_path: Path) -> None:
    names = [write_warc(PAGES[:10], tmp_path / "a.warc.gz"), write_warc(PAGES * 200, tmp_path / "b.warc.gz")]
    command = [sys.executable, "-m", "worker", "fingerprint", *map(str, names), "--out", str(tmp_path / "records")]
    command += ["--set", "page.processes=1"]
    process = subprocess.Popen(
        command, cwd=ROOT, env=os.environ | {"DEDUP_CONFIG": ""}, stderr=subprocess.PIPE, text=True
    )
    while not (tmp_path / "records" / "a.warc.gz.parquet").exists():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert "the same command goes on" in process.communicate()[1]
    assert process.returncode == 130
    assert [path.name for path in (tmp_path / "records").iterdir()] == ["a.warc.gz.parquet"]


@pytest.mark.usefixtures("read_here")
def test_read_judged_and_written_archives_hold_each_page_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warc, lines = write_warc(PAGES[:15], tmp_path / "a.warc.gz"), write_jsonl(PAGES[15:], tmp_path / "b.jsonl")
    records, out, kept = (str(tmp_path / name) for name in ("records", "out", "kept"))
    assert main(["fingerprint", str(warc), str(lines), "--out", records, *PLAIN]) == 0
    assert main(["judge", records, "--out", out, *PLAIN]) == 0
    assert main(["write", out, "--out", kept, "--removed", f"{kept}-not", *PLAIN]) == 0
    verdicts = pq.read_table(f"{out}/verdicts").select(["verdict", "file"]).to_pylist()
    stay = Counter(row["file"] for row in verdicts if row["verdict"] == "unique")
    assert len(verdicts) == 30 > sum(stay.values()) > 5

    def written(folder: str) -> list[int]:
        with Path(folder, "a.warc.gz").open("rb") as file:
            pages = sum(record.rec_type == "response" for record in ArchiveIterator(file))
        return [pages, len(Path(folder, "b.jsonl").read_bytes().splitlines())]

    assert written(kept) == [stay[str(warc)], stay[str(lines)]]
    assert written(f"{kept}-not") == [15 - stay[str(warc)], 15 - stay[str(lines)]]
    assert f"{sum(stay.values())} of 30 pages stay, in 2 archives" in capsys.readouterr().out


@pytest.mark.usefixtures("read_here")
def test_records_and_verdicts_lie_in_an_object_store(
    tmp_path: Path, bucket: str, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = write_jsonl(PAGES, tmp_path / "pages.jsonl")
    assert main(["fingerprint", str(archive), "--out", f"{bucket}/records", *PLAIN]) == 0
    assert main(["judge", f"{bucket}/records/*.parquet", "--out", f"{bucket}/out", *PLAIN]) == 0
    assert "30 pages" in capsys.readouterr().out
