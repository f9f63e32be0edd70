"""Archives are scanned, interrupted, continued, and compared with earlier pages."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest

from crawler_plugin.wire.errors import Refused, Unavailable, UsageError
from crawler_plugin.wire.outcomes import Verdict
from tests.local.crawled import network, shop
from tests.scan.archives import some_pages, write_jsonl
from tests.scan.inputs.row_files import row_files
from tests.scan.inputs.warc.odd_archives import odd_archives
from tests.test_imports import ROOT
from worker.config import Settings
from worker.local import Deduplicator
from worker.results.report.report import write_report
from worker.results.rows import read_line
from worker.scan.checkpoint import ScanPlan
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.find import find_archives
from worker.scan.scan import Done, Task, begun, scan
from worker.scan.summary import OF_TIME

pytestmark = pytest.mark.usefixtures("read_here")
PAGES: Final = some_pages(11, 120)


def settings(processes: int = 1) -> Settings:
    plain = {"page": {"processes": processes}, "index": {"memory_mb": 0}}
    return Settings.model_validate(plain)


class Killed(Exception):
    """The process ends here."""


def killed_at(page: int) -> Callable[[Done], None]:
    """Ends a scan once it has reported this many pages or more."""

    def told(done: Done) -> None:
        if done.pages >= page:
            raise Killed

    return told


def task(folder: Path, *new: Path, old: tuple[Path, ...] = (), **more: Any) -> Task:
    folder.mkdir(exist_ok=True)

    def found(paths: tuple[Path, ...]) -> Any:
        return find_archives([str(path) for path in paths], Fields(), most_bytes=1 << 20) if paths else []

    return Task(folder=folder, old=found(old), new=found(new), fields={}, **more)


def run(
    chosen: Task,
    resume: bool = False,
    processes: int = 1,
    tell: Callable[[Done], None] = lambda done: None,
    stop: Callable[[], bool] = lambda: False,
) -> dict[str, Any] | None:
    return scan(chosen, settings(processes), begun(chosen.folder, resume), stop, tell)


def after(asked: int) -> Callable[[], bool]:
    """A check by which a scan stops after ``asked`` calls."""
    times = iter(range(asked))
    return lambda: next(times, None) is None


def rows(folder: Path) -> list[Verdict]:
    return [read_line(line) for line in (folder / "verdicts.jsonl").read_bytes().splitlines()]


def files(folder: Path) -> dict[str, bytes]:
    """All files for a comparison: Parquet files by their rows, the summary without its times."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {name: content(path) for name, path in found.items()}


def content(path: Path) -> bytes:
    if path.suffix == ".parquet":
        return repr(pq.read_table(path).to_pylist()).encode()
    if path.name != "summary.json":
        return path.read_bytes()
    summary: dict[str, Any] = json.loads(path.read_text())
    return repr({name: value for name, value in summary.items() if name not in OF_TIME}).encode()


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("archives")
    first = write_jsonl(PAGES[:80], folder / "first.jsonl")
    second = write_jsonl(PAGES[80:], folder / "second.jsonl")
    with second.open("ab") as file:
        file.write(b"no json\n[]\n")
    return first, second


@pytest.fixture(scope="module")
def whole(archives: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of a scan that is never interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    assert run(task(folder, *archives, write=True)) is not None
    return folder


def test_rows_say_what_a_deduplicator_says_of_the_same_pages(whole: Path, archives: tuple[Path, Path]) -> None:
    found = rows(whole)
    with Deduplicator(config=settings()) as local:
        verdicts = [local.judge(page.url, page.body) for page in PAGES]
    assert [(row.url, row.verdict, row.duplicate_of, row.distance, row.reason, row.fingerprint) for row in found] == [
        (each.url, each.verdict, each.duplicate_of, each.distance, each.reason, each.fingerprint) for each in verdicts
    ]
    assert [row.id for row in found[80:]] == [f"<urn:page:{number}>" for number in range(len(PAGES) - 80)]
    survivors = {(row.url, row.id) for row in found if row.verdict == "unique"}
    copies = [row for row in found if row.duplicate_of is not None]
    assert len(copies) > 20
    assert {(row.duplicate_of, row.duplicate_of_id) for row in copies} <= survivors
    assert pq.read_table(whole / "verdicts.parquet").num_rows == len(found)
    assert sorted(path.name for path in whole.iterdir()) == [
        "dead-letters.jsonl", "summary.json", "unique", "verdicts.jsonl", "verdicts.parquet",
    ]  # fmt: skip


def test_the_summary_adds_up(whole: Path) -> None:
    found = json.loads((whole / "summary.json").read_text())
    assert found["pages"] == len(PAGES) == sum(found["verdicts"].values())
    assert found["dead_letters"]["no-json"] == found["dead_letters"]["no-object"] == 1
    kept = [json.loads(line) for file in (whole / "unique").glob("*.jsonl") for line in file.read_bytes().splitlines()]
    assert len(kept) == found["verdicts"]["unique"]
    assert found["settings"]["near.k"] == 3
    assert [archive["pages"] for archive in found["archives"]] == [80, 40]
    assert found["records"] == found["pages"] + 2 == sum(archive["records"] for archive in found["archives"])
    assert [archive["dead_letters"] for archive in found["archives"]] == [{}, found["dead_letters"]]
    assert found["seconds"] > 0 < found["pages_per_second"]


@pytest.mark.parametrize("at", [1, 40, 80, 81])
def test_killed_at_any_page_and_resumed_it_leaves_the_same_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, whole: Path, archives: tuple[Path, Path], at: int
) -> None:
    monkeypatch.setattr("worker.scan.records.parts.SECONDS", 0.0)

    out = tmp_path / "out"
    with pytest.raises(Killed):
        run(task(out, *archives, write=True), tell=killed_at(at))
    assert run(task(out, *archives, write=True), resume=True, processes=1 + (at == 40)) is not None
    assert files(out) == files(whole)


