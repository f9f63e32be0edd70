"""``python -m worker report``, as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.results.groups.scanned import crawled, written
from tests.results.report.reports import Parsed
from worker.cli.main import main

pytestmark = pytest.mark.usefixtures("read_here")
SETTINGS = [word for name in ("index.memory_mb=0", "page.processes=1") for word in ("--set", name)]


def test_it_is_written_beside_the_verdicts_or_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(crawled(0).rows, tmp_path)
    assert main(["report", str(tmp_path), *SETTINGS]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{tmp_path / 'report.html'}\n"
    assert "no pages are shown side by side, since the scanned files are not found" in printed.err
    assert main(["report", str(path), "--out", str(tmp_path / "other.html"), *SETTINGS]) == 0
    assert (tmp_path / "other.html").read_text() == (tmp_path / "report.html").read_text()


TEXTS = [
    f"The ferry to the island leaves at nine, says the harbour master, and comes back before the tide turns {word}"
    for word in ("today", "again")
]


def test_of_a_scan_pairs_are_shown_as_long_as_its_files_are_there(tmp_path: Path) -> None:
    pages = tmp_path / "pages.jsonl"
    rows = [{"url": f"http://{n}.example/", "text": text} for n, text in enumerate(TEXTS)]
    pages.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "out"
    assert main(["scan", str(pages), "--out", str(out), *SETTINGS]) == 0
    made = (out / "report.html").read_text()
    assert "<del>today</del>" in made
    assert "<ins>again</ins>" in made
    pages.unlink()
    assert main(["report", str(out), *SETTINGS]) == 0
    assert "No pages are shown side by side" in Parsed((out / "report.html").read_text()).words


def test_made_again_it_shows_pairs_of_pages_with_fields_that_nobody_can_name(tmp_path: Path) -> None:
    pages, out = tmp_path / "pages.jsonl", tmp_path / "out"
    about = {"fetched_at": "2026-01-02T03:04:05Z", "spider": "news", "encoding": "utf-8"}
    rows = [about | {"url": f"http://{n}.example/", "article": text} for n, text in enumerate(TEXTS)]
    pages.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["scan", str(pages), "--out", str(out), "--no-report", *SETTINGS]) == 0
    assert main(["report", str(out), *SETTINGS]) == 0
    assert "<ins>again</ins>" in (out / "report.html").read_text()


def test_made_again_it_shows_pairs_of_a_pattern_in_which_a_link_was_passed_over(tmp_path: Path) -> None:
    pages, out = tmp_path / "pages.jsonl", tmp_path / "out"
    rows = [{"where": f"http://{n}.example/", "words": text} for n, text in enumerate(TEXTS)]
    pages.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "link.jsonl").symlink_to(pages)
    named = ["--text-field", "words", "--url-field", "where"]
    assert main(["scan", str(tmp_path / "*.jsonl"), "--out", str(out), "--no-report", *named, *SETTINGS]) == 0
    assert main(["report", str(out), *SETTINGS]) == 0
    assert "<ins>again</ins>" in (out / "report.html").read_text()


@pytest.mark.parametrize(("at", "named"), [(".", "./pages"), ("pages", ".")])
def test_pages_of_a_folder_are_shown_however_it_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, named: str
) -> None:
    (tmp_path / "pages").mkdir()
    for number, text in enumerate(TEXTS):
        (tmp_path / "pages" / f"{number}.txt").write_text(text)
    monkeypatch.chdir(tmp_path / at)
    assert main(["scan", named, "--out", str(tmp_path / "out"), *SETTINGS]) == 0
    assert "<ins>again</ins>" in (tmp_path / "out" / "report.html").read_text()


def test_a_file_that_cannot_be_written_is_told_with_the_next_move(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(crawled(0).rows, tmp_path)
    assert main(["report", str(tmp_path), "--out", "/nowhere/report.html", *SETTINGS]) == 2
    assert "/nowhere/report.html cannot be written" in capsys.readouterr().err
