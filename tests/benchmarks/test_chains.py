"""Pages linked by a chain of near pairs are not all near to the page that is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.chains import Chains, chains


@pytest.mark.parametrize(
    ("earlier", "found"),
    [
        ([], Chains(0, 0, 0, 0)),
        ([[], [], []], Chains(3, 0, 0, 0)),
        ([[], [0], [0, 1]], Chains(3, 2, 2, 0)),
        ([[], [0], [1]], Chains(3, 1, 2, 1)),
        ([[], [], [0, 1]], Chains(3, 1, 2, 1)),
        ([[], [0], [1], [2], [3]], Chains(5, 2, 4, 3)),
    ],
)
def test_a_chain_throws_away_what_is_near_to_nothing_that_is_kept(earlier: list[list[int]], found: Chains) -> None:
    assert chains(earlier) == found


def test_the_command_tells_both_fields_of_each_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "The ferry to the island leaves at nine and comes back before the tide turns"
    rows = [
        {"id": number, "text": text, "html": f"<p>{text} {word}</p>"} for number, word in enumerate(["", "again", "x"])
    ]
    (tmp_path / "docs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert main(["chains", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert f"| {tmp_path.name}, text | 3 | 2 | 2 | 0 | 0.0 % |" in printed
    assert f"| {tmp_path.name}, html | 3 |" in printed
