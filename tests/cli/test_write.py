"""``python -m worker write``, as people call it: after a scan, killed, in parts, to an object store."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.object_store import bucket  # noqa: F401
from tests.scan.archives import some_pages, write_jsonl, write_parquet, write_warc
from tests.test_imports import ROOT
from worker.cli.main import main
from worker.cli.write import _move, _part
from worker.places import Folder
from worker.scan.writing.copy_paths import PROGRESS

pytestmark = pytest.mark.usefixtures("read_here")
PAGES = some_pages(5, 60)
PLAIN = ("--set", "page.processes=1", "--set", "index.memory_mb=9", "--no-report")


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a scan of three archives."""
    folder = tmp_path_factory.mktemp("archives")
    archives = (
        write_warc(PAGES[:20], folder / "a.warc.gz"),
        write_jsonl(PAGES[20:40], folder / "b.jsonl"),
        write_parquet(PAGES[40:], folder / "c.parquet"),
    )
    assert main(["scan", *map(str, archives), "--out", str(folder / "out"), "--write", "unique", *PLAIN]) == 0
    return folder / "out"


def verdicts(scanned: Path) -> list[str]:
    found: list[str] = pq.read_table(scanned / "verdicts.parquet").column("verdict").to_pylist()
    return found


def ids_in(folder: Path) -> list[str]:
    """The ids in the three copies, as other programs read them."""
    with (folder / "a.warc.gz").open("rb") as file:
        found = [
            one.rec_headers.get_header("WARC-Record-ID") for one in ArchiveIterator(file) if one.rec_type == "response"
        ]
    found += [json.loads(line)["id"] for line in (folder / "b.jsonl").read_bytes().splitlines()]
    return [*found, *pq.read_table(folder / "c.parquet").column("id").to_pylist()]


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and PROGRESS not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_it_writes_what_scan_writes_and_says_what_it_takes(
    scanned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    removed = tmp_path / "removed"
    assert main(["write", str(scanned), "--out", str(tmp_path / "out"), "--removed", str(removed)]) == 0
    told = capsys.readouterr()
    unique = verdicts(scanned).count("unique")
    assert told.out == f"{unique} of 60 pages stay, in 3 archives\n"
    assert "memory: up to 256 MiB for 60 verdicts" in told.err and "/a.warc.gz: " in told.err
    assert files(tmp_path / "out") == files(scanned / "unique")
    assert len(ids_in(tmp_path / "out")) == unique and len(ids_in(removed)) == 60 - unique
    assert main(["write", str(scanned), "--out", str(tmp_path / "out"), "--removed", str(removed)]) == 0
    assert "in 3 archives, 3 of them whole before" in capsys.readouterr().out
    assert main(["write", str(scanned), "--out", str(tmp_path / "out")]) == 4
    assert "was written with other decisions" in capsys.readouterr().err


@pytest.mark.parametrize("keep", ["longest", "newest", "shortest-url"])
def test_another_page_of_a_group_may_stay(keep: str, scanned: Path, tmp_path: Path) -> None:
    assert main(["write", str(scanned), "--out", str(tmp_path / keep), "--keep", keep]) == 0
    found = ids_in(tmp_path / keep)
    assert verdicts(scanned).count("unique") <= len(found) < 60


def test_killed_in_the_middle_it_goes_on_and_leaves_the_same_files(scanned: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "worker", "write", str(scanned), "--out", str(out)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (out / PROGRESS / "b.jsonl.json").exists():  # then the first archive is complete
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert main(command[3:]) == 0
    assert files(out) == files(scanned / "unique")
    assert [path for path in out.rglob("*") if path.suffix in (".tmp", ".lock")] == []


def test_parts_go_to_an_object_store_and_archives_are_read_from_there(
    bucket: str,  # noqa: F811
    scanned: Path,
    tmp_path: Path,
) -> None:
    here, there = str(scanned.parent), f"{bucket}/archives"
    for name in ("a.warc.gz", "b.jsonl", "c.parquet"):
        Folder(there).write(name, (scanned.parent / name).read_bytes())
    for name in ("summary.json", "verdicts.parquet"):
        Folder(f"{bucket}/judged").write(name, (scanned / name).read_bytes())
    for part in ("2/2", "1/2"):
        command = ["write", f"{bucket}/judged", "--out", f"{bucket}/kept", "--part", part, "--moved", f"{here}={there}"]
        assert main(command) == 0
    out = Folder(f"{bucket}/kept")
    found = {name: out.read(name) for name in out.names() if not name.startswith(PROGRESS)}
    assert found == files(scanned / "unique")


def test_what_does_not_go_together_is_a_usage_error(
    scanned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    for arguments, told in (
        ([str(tmp_path), "--out", out], "summary.json is not there or no JSON"),
        ([str(scanned), "--out", str(scanned)], "three places"),
        ([str(scanned), "--out", out, "--removed", out], "three places"),
        ([str(scanned), "--out", out, "--removed", f"{out}-2", "--duplicates", "tag"], "all pages stay"),
        ([str(scanned), "--out", out, "--duplicates", "revisit"], "only WARC has revisits"),
        (
            [str(scanned), "--out", str(scanned.parent)],
            "is read, and the pages that stay would",
        ),
        ([str(scanned), "--out", out, "--part", "3/2"], "no part such as 1/4"),
        ([str(scanned), "--out", out, "--moved", "old"], "does not say OLD=NEW"),
        ([str(scanned), "--out", out, "--moved", f"{scanned.parent}=/nowhere"], "/nowhere/a.warc.gz cannot be read"),
    ):
        assert main(["write", *arguments]) == 2
        assert told in capsys.readouterr().err
    (tmp_path / "summary.json").write_text('{"inputs": [{"name": 1}]}')
    assert main(["write", str(tmp_path), "--out", out]) == 2
    assert "does not say which archives were judged" in capsys.readouterr().err
    found = json.loads((scanned / "summary.json").read_bytes())
    for unique in ("[]", '{"unique": "three"}', '{"unique": null}'):
        (tmp_path / "summary.json").write_text(json.dumps(found | {"verdicts": json.loads(unique)}))
        shutil.copy(scanned / "verdicts.parquet", tmp_path)
        assert main(["write", str(tmp_path), "--out", out]) == 2
        assert "does not say how many pages are unique" in capsys.readouterr().err
    (tmp_path / "summary.json").write_text("[]")
    assert main(["write", str(tmp_path), "--out", out]) == 2


def test_parts_and_moves_are_read_as_they_are_written() -> None:
    assert (_part("1/1"), _part("3/12"), _move("a=b=c"), _move("s3://a=")) == (
        (1, 1), (3, 12), ("a", "b=c"), ("s3://a", "")
    )  # fmt: skip
