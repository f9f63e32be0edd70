"""``python -m benchmarks scan``: planted pages are found and counted, and parts are put together on one page."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from random import Random

import pytest

from benchmarks.__main__ import main
from benchmarks.planted_texts import STRENGTHS, FoundPairs, PlantedTexts, original_of, score, strength_of
from benchmarks.process_tree import run_command
from benchmarks.scan import plant
from benchmarks.scan_peers import throw_out_by_datasketch
from worker.config import load_settings
from worker.local import Deduplicator

SIZES = (800, 1_200)
ONE = ("--set", "page.processes=1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    chance = Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(2_000)]
    with lzma.open(folder / "docs.jsonl.xz", "wt", encoding="utf-8") as lines:
        for number in range(40):
            text = " ".join(chance.choices(words, k=200))
            page = {"url": f"https://docs.example/{number}", "lang": "en", "kind": "page", "text": text}
            lines.write(json.dumps(page | {"html": f"<p>{text}</p>"}) + "\n")
    return folder


def test_a_seed_makes_the_same_texts_and_another_one_others(folder: Path) -> None:
    texts = PlantedTexts(folder, SIZES)
    assert [texts[number] for number in range(9)] == [PlantedTexts(folder, SIZES)[number] for number in range(9)]
    assert texts[0] != PlantedTexts(folder, SIZES, seed=2)[0]
    assert all(SIZES[0] - 100 < len(texts[number].encode()) < SIZES[1] + 100 for number in range(0, 100, 5))


def test_each_text_has_one_copy_at_most_and_it_comes_later() -> None:
    originals = [original_of(number) for number in range(10_000)]
    copied = [original for original in originals if original is not None]
    assert len(copied) == len(set(copied)) == 2_000
    assert all(original is None or original < number for number, original in enumerate(originals))
    assert all(originals[original] is None for original in copied)


def test_a_copy_differs_by_its_strength_and_others_have_little_in_common(folder: Path) -> None:
    texts = PlantedTexts(folder, SIZES)
    shared = {}
    for number in range(4, 25, 5):
        original = original_of(number)
        assert original is not None
        ours, theirs = set(texts[number].split()), set(texts[original].split())
        shared[strength_of(number)] = len(ours & theirs) / len(ours | theirs)
    assert list(shared) == list(STRENGTHS)
    assert shared[0.0] == 1.0
    assert shared[0.2] < shared[0.1] < shared[0.01] < 1.0
    assert shared[0.2] > 0.6
    assert len(set(texts[0].split()) & set(texts[1].split())) < 0.3 * len(set(texts[0].split()))


def test_recall_counts_pairs_and_false_what_is_no_copy_of_what_stayed() -> None:
    every_copy = {number: original_of(number) for number in range(4, 100, 5)}
    assert score(100, every_copy) == FoundPairs(dict.fromkeys(STRENGTHS, 1.0), 0)
    assert score(100, dict.fromkeys(every_copy)) == FoundPairs(dict.fromkeys(STRENGTHS, 1.0), 0)
    assert score(100, {}) == FoundPairs(dict.fromkeys(STRENGTHS, 0.0), 0)
    assert score(100, {0: None}).recall[0.0] == 0.25, "either of a pair may be thrown away"
    for wrong in ({2: None}, {4: 1}, {0: None, 4: None}):
        found = score(100, wrong)
        assert (found.false, set(found.recall.values())) == (len(wrong), {0.0}), wrong


def test_a_command_is_measured_with_its_children_and_stopped_when_its_time_is_over(tmp_path: Path) -> None:
    child = "x = b'x' * (64 << 20); [hash(str(n)) for n in range(1_500_000)]"
    took = run_command(["bash", "-c", f'python3 -c "{child}"; true'], tmp_path / "log", 60)
    assert took.code == 0
    assert took.cpu > 0.05
    assert took.peak_mib > 60
    assert run_command(["bash", "-c", "sleep 60; true"], tmp_path / "log", 0.1).code is None
    assert run_command(["bash", "-c", "exit 3"], tmp_path / "log", 60).code == 3


def test_datasketch_throws_copies_out(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("datasketch", reason="datasketch is in the extra bench")
    PlantedTexts(folder, SIZES).write(tmp_path / "texts.jsonl", 50)
    throw_out_by_datasketch(tmp_path / "texts.jsonl", tmp_path / "found")
    found = score(50, dict(map(json.loads, (tmp_path / "found").read_text().splitlines())))
    assert (found.recall[0.0], found.recall[0.01], found.false) == (1.0, 1.0, 0)


def test_survivors_are_planted_as_a_state(tmp_path: Path) -> None:
    settings = load_settings(config=None, overrides=(), environ={})
    plant(tmp_path, 15_000, settings)
    with Deduplicator(tmp_path, settings) as deduplicator:
        assert deduplicator.judged == 15_000


def test_the_command_finds_what_is_planted_and_nothing_else(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "scan.md"
    command = ["scan", "--docs", str(folder), "--part", "peers", "--contenders", "scan", "--out", str(out)]
    assert main([*command, "--sizes", "100", "--json", "--work", str(tmp_path / "work"), *ONE]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["name"], row["size"], row["ended"], row["false"]) == ("scan", 100, True, 0)
    assert list(row["recall"].values())[:3] == [1.0, 1.0, 1.0]
    assert "| this, `scan` | 100 |" in out.read_text()
    assert "**Small run**" in out.read_text()
    assert main([*command, "--sizes", "0"]) == 2
    assert main([*command, "--contenders", "scan,sort"]) == 2
