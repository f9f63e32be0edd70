"""Tokens → weighted features.

Weights are fixed-point integers, so that their sums, and with them every fingerprint, are the same on every machine and
in every order of summation. The worker weighs by ``tf``, in ``worker.fingerprint.kernels.voting``; ``weigh_text`` has
the same result.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final, Literal, TypeVar, get_args

from crawler_plugin.wire.errors import UsageError
from worker.fingerprint.text_reader import LARGEST_SHARE, PAIRS

SCALE: Final = 1 << 16
"""The integer that stands for weight 1."""

Weights = Literal["tf", "log-tf", "tf-idf", "five-levels", "uniform"]
WEIGHTS: Final[tuple[Weights, ...]] = get_args(Weights)
Features = dict[str, int]
"""Distinct words, in order of first occurrence, with their weights in units of 1/``SCALE``."""
N = TypeVar("N", int, float)


class IdfTable(dict[str, float]):
    """Inverse document frequencies. A word that is not in it is rarer than all that are: it gets the highest."""

    def __init__(self, frequencies: Mapping[str, float]) -> None:
        super().__init__(frequencies)
        self.highest = max(self.values(), default=1.0)

    def __missing__(self, word: str) -> float:
        return self.highest

    def level(self, word: str) -> int:
        """1 to 5: the smallest level l with the word's idf among the lowest l fifths, 5 for a word that is not here."""
        return -(-5 * bisect_right(self._ascending, self[word]) // len(self)) if self else 5

    @cached_property
    def _ascending(self) -> list[float]:
        return sorted(self.values())


def weigh(
    tokens: Sequence[str],
    weights: Weights = "tf",
    idf: Mapping[str, float] | None = None,
    levels: Mapping[str, int] | None = None,
) -> Features:
    """Count the tokens and weigh each distinct one, by its count tf:

    - ``tf``: tf;
    - ``log-tf``: 1 + ln tf (Manning, Raghavan, Schütze: Introduction to Information Retrieval, section 6.4.1);
    - ``tf-idf``: tf · idf; a word that the table lacks has its highest idf (an ``IdfTable`` computes that only once);
    - ``five-levels``: a level from 1 to 5, not times tf: the level in ``levels``; for other words ``IdfTable.level``,
      or, without a table, the smallest level l with tf ≤ l/5 of the highest tf in the text;
    - ``uniform``: 1.

    Raises:
        UsageError: ``tf-idf`` without a table.
    """
    counts = Counter(tokens)
    table = idf if isinstance(idf, IdfTable) or idf is None else IdfTable(idf)
    match weights:
        case "tf":
            return {word: count * SCALE for word, count in counts.items()}
        case "log-tf":
            # Logarithms may differ in the last place between machines: by 2e-10 after scaling. Up to tf = 20 million
            # none comes nearer than 3e-8 to where rounding turns (computed), so the integers are equal all the same.
            return {word: round((1.0 + math.log(count)) * SCALE) for word, count in counts.items()}
        case "tf-idf":
            if table is None:
                raise UsageError("weights tf-idf need a table of words with their idf; name a file, or choose tf")
            return {word: round(count * table[word] * SCALE) for word, count in counts.items()}
        case "five-levels":
            most = max(counts.values(), default=1)
            found = {
                word: -(-5 * count // most) if table is None else table.level(word) for word, count in counts.items()
            }
            return {word: (levels or {}).get(word, level) * SCALE for word, level in found.items()}
        case "uniform":
            return dict.fromkeys(counts, SCALE)


def weigh_text(
    words: Sequence[str],
    tokens: Sequence[str],
    weights: Weights = "tf",
    idf: Mapping[str, float] | None = None,
    levels: Mapping[str, int] | None = None,
) -> Features:
    """The features of a text: its words, and the pairs of neighbours among all its tokens.

    ``words`` are the tokens without noise words; they are weighed as by ``weigh``. A pair is two tokens with a blank
    between. Pairs are weighed by the same rule among themselves, with the lower idf of the two (for words that the
    table lacks: 1), and divided by ``PAIRS``. With ``five-levels`` a pair has the lower level of the two, a noise word
    next to a word has none, and two noise words 1: a pair says no more than its commoner word, and this holds for
    levels by hand, by table and by count alike. Then no weight is more than one part in ``LARGEST_SHARE`` of the sum
    before.

    Raises:
        UsageError: ``tf-idf`` without a table.
    """
    single = weigh(words, weights, idf, levels)
    pairs = list(map(" ".join, pairwise(tokens)))
    if weights == "five-levels":
        of_words = {word: weight // SCALE for word, weight in single.items()}
        double = weigh(pairs, weights, levels=_lower_of_both(pairs, of_words, 1))
    else:
        double = weigh(pairs, weights, None if idf is None else _lower_of_both(pairs, idf, 1.0))
    part = min(PAIRS, max(1, len(single)))
    every = single | {pair: weight // part for pair, weight in double.items()}
    most = max(1, sum(every.values()) // LARGEST_SHARE)
    return {feature: min(weight, most) for feature, weight in every.items()}


def _lower_of_both(pairs: Sequence[str], values: Mapping[str, N], unknown: N) -> dict[str, N]:
    return {pair: min((values[word] for word in pair.split() if word in values), default=unknown) for pair in pairs}


def parse_tagged(text: str) -> list[str]:
    """The words of ``word/tag word/tag``, as the literature writes segmented text; a slash inside a word stays."""
    return [item.rpartition("/")[0] or item for item in text.split()]