@pytest.mark.parametrize("keeps", [False, True])
def test_what_titles_told_is_known_wherever_a_scan_was_interrupted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, keeps: bool
) -> None:
    """Each of two shops has one text for all products. With ``keeps`` the scan begins with a state that has seen
    some."""
    monkeypatch.setattr("worker.scan.records.parts.SECONDS", 0.0)
    monkeypatch.setattr("worker.scan.records.reading.PAGES_AHEAD", 4)
    pages = network(products=40)
    first, second = (
        write_jsonl(pages[:20], tmp_path / "first.jsonl"),
        write_jsonl(pages[20:], tmp_path / "second.jsonl"),
    )
    state = tmp_path / "state"
    if keeps:
        assert run(task(tmp_path / "before", first, states=[state], keeps=True)) is not None
    chosen: dict[str, Any] = {"states": [state]} if keeps else {"old": (first,)}
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert run(task(whole, second, **chosen)) is not None
    for at in (1, 7, 12):
        with pytest.raises(Killed):
            run(task(out, second, **chosen), resume=True, tell=killed_at(at), processes=1 + (at == 7))
    assert run(task(out, second, **chosen), resume=True) is not None
    assert files(out) == files(whole)
    assert sum(row.verdict == "unique" for row in rows(whole)) == len(pages) - 20


@pytest.mark.parametrize("at", [1, 14])
def test_odd_archives_are_gone_on_with_at_any_record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, at: int) -> None:
    monkeypatch.setattr("worker.scan.records.parts.SECONDS", 0.0)
    chosen = ("length-trillion.warc.gz", "broken-member.warc.gz", "version-2.arc", "junk-between.arc", "http-lf.warc")
    odd = {one.name: one.content for one in odd_archives() if one.name in chosen}
    inputs = tmp_path / "in"
    inputs.mkdir()
    with zipfile.ZipFile(inputs / "a.wacz", "w", zipfile.ZIP_DEFLATED) as wacz:
        for name, content in odd.items():
            (inputs / name).write_bytes(content)
            wacz.writestr(f"archive/{name}", content)
        wacz.writestr("archive/page.warc", "<p>an error page</p>")
    (inputs / "a.mhtml").write_text("MIME-Version: 1.0\nContent-Type: text/html\n\n<p>a page that was saved</p>")

    whole, out = tmp_path / "whole", tmp_path / "out"
    assert run(task(whole, inputs, write=True)) is not None
    with pytest.raises(Killed):
        run(task(out, inputs, write=True), tell=killed_at(at))
    assert run(task(out, inputs, write=True), resume=True) is not None
    assert files(out) == files(whole)
    expected = [one for one in odd_archives() if one.name in chosen]
    assert len(rows(whole)) == 2 * sum(one.pages for one in expected) + 1
    dead = (whole / "dead-letters.jsonl").read_bytes().count(b"\n")
    assert dead == 2 * sum(sum(one.dead.values()) for one in expected) + 1
    assert (whole / "unique" / "in" / "a.wacz" / "length-trillion.warc.gz").exists()


