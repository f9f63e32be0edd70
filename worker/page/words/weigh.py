"""Tokens → weighted features.

Weights are fixed-point integers, so that their sums, and with them every fingerprint, are the same on every machine and
in every order of summation.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from crawler_plugin.wire.errors import UsageError

SCALE: Final = 1 << 16
"""The integer that stands for weight 1. Sums stay below 2**63 up to 10**13 tokens of tf, or of tf-idf with idf 10."""

PAIRS: Final = 8
"""A pair of neighbours weighs an eighth of what a word of its count does: few bits of a fingerprint rest on pairs then,
of which an edit breaks two. In a text of n < 8 different words it weighs one part in n, as much as all its words do on
average: such texts are told apart by the order of their words, and by the noise words between them."""
LARGEST_SHARE: Final = 5
"""No feature has more than a fifth of all weight, so that pairs have a say in a text of two or three words. Lower ones
cost recall: what is heavy is also what survives an edit."""
FEATURES: Final = f"words, pairs 1/{PAIRS}, at most 1/{LARGEST_SHARE}"
"""Name of what ``weigh_text`` does; a part of the scheme."""

Weights = Literal["tf", "log-tf", "tf-idf", "five-levels", "uniform"]
Counts = npt.NDArray[np.int64]
N = TypeVar("N", int, float)


@dataclass(frozen=True, eq=False)
class Features:
    """What a fingerprint is made of.

    ``words`` are distinct, in order of first occurrence; ``weights`` is int64 (n,) in units of 1/``SCALE``, read-only;
    ``tokens`` is how many tokens were counted.
    """

    words: tuple[str, ...]
    weights: Counts
    tokens: int


class IdfTable(dict[str, float]):
    """Inverse document frequencies. A word that is not in it is rarer than all that are: it gets the highest."""

    def __init__(self, frequencies: Mapping[str, float]) -> None:
        super().__init__(frequencies)
        self.highest = max(self.values(), default=1.0)

    def __missing__(self, word: str) -> float:
        return self.highest

    def level(self, word: str) -> int:
        """1 to 5: the smallest level l with the word's idf among the lowest l fifths, 5 of a word that is not here."""
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
    - ``tf-idf``: tf · idf, a word that the table lacks has its highest idf (an ``IdfTable`` finds that only once);
    - ``five-levels``: a level from 1 to 5, not times tf: what ``levels`` says; of other words ``IdfTable.level``, or,
      without a table, the smallest level l with tf ≤ l/5 of the highest tf in the text;
    - ``uniform``: 1.

    Raises:
        UsageError: ``tf-idf`` without a table.
    """
    counted = Counter(tokens)
    words = tuple(counted)
    counts = np.fromiter(counted.values(), dtype=np.int64, count=len(words))
    if weights == "tf-idf":
        scaled = _scaled_idf(words, counts, idf)
    elif weights == "five-levels":
        scaled = _five_levels(words, counts, idf, levels or {})
    else:
        scaled = _RULES[weights](counts)
    scaled.flags.writeable = False
    return Features(words, scaled, len(tokens))


def weigh_text(
    words: Sequence[str],
    tokens: Sequence[str],
    weights: Weights = "tf",
    idf: Mapping[str, float] | None = None,
    levels: Mapping[str, int] | None = None,
) -> Features:
    """The features of a text: its words, and the pairs of neighbours among all its tokens.

    ``words`` are the tokens without noise words; they are weighed as by ``weigh``. A pair is two tokens with a blank
    between. Pairs are weighed by the same rule among themselves, with the lower idf of the two (of words that the table
    lacks: 1), and divided by ``PAIRS``. With ``five-levels`` a pair has the lower level of the two, a noise word beside
    a word none, and two noise words 1: a pair says no more than its commoner word, and this holds for levels by hand,
    by table and by count alike. Then no weight is more than one part in ``LARGEST_SHARE`` of the sum before.

    Raises:
        UsageError: ``tf-idf`` without a table.
    """
    single = weigh(words, weights, idf, levels)
    pairs = list(map(" ".join, pairwise(tokens)))
    if weights == "five-levels":
        of_words = dict(zip(single.words, (single.weights // SCALE).tolist(), strict=True))
        double = weigh(pairs, weights, levels=_lower_of_both(pairs, of_words, 1))
    else:
        double = weigh(pairs, weights, None if idf is None else _lower_of_both(pairs, idf, 1.0))
    every = np.concatenate((single.weights, double.weights // min(PAIRS, max(1, len(single.words)))))
    capped = np.minimum(every, max(1, int(every.sum()) // LARGEST_SHARE))
    capped.flags.writeable = False
    return Features(single.words + double.words, capped, single.tokens)


def _lower_of_both(pairs: Sequence[str], values: Mapping[str, N], unknown: N) -> dict[str, N]:
    return {pair: min((values[word] for word in pair.split() if word in values), default=unknown) for pair in pairs}


def parse_tagged(text: str) -> list[str]:
    """The words of ``word/tag word/tag``, as the literature writes segmented text; a slash inside a word stays."""
    return [item.rpartition("/")[0] or item for item in text.split()]


def _log_tf(counts: Counts) -> Counts:
    # Logarithms may differ in the last place between machines: by 2e-10 after scaling. Up to tf = 20 million none comes
    # nearer than 3e-8 to where rounding turns (computed), so the integers are equal all the same.
    return np.rint((1.0 + np.log(counts)) * SCALE).astype(np.int64)


def _five_levels(
    words: tuple[str, ...], counts: Counts, idf: Mapping[str, float] | None, levels: Mapping[str, int]
) -> Counts:
    by_count: list[int] = (-(-5 * counts // counts.max(initial=1))).tolist()
    others: Iterable[int] = by_count if idf is None else map(_table(idf).level, words)
    found = (levels.get(word, other) for word, other in zip(words, others, strict=True))
    return np.fromiter(found, dtype=np.int64, count=len(words)) * SCALE


def _scaled_idf(words: tuple[str, ...], counts: Counts, idf: Mapping[str, float] | None) -> Counts:
    if idf is None:
        raise UsageError(
            "weights tf-idf need a table: name a file in features.idf_table, or set features.weights to tf"
        )
    per_word = np.fromiter(map(_table(idf).__getitem__, words), dtype=np.float64, count=len(words))
    return np.rint(counts * per_word * SCALE).astype(np.int64)


def _table(idf: Mapping[str, float]) -> IdfTable:
    return idf if isinstance(idf, IdfTable) else IdfTable(idf)


_RULES: Final[dict[str, Callable[[Counts], Counts]]] = {
    "tf": lambda counts: counts * SCALE,
    "log-tf": _log_tf,
    "uniform": lambda counts: np.full_like(counts, SCALE),
}
