"""``python -m worker groups``, as a person calls it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.results.groups.scanned import crawled, written
from worker.cli.groups import in_words, moment
from worker.cli.main import main
from worker.results.groups.group_lines import Written


def test_lines_are_printed_and_a_sentence_goes_to_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(crawled(0).rows, tmp_path)
    assert main(["groups", str(path)]) == 0
    printed = capsys.readouterr()
    sizes = [json.loads(line)["size"] for line in printed.out.splitlines()]
    assert f"{len(sizes)} groups with {sum(sizes)} of them, the largest with {max(sizes)}" in printed.err
    assert main(["groups", str(tmp_path), "--out", str(tmp_path / "groups.jsonl")]) == 0
    assert capsys.readouterr().out == ""
    assert (tmp_path / "groups.jsonl").read_text() == printed.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "give the verdicts.jsonl of a scan, or --topic"),
        (["verdicts.jsonl", "--topic"], "not both"),
        (["verdicts.jsonl", "--least", "0"], "--least 0: a group has at least one page"),
        (["verdicts.jsonl", "--since", "2026-05-01"], "--since and --until choose from the topic: add --topic"),
        (["--topic", "--until", "yesterday"], "'yesterday' is no time such as 2026-05-01"),
        (["nowhere.jsonl"], "nowhere.jsonl cannot be read"),
        (["{here}", "--out", "/nowhere/groups.jsonl"], "--out /nowhere/groups.jsonl cannot be written"),
        (
            ["{here}", "--out", "{here}/verdicts.jsonl"],
            "is the file that is read, and would be lost: name another file",
        ),
        (["{here}", "--keep", "canonical"], "none of these pages names a canonical URL"),
    ],
)
def test_what_cannot_be_done_is_told_with_the_next_move(
    arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(crawled(0).rows, tmp_path)
    assert main(["groups", *(word.format(here=tmp_path) for word in arguments)]) == 2
    assert told in capsys.readouterr().err


def test_a_time_without_a_zone_is_utc() -> None:
    assert moment("2026-05-01T12:30") == moment("2026-05-01T14:30+02:00") == datetime(2026, 5, 1, 12, 30, tzinfo=UTC)


def test_what_was_split_and_what_could_not_be_read_is_told() -> None:
    told = in_words(Written(pages=9, dead=2, groups=3, grouped=7, largest=4, split=1, elsewhere=1), "longest")
    assert "1 group is split: the longest page is not near to all of them" in told
    assert "1 group has a page from before this scan, which is kept" in told
    assert told.endswith("no group has 2 pages that could not be read")
