"""``python -m benchmarks fingerprint``: which texts, in what order, in what words."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from random import Random

import pytest

from benchmarks.__main__ import main
from benchmarks.fingerprint import FingerprintSpeed, Task, extractors, line_of, measure, texts_of

CHINESE = "".join(f"飞碟{number}号、" for number in range(250))
ENGLISH = " ".join(Random(number).randbytes(3).hex() for number in range(500))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    documents = [
        {"lang": "zh", "text": CHINESE},
        {"lang": "en", "text": ENGLISH},
        {"lang": "en", "text": "too short"},
        {"lang": "en", "text": "too long " * 900},
        {"lang": "fr", "text": "poisson " * 500},
    ]
    with lzma.open(tmp_path / "docs.jsonl.xz", "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(document) + "\n" for document in documents)
    return tmp_path


def test_texts_are_those_of_the_right_size_by_language(folder: Path) -> None:
    assert texts_of(folder) == {"zh": [CHINESE], "en": [ENGLISH]}


def test_contenders_take_turns_and_the_first_is_the_measure_of_the_others() -> None:
    turns: list[str] = []

    def task(name: str) -> Task:
        def work(text: str) -> int:
            turns.append(name)
            return sum(range(20_000))

        return work

    results = list(measure({"en": ["a", "b"]}, {"ours": task("ours"), "theirs": task("theirs")}, 2))
    assert turns == ["ours", "ours", "theirs", "theirs"] * 3
    assert [each.left_out for each in results] == [0, 0]
    assert [(each.language, each.contender) for each in results] == [("en", "ours"), ("en", "theirs")]
    assert results[0].times_ours == 1.0
    assert results[1].times_ours == pytest.approx(results[1].microseconds / results[0].microseconds)


def test_texts_that_a_contender_raises_at_are_left_out_for_it_alone_and_counted() -> None:
    def task(text: str) -> object:
        if text == "a":
            raise OverflowError("300 is too much for a byte")
        return sum(range(20_000))

    ours, theirs = measure({"en": ["a", "b", "c"]}, {"ours": len, "theirs": task}, 1)
    assert (ours.left_out, theirs.left_out) == (0, 1)
    assert "1 texts left out" in line_of(theirs)
    assert "left out" not in line_of(ours)


def test_extractors_take_a_page_as_it_stands() -> None:
    page = "<html><body><main><p>Saucers land in the bay, says the harbour master.</p></main></body></html>"
    assert next(iter(extractors())) == "this, main content"
    for task in extractors().values():
        task(page)


def test_a_line_for_people() -> None:
    line = line_of(FingerprintSpeed("zh", "this", 15000.4, 66.66, 1.0))
    assert line.split() == ["zh", "this", "15,000", "texts/s", "66.7", "µs", "1.00"]


def test_the_command_prints_an_object_a_contender(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "fingerprint.md"
    command = ["fingerprint", "--docs", str(folder), "--runs", "1", "--json", "--out", str(out)]
    assert main(command) == 0
    written = out.read_text()
    assert "## Chinese texts" in written
    assert "| this, SimHash |" in written
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    ours = ["this, SimHash", "this, SimHash and sketch", "this, SimHash and sketch, with a key"]
    assert [each["contender"] for each in objects[:3]] == ours
    assert {each["language"] for each in objects} == {"zh", "en"}
    assert main(["fingerprint", "--docs", str(folder), "--runs", "0"]) == 2