@pytest.mark.parametrize("at", [1, 17])
def test_odd_files_of_rows_are_gone_on_with_at_any_record(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, at: int
) -> None:
    monkeypatch.setattr("worker.scan.records.parts.SECONDS", 0.0)
    chosen = {"cut.json", "stray quote.json", "utf 16.json", "stray quote.csv", "utf 16.csv", "nulls.parquet"}
    odd = [one for one in row_files() if one.name in chosen]
    inputs = tmp_path / "in"
    inputs.mkdir()
    for one in odd:
        (inputs / one.name).write_bytes(one.content)
    (inputs / ".hidden").touch()

    whole, out = tmp_path / "whole", tmp_path / "out"
    found = run(task(whole, inputs, write=True))
    with pytest.raises(Killed):
        run(task(out, inputs, write=True), tell=killed_at(at))
    assert run(task(out, inputs, write=True), resume=True) is not None
    assert files(out) == files(whole)
    assert found is not None and found["pages"] == len(rows(whole)) == sum(one.pages for one in odd)
    dead = (whole / "dead-letters.jsonl").read_bytes().count(b"\n")
    assert dead - found["verdicts"].get("dead", 0) == sum(sum(one.dead.values()) for one in odd)
    assert [each["passed_over"] for each in found["archives"]] == [{"hidden": 1}, *[{}] * len(odd)]
    assert found["not_written"] == 0


def test_asked_to_stop_it_can_be_gone_on_with(tmp_path: Path, whole: Path, archives: tuple[Path, Path]) -> None:
    out = tmp_path / "out"
    for asked in (0, 20, 50):
        assert run(task(out, *archives, write=True), resume=True, stop=after(asked)) is None
        with pytest.raises(UsageError, match="add --resume"):
            begun(out, resume=False)
    assert len(rows(out)) == 50
    assert run(task(out, *archives, write=True), resume=True) is not None
    assert files(out) == files(whole)
    with pytest.raises(UsageError, match="complete scan"):
        begun(out, resume=True)


def test_killed_while_the_last_files_are_written_it_writes_them_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, whole: Path, archives: tuple[Path, Path]
) -> None:
    def die(*arguments: Any, **named: Any) -> None:
        raise Killed

    out, kept = tmp_path / "out", tmp_path / "kept"
    for name in ("Results.close", "write_archives", "summary", "shutil.rmtree"):
        with monkeypatch.context() as patch:
            patch.setattr(f"worker.scan.scan.{name}", die)
            with pytest.raises(Killed):
                run(task(out, *archives, write=True, states=[kept], keeps=True), resume=True)
    with monkeypatch.context() as patch:
        patch.setattr(ScanPlan, "remove", die)
        with pytest.raises(Killed):
            run(task(out, *archives, write=True, states=[kept], keeps=True), resume=True)
    run(task(out, *archives, write=True, states=[kept], keeps=True), resume=True)
    assert files(out) == files(whole)
    with Deduplicator(kept, settings()) as local:
        assert local.judged == len(PAGES)


