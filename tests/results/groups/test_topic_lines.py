"""Records of the topic become lines in the order in which pages were judged."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from crawler_plugin.wire.outcomes import Verdict
from worker.results.groups.topic_lines import fetched_within, write_topic
from worker.results.groups.verdict_lines import VerdictLines


def record(order: tuple[int, int], source: tuple[int, int], **fields: object) -> Verdict:
    plain = {
        "url": f"http://{order[0]}.example/",
        "verdict": "unique",
        "duplicate_of": None,
        "distance": None,
        "reason": "first",
        "fingerprint": "00" * 8,
        "fetched": 5,
        "scheme": "00" * 8,
    }
    return Verdict(order=order, source=source, **(plain | fields))  # type: ignore[arg-type]


def test_the_order_goes_across_partitions(tmp_path: Path) -> None:
    said = {"spider": "news", "language": "en", "tokens": 300}
    copy = {
        "verdict": "duplicate",
        "duplicate_of": "http://0.example/",
        "distance": 0,
        "reason": "exact-text",
        "similarity": 1.0,
    }
    records = [
        record((0, 1), (0, 7)),
        record((9, 0), (0, 8), **copy),
        record((0, 0), (1, 3), **said),
        record((2, 0), (1, 4), **(copy | {"distance": 2, "similarity": 0.875, "reason": "hamming"})),
    ]
    path = tmp_path / "verdicts.jsonl"
    assert write_topic(iter(records), path) == 4
    with VerdictLines(path) as lines:
        rows = [row for _, row in lines.rows()]
    assert [row.id for row in rows] == ["1:3", "0:7", "1:4", "0:8"]
    assert (rows[0].spider, rows[0].language, rows[0].tokens) == ("news", "en", 300)
    assert [row.similarity for row in rows] == [None, None, 0.875, 1.0]
    assert (rows[2].file, rows[2].offset, rows[2].distance, rows[2].fetched) == ("pages[1]", 4, 2, 5)
    assert [file.name for file in tmp_path.iterdir()] == ["verdicts.jsonl"]


@pytest.mark.parametrize(
    ("since", "until", "kept"),
    [
        (None, None, [None, 999, 1000, 1999, 2000]),
        (1, None, [1000, 1999, 2000]),
        (None, 2, [999, 1000, 1999]),
        (1, 2, [1000, 1999]),
    ],
)
def test_a_stretch_is_chosen_by_the_time_of_the_fetch(
    since: int | None, until: int | None, kept: list[int | None]
) -> None:
    records = [record((n, 0), (0, n), fetched=time) for n, time in enumerate((None, 999, 1000, 1999, 2000))]
    ends = (None if end is None else datetime.fromtimestamp(end, UTC) for end in (since, until))
    assert [one.fetched for one in fetched_within(records, *ends)] == kept


def test_an_empty_topic_is_an_empty_file(tmp_path: Path) -> None:
    assert write_topic([], tmp_path / "verdicts.jsonl") == 0
