"""How a fingerprint of the literature differs from the worker's, and the files that define it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from crawler_plugin.wire.errors import UsageError
from worker.config.word_files import read_lines
from worker.evaluate.literature.hashes import Algorithm
from worker.evaluate.literature.weights import IdfTable, Weights
from worker.fingerprint.hashing import WORD_BITS
from worker.page.words.normalise import normalise

MAX_IDF: Final = 1000.0
"""Far above the logarithm of any collection's size; a larger value is a mistake."""

_LEVEL: Final = re.compile(r"(?P<word>[^\t]+)\t *(?P<level>[1-5])")


@dataclass(frozen=True)
class Variant:
    """The hash and the width of a fingerprint, and the weights of its words; by default all as in the worker.

    ``idf`` maps words to their rarity for ``tf-idf`` and ``five-levels``, ``levels`` words to levels by hand for the
    latter.

    Raises:
        UsageError: ``tf-idf`` without a table, or levels for other weights than ``five-levels``.
    """

    hash: Algorithm = "xxh3"
    bits: int = WORD_BITS
    weights: Weights = "tf"
    idf: Mapping[str, float] | None = None
    levels: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        if self.weights == "tf-idf" and self.idf is None:
            raise UsageError("--weights tf-idf needs a table of words with their idf; name a file in --idf-table")
        if self.levels is not None and self.weights != "five-levels":
            raise UsageError(f"--levels-file has no effect with --weights {self.weights}; choose five-levels")


def read_idf(path: Path, *, fold_traditional: bool) -> IdfTable:
    """Words with their idf, in the spelling of tokens.

    Raises:
        UsageError: a file that cannot be read, naming file and line.
    """

    def read(line: str) -> tuple[str, float]:
        word, number = line.rsplit(None, 1)
        idf = float(number)
        if not 0 <= idf <= MAX_IDF or math.isnan(idf):
            raise ValueError(f"an idf of {number} is not between 0 and {MAX_IDF:g}")
        return normalise(word, fold_traditional=fold_traditional), idf

    return IdfTable(dict(read_lines("--idf-table", path, read)))


def read_levels(path: Path, *, fold_traditional: bool) -> dict[str, int]:
    """Words with their levels, in the spelling of tokens.

    Raises:
        UsageError: a file that cannot be read, naming file and line.
    """
    seen: set[str] = set()

    def read(line: str) -> tuple[str, int]:
        match = _LEVEL.fullmatch(line)
        if match is None:
            raise ValueError("not a word, a tab and its level from 1 to 5")
        word = normalise(match["word"], fold_traditional=fold_traditional)
        if word in seen:
            raise ValueError(f"{word} has a level on a line before this")
        seen.add(word)
        return word, int(match["level"])

    return dict(read_lines("--levels-file", path, read))
