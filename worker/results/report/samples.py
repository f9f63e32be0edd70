"""Pairs of pages to be read side by side: for each distance the least similar pair, and others drawn evenly."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, TypeAlias

from crawler_plugin.wire.outcomes import Verdict
from worker.results.groups.grouping import Grouping
from worker.results.groups.verdict_lines import VerdictLines

_A_DISTANCE: Final = 2
"""Pairs of each distance that are drawn in addition to the least similar one."""
_NO_DISTANCE: Final = -1


TextKey: TypeAlias = tuple[str, int]
"""The file and the offset of a page, which identify its text."""
TextsOf: TypeAlias = Callable[[Sequence[Verdict]], Mapping[TextKey, str]]
"""The main texts of these pages; one that cannot be read again is missing."""


def key_of(row: Verdict) -> TextKey:
    """The key of the row's page."""
    return row.file, row.offset


@dataclass(frozen=True)
class SampledPair:
    """A duplicate and its survivor."""

    survivor: Verdict
    page: Verdict


class Samples:
    """Chooses from rows that it gets one after the other; the choice does not depend on their order."""

    def __init__(self) -> None:
        self._drawn: Final[dict[int, list[tuple[int, int]]]] = {}
        self._least: Final[dict[int, tuple[float, int, int]]] = {}

    def offer(self, begin: int, row: Verdict) -> None:
        """A row, and where it begins."""
        if row.verdict != "duplicate":
            return
        distance = _NO_DISTANCE if row.distance is None else row.distance
        chance = -int.from_bytes(blake2b(f"{row.file}\n{row.offset}".encode(errors="replace"), digest_size=8).digest())
        drawn = self._drawn.setdefault(distance, [])
        if len(drawn) < _A_DISTANCE:
            heapq.heappush(drawn, (chance, begin))
        elif chance > drawn[0][0]:
            heapq.heapreplace(drawn, (chance, begin))
        if row.similarity is not None:
            here = (row.similarity, -chance, begin)
            self._least[distance] = min(here, self._least.get(distance, here))

    def chosen(self, lines: VerdictLines, grouping: Grouping) -> list[SampledPair]:
        """Pairs whose pages both stand in the file, by distance; pages without a fingerprint come last."""
        found = []
        for distance in sorted(self._drawn, key=lambda distance: (distance == _NO_DISTANCE, distance)):
            begins = [self._least[distance][2]] if distance in self._least else []
            begins += [begin for _, begin in sorted(self._drawn[distance], reverse=True)]
            for begin in dict.fromkeys(begins):
                survivor = grouping.survivor_of(begin)
                if survivor is not None:
                    found.append(SampledPair(lines.at(survivor), lines.at(begin)))
        return found
