"""Pairs that a reader calls one text, and pairs that a reader does not: those that the handbook shows."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest

from worker.fingerprint.text_reader import TextReader
from worker.page.words import folding
from worker.page.words.noise import NoiseWords
from worker.page.words.normalise import normalise

PAGE = Path(__file__).parents[3] / "docs" / "benchmarks" / "spelling.md"
READER = TextReader(None, NoiseWords())


def rows() -> list[tuple[str, str, str]]:
    """The rows of the page's table of pairs: where a pair is found, spellings that are one, spellings that are two."""
    table = PAGE.read_text(encoding="utf-8").partition("| Found in |")[2].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return [(found, one, two) for found, one, two in cells]


def groups(cell: str) -> list[list[str]]:
    """The spellings of each group in a cell, escapes of code points read."""
    return [
        [
            re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), text)
            for text in re.findall("`([^`]+)`", group)
        ]
        for group in cell.split(";")
    ]


ONE = [pytest.param(group, id=f"{found}: {group[0]}") for found, one, _ in rows() for group in groups(one)]
TWO = [pytest.param(group, id=f"{found}: {group[0]}") for found, _, two in rows() for group in groups(two)]


def test_the_page_has_pairs_of_many_languages() -> None:
    assert len(rows()) > 45
    assert all(len(group) > 1 for _, one, two in rows() for cell in (one, two) for group in groups(cell))


@pytest.mark.parametrize("spellings", ONE)
def test_what_a_reader_calls_one_text_is_one(spellings: list[str]) -> None:
    assert len({normalise(text) for text in spellings}) == 1


@pytest.mark.parametrize("texts", TWO)
def test_what_a_reader_calls_two_texts_is_two(texts: list[str]) -> None:
    for one, other in combinations(texts, 2):
        assert READER.tokens(one).units != READER.tokens(other).units


@pytest.mark.parametrize("texts", [*ONE, *TWO])
def test_each_way_to_spell_comes_to_the_same(texts: list[str]) -> None:
    for text in (" ".join(texts), *texts):
        spelled = normalise(text)
        assert normalise(spelled) == spelled
        assert READER.spelled(text) == spelled


def test_a_character_stands_in_the_table_once_and_becomes_one_that_stays() -> None:
    others = [other for alike in folding.ALIKE for other in folding.expand(alike.others)]
    assert len(others) == len(set(others))
    assert not {*others} & {letter for alike in folding.ALIKE for letter in alike.spelling}


def test_ranges_stand_for_all_of_their_characters() -> None:
    assert folding.expand("a-cx\u0430") == "abcx\u0430"


def test_marks_of_arabic_and_hebrew_are_left_out_and_those_of_other_scripts_stay() -> None:
    left_out = folding.left_out()
    assert left_out.sub("", "\u064e\u0654\u0670\u05b8\u0591\u0640\u200e") == ""
    kept = "\u0301\u0941\u0e34\u200c\u200d"
    assert left_out.sub("", kept) == kept