@pytest.mark.parametrize("full", ["worker.scan.records.parts.replaced", "worker.scan.scan.Results.close"])
def test_a_full_disk_is_said_and_nothing_is_lost(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, whole: Path, archives: tuple[Path, Path], full: str
) -> None:
    def fail(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(full, fail)
        with pytest.raises(Unavailable, match=r"No space left on device.*--resume"):
            run(task(out, *archives, write=True))
    run(task(out, *archives, write=True), resume=True)
    assert files(out) == files(whole)


def test_resumed_with_other_archives_or_options_it_refuses(tmp_path: Path, archives: tuple[Path, Path]) -> None:
    first, second = archives
    out = tmp_path / "out"
    assert run(task(out, first), stop=after(5)) is None
    with pytest.raises(Refused, match=r"other archives.*second\.jsonl"):
        run(task(out, second), resume=True)
    with pytest.raises(Refused, match=r"begun otherwise \(.*against"):
        run(task(out, first, old=(second,)), resume=True)
    with pytest.raises(Refused, match="other settings"):
        scan(
            task(out, first),
            Settings.model_validate({"features": {"minimum": 4}}),
            begun(out, resume=True),
            lambda: False,
            lambda done: None,
        )


def test_a_state_knows_in_the_next_scan_what_it_saw_in_the_last(
    tmp_path: Path, whole: Path, archives: tuple[Path, Path]
) -> None:
    first, second = archives
    kept = tmp_path / "kept"
    run(task(tmp_path / "1", first, states=[kept], keeps=True))
    run(task(tmp_path / "2", second, states=[kept], keeps=True))
    assert [*rows(tmp_path / "1"), *rows(tmp_path / "2")] == rows(whole)
    run(task(tmp_path / "3", first, states=[kept]))
    assert {row.verdict for row in rows(tmp_path / "3")} <= {"refetch", "duplicate", "dead"}
    with Deduplicator(kept, settings()) as local:
        assert local.judged == len(PAGES), "a state that is only compared with stays as it is"


def test_old_pages_are_compared_with_and_get_no_row(tmp_path: Path, whole: Path, archives: tuple[Path, Path]) -> None:
    first, second = archives
    found = run(task(tmp_path / "out", second, old=(first,)))
    assert found is not None
    assert rows(tmp_path / "out") == rows(whole)[80:]
    assert found["pages"] == len(PAGES) - 80
    assert [archive["name"] for archive in found["archives"]] == [str(second)]


def test_what_is_no_text_is_written_down_all_the_same(tmp_path: Path) -> None:
    half = "\ud800"
    rows_in = [
        {"id": half, "url": f"http://a.example/{half}", "text": "one of them", "spider": half},
        {"url": "http://b.example/", "text": half},
    ]
    archive = tmp_path / "pages.jsonl"
    archive.write_text("".join(json.dumps(row) + "\n" for row in rows_in))
    state = tmp_path / os.fsdecode(b"state-\xff")
    assert run(task(tmp_path / "out", archive, states=[state], keeps=True)) is not None
    assert [(row.id, row.verdict) for row in rows(tmp_path / "out")] == [
        ("?", "unique"),
        ("http://b.example/", "unique"),
    ]


def test_what_expires_is_the_same_with_any_number_of_processes_and_interruptions(tmp_path: Path) -> None:
    pages = [replace(page, fetched=number * 3_600_000) for number, page in enumerate(PAGES)]
    lines = [json.dumps({"url": page.url, "html": page.body, "fetched": page.fetched}) for page in pages]
    archive = tmp_path / "pages.jsonl"
    archive.write_text("\n".join(lines))
    expiring = Settings.model_validate(settings().model_dump() | {"near": {"ttl_days": 0.5}})
    found = []
    for processes, stops in ((1, 0), (2, 1)):
        out = tmp_path / str(processes)
        chosen = expiring.model_copy(update={"page": settings(processes).page})
        for _ in range(stops):
            scan(task(out, archive), chosen, begun(out, resume=True), lambda: True, lambda done: None)
        scan(task(out, archive), chosen, begun(out, resume=True), lambda: False, lambda done: None)
        found.append([(row.url, row.verdict, row.duplicate_of) for row in rows(out)])
    assert found[0] == found[1]
    with Deduplicator(config=settings()) as local:
        for_ever = sum(local.judge(page.url, page.body).verdict == "unique" for page in pages)
    assert sum(verdict == "unique" for _, verdict, _ in found[0]) > for_ever


def test_no_password_in_a_url_is_written_down(tmp_path: Path) -> None:
    urls = ["https://user:secret@a.example/1", "https://user:secret@a.example:x/", "user:secret@a.example/3"]
    link = "<link rel=canonical href='https://user:secret@b.example/1'>"
    lines = [{"url": url, "html": f"{link}<p>one two three four five {url[-2:]}"} for url in urls]
    (tmp_path / "pages.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert run(task(tmp_path / "out", tmp_path / "pages.jsonl")) is not None
    found = rows(tmp_path / "out")
    assert [(row.verdict, row.url, row.id) for row in found] == [
        ("unique", "https://a.example/1", "https://a.example/1"),
        ("dead", "a.example:x/", "a.example:x/"),
        ("dead", "a.example/3", "a.example/3"),
    ]
    assert found[0].canonical == "https://b.example/1"
    assert [name for name, content in files(tmp_path / "out").items() if b"secret" in content] == []


def test_ctrl_c_and_kill_9_leave_what_can_be_gone_on_with(
    tmp_path: Path, whole: Path, archives: tuple[Path, Path]
) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "worker", "scan", *map(str, archives), "--out", str(out), "--write", "unique"]
    command += ["--no-report", "--resume", "--set", "page.processes=1"]
    slow = [*command, "--set", "index.memory_mb=0"]
    environment = os.environ | {"DEDUP_CONFIG": ""}
    for number, code in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
        process = subprocess.Popen(slow, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("memory:"):
                break
        process.send_signal(number)
        told = process.stderr.read()
        assert process.wait() == code
        assert (number == signal.SIGKILL) or "--resume goes on" in told
    assert subprocess.run(slow, cwd=ROOT, env=environment, check=True, capture_output=True).returncode == 0
    assert rows(out) == rows(whole)


def test_all_pages_that_a_suspect_took_are_written_and_told_in_the_report(tmp_path: Path) -> None:
    pages = write_jsonl(shop(50), tmp_path / "shop.jsonl")
    found = run(task(tmp_path / "out", pages, write=True))
    assert found is not None
    assert found["verdicts"] == {"duplicate": 49, "unique": 1}
    assert found["suspect"] == sum(row.suspect for row in rows(tmp_path / "out")) == 30
    assert len((tmp_path / "out" / "unique" / "shop.jsonl").read_bytes().splitlines()) == 50
    write_report(tmp_path / "out" / "verdicts.jsonl", tmp_path / "report.html", settings())
    assert "Different pages that are taken for one" in (tmp_path / "report.html").read_text(encoding="utf-8")
