"""Texts with known near pairs, made from labelled texts; the same seed gives the same texts.

A text is pasted together out of cuttings of eight words (of sixteen characters in Chinese) from random places of all
labelled texts, so two of them have a few cuttings in common at most, and words are as frequent as in real texts. Each
fifth text is a copy of an earlier text that is no copy itself, and each of those has one copy at most. In a copy a
share of the words is edited, in runs of one to eight: a run is left out, replaced, or put in, with equal chances.
"""

from __future__ import annotations

import json
import lzma
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from crawler_plugin.wire.errors import UsageError

STRENGTHS: Final = (0.0, 0.01, 0.05, 0.1, 0.2)
"""Shares of the words of a copy that are edited."""
SEED: Final = 22
_EVERY: Final = 5
_CUTTING: Final = 8
_BLANKS: Final = {"en": " ", "zh": ""}
_LEAST_UNITS: Final = 1000


@dataclass(frozen=True)
class _Pool:
    """All labelled text of a language, in words, or in pairs of characters, and the mean size of one in bytes."""

    units: list[str]
    blank: str
    bytes_each: float

    def cutting(self, chance: random.Random, length: int = _CUTTING) -> list[str]:
        at = chance.randrange(len(self.units) - length)
        return self.units[at : at + length]


class PlantedTexts:
    """The texts, each by its number, from 0 on; any number of them.

    Args:
        folder: of ``docs.jsonl.xz``; its texts in English and Chinese of kinds other than ``short`` are cut up, each
            line of them once.
        sizes: least and most bytes of a text in UTF-8, about.

    Raises:
        UsageError: no such file, or hardly any text.
    """

    def __init__(self, folder: Path, sizes: tuple[int, int], seed: int = SEED) -> None:
        self._pools: Final = _pools(folder)
        self._sizes: Final = sizes
        self._seed: Final = seed

    def __getitem__(self, number: int) -> str:
        original = original_of(number)
        chance = random.Random(self._seed << 40 | (number if original is None else original))
        pool = chance.choice(self._pools)
        wanted = chance.uniform(*self._sizes) / pool.bytes_each
        units: list[str] = []
        while len(units) < wanted:
            units += pool.cutting(chance)
        if original is not None:
            _edit(units, strength_of(number), pool, random.Random(self._seed << 40 | number))
        return pool.blank.join(units)

    def write(self, file: Path, count: int) -> None:
        """Write the first ``count`` texts as JSON lines of ``id``, which is the number, ``url`` and ``text``."""
        beside = file.with_suffix(".tmp")
        with beside.open("wb") as lines:
            for number in range(count):
                row = {"id": str(number), "url": f"https://planted.example/{number}", "text": self[number]}
                lines.write(msgspec.json.encode(row) + b"\n")
        beside.replace(file)


def original_of(number: int) -> int | None:
    """The text that this one is a copy of; None for one that is a text of its own."""
    fifth, place = divmod(number, _EVERY)
    return _EVERY * (fifth // 2) + fifth % 2 if place == _EVERY - 1 else None


def strength_of(number: int) -> float:
    """Which share of the words of a copy was edited."""
    return STRENGTHS[number // _EVERY % len(STRENGTHS)]


@dataclass(frozen=True)
class FoundPairs:
    """A contender's result on the planted pairs: ``recall`` by strength, 0 to 1, and how many texts it threw away that
    are no copy of a text that stayed."""

    recall: dict[float, float]
    false: int


def score(count: int, thrown_away: Mapping[int, int | None]) -> FoundPairs:
    """Score the texts that were thrown away, each with its original by the contender; None if it names none.

    Of a pair either text may be thrown away, but one of them has to stay.
    """
    partner: dict[int, int] = {}
    for number in range(count):
        if (original := original_of(number)) is not None:
            partner |= {number: original, original: number}
    right = {
        number
        for number, taken_for in thrown_away.items()
        if (other := partner.get(number)) is not None and other not in thrown_away and taken_for in (None, other)
    }
    recall = {}
    for strength in STRENGTHS:
        copies = [n for n in range(_EVERY - 1, count, _EVERY) if strength_of(n) == strength]
        found = sum(copy in right or partner[copy] in right for copy in copies)
        if copies:
            recall[strength] = found / len(copies)
    return FoundPairs(recall, len(thrown_away) - len(right))


def _edit(units: list[str], share: float, pool: _Pool, chance: random.Random) -> None:
    left = round(share * len(units))
    while left > 0:
        run = min(left, chance.randint(1, _CUTTING))
        at = chance.randrange(len(units) - run)
        goes, comes = chance.choice(((run, 0), (run, run), (0, run)))
        units[at : at + goes] = pool.cutting(chance, comes)
        left -= run


def _pools(folder: Path) -> list[_Pool]:
    file = folder / "docs.jsonl.xz"
    if not file.is_file():
        raise UsageError(f"{file} is not there: give --docs a folder with docs.jsonl.xz (text, lang a line)")
    lines: dict[str, dict[str, None]] = {language: {} for language in _BLANKS}
    with lzma.open(file, "rt", encoding="utf-8") as documents:
        for document in map(json.loads, documents):
            if document.get("lang") in lines and document.get("kind") != "short" and document.get("text"):
                lines[document["lang"]] |= dict.fromkeys(document["text"].splitlines())
    pools = [
        _Pool(units, _BLANKS[language], len(_BLANKS[language].join(units).encode()) / len(units))
        for language, found in lines.items()
        if len(units := list(_units(found, _BLANKS[language]))) >= _LEAST_UNITS
    ]
    if not pools:
        raise UsageError(f"{file} has hardly any text of 'lang' {' or '.join(_BLANKS)}: give another folder")
    return pools


def _units(lines: Mapping[str, None], blank: str) -> Iterator[str]:
    for line in lines:
        if blank:
            yield from line.split()
        else:
            yield from (line[at : at + 2] for at in range(0, len(line), 2))
