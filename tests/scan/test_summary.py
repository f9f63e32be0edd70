"""Counts of all lines, in all and by archive."""

from __future__ import annotations

import json
from pathlib import Path

from crawler_plugin.wire.outcomes import Verdict
from tests.scan.archives import some_pages, write_jsonl, write_warc
from worker import __version__
from worker.results.rows import dead_letter_line, scan_line
from worker.scan.checkpoint import ArchiveEnd
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.find import find_archives
from worker.scan.summary import summary, write_summary


def row(verdict: str, reason: str, language: str = "en") -> Verdict:
    return Verdict(
        file="a",
        offset=0,
        id="",
        url="http://a.example/",
        verdict=verdict,  # type: ignore[arg-type]
        reason=reason,
        language=language,
    )


def test_it_counts_by_what_came_of_the_pages_the_most_first(tmp_path: Path) -> None:
    first, dead = (
        [row("unique", "first"), row("unique", "first", "zh"), row("duplicate", "hamming")],
        row("dead", "none"),
    )
    broken = [dead_letter_line(row("dead", reason), pageless=True) for reason in ("no-json", "no-body", "no-json")]
    verdicts, letters = tmp_path / "verdicts.jsonl", tmp_path / "dead-letters.jsonl"
    ends = []
    for rows, dead_letters, passed_over in (
        (first, broken[:1], {"status 404": 2}),
        ([dead], [broken[1], dead_letter_line(dead), broken[2]], {}),
    ):
        for file, lines in ((verdicts, map(scan_line, rows)), (letters, dead_letters)):
            with file.open("ab") as out:
                out.writelines(lines)
        lengths = {file.name: file.stat().st_size for file in (verdicts, letters)}
        ends.append(ArchiveEnd(lengths=lengths, passed_over=passed_over))
    files = [write_jsonl(some_pages(1, 3), tmp_path / "a.jsonl"), write_warc(some_pages(1, 1), tmp_path / "b.warc.gz")]
    archives = find_archives([str(file) for file in files], Fields(), most_bytes=1 << 20)
    found = summary(tmp_path, archives, ends, {"near.k": 3}, 2.0)
    assert (found["records"], found["pages"]) == (9, 4)
    assert list(found["verdicts"].items()) == [("unique", 2), ("dead", 1), ("duplicate", 1)]
    assert found["reasons"] == {"first": 2, "hamming": 1}
    assert found["languages"] == {"en": 2, "zh": 1}
    assert found["dead_pages"] == {"none": 1}
    assert list(found["dead_letters"].items()) == [("no-json", 2), ("no-body", 1)]
    assert found["passed_over"] == {"status 404": 2}
    assert (found["version"], found["seconds"], found["pages_per_second"]) == (__version__, 2.0, 2.0)
    assert found["settings"] == {"near.k": 3}
    one, other = found["archives"]
    assert (one["form"], one["records"], one["pages"], one["dead_letters"]) == ("jsonl", 6, 3, {"no-json": 1})
    assert (one["fields"]["url"], one["passed_over"]) == ("url", {"status 404": 2})
    assert (other["form"], other["records"], other["pages"], other["dead_pages"]) == ("warc+gz", 3, 1, {"none": 1})
    write_summary(found, tmp_path / "summary.json")
    assert json.loads((tmp_path / "summary.json").read_text()) == found
