"""Counts of all lines."""

from __future__ import annotations

import json
from pathlib import Path

from tests.scan.archives import some_pages, write_jsonl
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.find import find_archives
from worker.scan.rows import DeadRow, VerdictRow
from worker.scan.summary import summary, write_summary


def row(verdict: str, reason: str, language: str = "en") -> bytes:
    return VerdictRow(
        file="a",
        offset=0,
        id="",
        url="http://a.example/",
        verdict=verdict,  # type: ignore[arg-type]
        reason=reason,
        language=language,
    ).encode()


def test_it_counts_by_what_came_of_the_pages_the_most_first(tmp_path: Path) -> None:
    verdicts, dead = tmp_path / "verdicts", tmp_path / "dead"
    lines = [row("unique", "first"), row("unique", "first", "zh"), row("duplicate", "hamming"), row("dead", "bad-url")]
    verdicts.write_bytes(b"".join(lines))
    letters = [DeadRow(file="a", offset=0, reason=reason, detail="") for reason in ("no-json", "bad-url", "no-json")]
    dead.write_bytes(b"".join(letter.encode() for letter in letters))
    archives = find_archives([str(write_jsonl(some_pages(1, 3), tmp_path / "a.jsonl"))], Fields(), most_bytes=1 << 20)
    found = summary(verdicts, dead, archives, [{"status 404": 2}], {"near.k": 3})
    assert found["pages"] == 4
    assert list(found["verdicts"].items()) == [("unique", 2), ("dead", 1), ("duplicate", 1)]
    assert found["reasons"] == {"first": 2, "hamming": 1}
    assert found["languages"] == {"en": 2, "zh": 1}
    assert list(found["dead_letters"].items()) == [("no-json", 2), ("bad-url", 1)]
    (archive,) = found["archives"]
    assert (archive["form"], archive["passed_over"]) == ("jsonl", {"status 404": 2})
    assert archive["fields"]["url"] == "url"
    assert found["settings"] == {"near.k": 3}
    write_summary(found, tmp_path / "summary.json")
    assert json.loads((tmp_path / "summary.json").read_text()) == found
