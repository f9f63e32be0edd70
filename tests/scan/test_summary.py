"""VerdictCounts of all verdicts, in total and by archive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pyarrow as pa

from worker import __version__
from worker.scan.inputs.archive_ref import ArchiveRef
from worker.scan.judge.rows import ROWS
from worker.scan.summary import VerdictCounts, decoded, encoded, summary


def counted(
    *rows: tuple[str, str, str],
    passed_over: Mapping[str, int] = {},
    dead_letters: Mapping[str, int] = {},
) -> VerdictCounts:
    """The counts of rows of verdict, reason and language."""
    counts = VerdictCounts(passed_over=Counter(passed_over), dead_letters=Counter(dead_letters))
    for verdict, reason, language in rows:
        row = {"verdict": verdict, "reason": reason, "language": language, "suspect": reason == "hamming"}
        counts.add(pa.RecordBatch.from_pylist([row], schema=ROWS))
    return counts


def test_it_counts_by_what_came_of_the_pages_the_most_first() -> None:
    first = counted(
        ("unique", "first", "en"),
        ("unique", "first", "zh"),
        ("duplicate", "hamming", "en"),
        passed_over={"status 404": 2},
        dead_letters={"no-json": 1},
    )
    second = counted(("dead", "none", ""), dead_letters={"no-body": 1, "no-json": 1})
    archives = [
        ArchiveRef(name="a", form="jsonl", below="a", fields={"url": "u"}),
        ArchiveRef(name="b", form="warc+gz", below="b"),
    ]
    found = summary(archives, [first, second], {"near.k": 3}, 2.0)
    assert (found["records"], found["pages"], found["suspect"]) == (9, 4, 1)
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
    assert (one["fields"]["url"], one["passed_over"]) == ("u", {"status 404": 2})
    assert (other["form"], other["records"], other["pages"], other["dead_pages"]) == ("warc+gz", 3, 1, {"none": 1})
    assert [each["pages"] for each in found["inputs"]] == [3, 1]
    assert decoded(encoded(found)) == found
