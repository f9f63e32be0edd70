"""The calls of a method, counted against the labels: shares with confidence intervals, group by group."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from worker.evaluate.labels.labelled import FACETS, IDENTICAL_TEXT, Label, Pair

Z95: Final = 1.959963984540054
"""Quantile of the normal distribution for an interval that holds the true share 19 times in 20."""

LENGTHS: Final = ((5, "< 5"), (30, "5-29"), (200, "30-199"), (1000, "200-999"))
"""Groups of pairs by the tokens of the longer side: (below, name)."""
LONGEST: Final = ">= 1000"
SHORT: Final = 30
"""Pairs below it are counted once more, together."""

OVERALL: Final = ("overall", "all")
EDITED: Final = ("overall", "edited")
Group = tuple[str, str]
"""Dimension and name, as ("language", "zh")."""


@dataclass(frozen=True)
class Share:
    """``hits`` of ``of``."""

    hits: int
    of: int

    @property
    def value(self) -> float:
        """0 to 1; not a number if there is nothing to count."""
        return self.hits / self.of if self.of else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval (Wilson, Journal of the American Statistical Association 22, 1927).

        It does not collapse if all or none are hits. The pairs are taken as independent, which those of one group of
        copies are not quite.
        """
        if not self.of:
            return 0.0, 1.0
        share, n = self.hits / self.of, self.of
        middle = share + Z95**2 / (2 * n)
        spread = Z95 * math.sqrt(share * (1 - share) / n + Z95**2 / (4 * n**2))
        scale = 1 + Z95**2 / n
        low = 0.0 if self.hits == 0 else (middle - spread) / scale
        high = 1.0 if self.hits == n else (middle + spread) / scale
        return low, high


Counts = dict[Group, dict[Label, Share]]
"""For each group, for each label that it has, how many of the pairs were called near. Groups are in the order of
display."""


def tally(pairs: Sequence[Pair], tokens: Sequence[int], near: Sequence[bool]) -> Counts:
    """Count the calls.

    Args:
        pairs: with their labels.
        tokens: of each pair's longer side.
        near: the method's call on each pair.
    """
    of: Counter[tuple[Group, Label]] = Counter()
    hits: Counter[tuple[Group, Label]] = Counter()
    for pair, length, called in zip(pairs, tokens, near, strict=True):
        for group in groups(pair, length):
            of[group, pair.label] += 1
            hits[group, pair.label] += called
    found: Counts = {}
    for group, label in sorted(of, key=_order):
        found.setdefault(group, {})[label] = Share(hits[group, label], of[group, label])
    return found


def groups(pair: Pair, tokens: int) -> Iterator[Group]:
    """The groups that a pair is counted in. Pairs whose texts are not equal are ``EDITED`` as well."""
    yield OVERALL
    if pair.facets.get("band") != IDENTICAL_TEXT:
        yield EDITED
    for dimension in FACETS:
        if dimension in pair.facets:
            yield dimension, pair.facets[dimension]
    length = next((name for below, name in LENGTHS if tokens < below), LONGEST)
    yield "language", pair.language
    yield "length", length
    if tokens < SHORT:
        yield "length", f"< {SHORT}"
    yield "language and length", f"{pair.language} {length}"


def recall(counts: Counts, group: Group = OVERALL) -> Share:
    """Share of the pairs labelled near-duplicates that were called so."""
    return counts.get(group, {}).get(1, Share(0, 0))


def false_positives(counts: Counts, group: Group = OVERALL) -> Share:
    """Share of the other pairs that were called near-duplicates all the same."""
    return counts.get(group, {}).get(0, Share(0, 0))


_DIMENSIONS: Final = ("overall", "band", "language", "length", "language and length", "class", "relation", "kind")
_LENGTH_ORDER: Final = {
    name: place for place, name in enumerate(["< 5", "5-29", f"< {SHORT}", "30-199", "200-999", LONGEST])
}


def _order(counted: tuple[Group, Label]) -> tuple[int, str, int, str, str]:
    (dimension, name), label = counted
    first, _, rest = name.partition(" ")
    length = rest if dimension == "language and length" else name
    prefix = first if dimension == "language and length" else ""
    return _DIMENSIONS.index(dimension), prefix, _LENGTH_ORDER.get(length, 0), name, str(label)
