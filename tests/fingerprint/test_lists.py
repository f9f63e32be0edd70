"""Lists of addresses, numbers and records: the common parts of all their lines do not make two lists one."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest

from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.fingerprint.near import HAMMING_RATIO, AccurateNear, SimHashNear

FINGERPRINTER = Fingerprinter(Recipe(sketched=True))
SIMHASH, ACCURATE = SimHashNear(3, HAMMING_RATIO), AccurateNear()


def word(chance: random.Random) -> str:
    return "".join(chance.choices("abcdefghiklmnoprstuv", k=chance.randint(4, 8)))


def on_one_site(chance: random.Random) -> str:
    return f"https://www.example.org/{chance.randint(2010, 2024)}/{word(chance)}/{word(chance)}-{word(chance)}.html"


def by_number(chance: random.Random) -> str:
    return f"http://{word(chance)}.com/item.php?id={chance.randint(1, 10**7)}&page={chance.randint(1, 9)}"


def telephone(chance: random.Random) -> str:
    area = chance.choice([212, 415, 555])
    return f"Tel: +1 ({area}) {chance.randint(100, 999)}-{chance.randint(0, 9999):04}"


def logged(chance: random.Random) -> str:
    day, minute, process = (chance.randint(10, most) for most in (28, 59, 99))
    return f"2024-05-{day} 12:{minute} INFO [{process}] GET /{word(chance)}"


@pytest.mark.parametrize("line", [on_one_site, by_number, telephone, logged])
def test_two_lists_are_not_near_and_an_edited_one_is(line: Callable[[random.Random], str]) -> None:
    chance = random.Random(line.__name__)
    lists = [[line(chance) for _ in range(chance.randint(60, 90))] for _ in range(20)]
    made = [FINGERPRINTER.of_text("\n".join(lines), "https://example.org/") for lines in lists]
    for a, b in itertools.combinations(made, 2):
        assert SIMHASH(a, b) is None
        assert ACCURATE(a, b) is None
    for lines, fingerprinted in zip(lists, made, strict=True):
        edited = FINGERPRINTER.of_text("\n".join([*lines[:20], *lines[21:], line(chance)]), "https://example.org/")
        assert ACCURATE(fingerprinted, edited) is not None
