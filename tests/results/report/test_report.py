"""The whole report: its content, the actions that it cannot take, and its size."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.outcomes import Verdict
from tests.results.groups.scanned import SETTINGS, written
from tests.results.report.reports import HOSTILE, Parsed, hostile_rows, real_rows, report, texts_of
from worker.results.report.report import write_report
from worker.results.rows import dead_letter_line


def test_it_shows_all_that_was_found_and_nothing_is_loaded(tmp_path: Path) -> None:
    text = report(real_rows(), tmp_path, texts_of)
    page = Parsed(text)
    assert page.elements[0] == ("html", {"lang": "en"})
    for shown in ("What looks wrong", "Over time", "Hosts", "Path templates", "Spiders", "Languages", "How near"):
        assert shown in page.words
    assert page.count("svg") > 3
    assert page.count("del") + page.count("ins") > 10
    assert f"{len(real_rows())}" in page.words
    loading = [attributes for tag, attributes in page.elements if {"src", "srcset", "background"} & attributes.keys()]
    assert loading == []
    assert [attributes["href"] for tag, attributes in page.elements if tag == "link"] == ["data:,"]
    assert not re.search(r"url\(|@import|fetch\(|XMLHttp|import\(", text)
    assert len(text.encode()) < 2_000_000


def test_the_same_verdicts_make_the_same_file(tmp_path: Path) -> None:
    assert report(real_rows(), tmp_path, texts_of) == report(real_rows(), tmp_path, texts_of)
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


def test_nothing_of_a_page_becomes_a_part_of_the_report(tmp_path: Path) -> None:
    rows = hostile_rows()
    text = report(
        rows, tmp_path, lambda asked: {(row.file, row.offset): "".join(HOSTILE) + str(row.id) for row in asked}
    )
    page = Parsed(text)
    assert (page.count("script"), page.count("style"), page.count("img"), page.count("iframe")) == (1, 1, 0, 0)
    for _, attributes in page.elements:
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        assert (attributes.get("href") or "#").startswith(("http://", "https://", "#", "data:,"))
    assert "alert(1)" in page.words, "it is shown as text"
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f\x00\x1b]", text)
    policy = next(a["content"] or "" for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")


def test_without_texts_it_says_why_there_are_no_pairs(tmp_path: Path) -> None:
    page = Parsed(report(real_rows(), tmp_path))
    assert "No pages are shown side by side: verdicts hold no texts" in page.words
    assert page.count("ins") == 0


def test_pages_that_cannot_be_read_again_are_named(tmp_path: Path) -> None:
    page = Parsed(report(real_rows(), tmp_path, lambda asked: {}))
    assert "This page is not in the input any more" in page.words


def test_an_empty_scan_has_a_report(tmp_path: Path) -> None:
    words = Parsed(report([], tmp_path, texts_of)).words
    assert "There are no pages." in words
    assert "No two pages are near to each other." in words


def test_verdicts_without_sketches_have_a_report(tmp_path: Path) -> None:
    bare = [
        msgspec.structs.replace(row, text_hash="", sketch="", bands="", tokens=0, similarity=None)
        for row in real_rows()
        if row.verdict != "dead"
    ]
    out = tmp_path / "report.html"
    write_report(written(bare, tmp_path), out, SETTINGS, name="dedup.verdicts", sketched=False)
    assert "Duplicates in dedup.verdicts" in Parsed(out.read_text()).words


def test_it_is_less_than_two_megabytes_whatever_is_in_it(tmp_path: Path) -> None:
    rows = [msgspec.structs.replace(row, url=row.url + "/x" * 3000) for row in real_rows()]
    rows = [
        msgspec.structs.replace(row, duplicate_of=row.duplicate_of and row.duplicate_of + "/x" * 3000) for row in rows
    ]
    words = " ".join(f"word{n}" for n in range(9000))
    text = report(
        rows, tmp_path, lambda asked: {(row.file, row.offset): str(row.id) + words[row.offset :] for row in asked}
    )
    assert len(text.encode()) < 2_000_000


def test_records_that_hold_no_page_are_taken_from_the_dead_letters(tmp_path: Path) -> None:
    letters = [
        Verdict(file="a", offset=n, verdict="dead", reason="damaged<", detail="d", url=f"http://{n}/") for n in range(8)
    ]
    lines = [dead_letter_line(one, pageless=one.offset % 2 == 0) for one in letters]
    (tmp_path / "dead-letters.jsonl").write_bytes(b"".join(lines))
    rows = [row for row in real_rows() if row.verdict != "dead"][:20]
    assert "0 pages have no verdict, and 4 records hold no page" in Parsed(report(rows, tmp_path)).words
    (tmp_path / "dead-letters.jsonl").write_text("something else")
    with pytest.raises(UsageError, match=r"dead-letters\.jsonl: not a dead letter.* no scan wrote this file"):
        report(rows, tmp_path)


def test_nothing_is_left_behind_where_verdicts_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "verdicts.jsonl").write_text("{}")
    with pytest.raises(UsageError):
        write_report(tmp_path, tmp_path / "report.html", SETTINGS)
    assert [file.name for file in tmp_path.iterdir()] == ["verdicts.jsonl"]
