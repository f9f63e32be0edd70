"""Block load: how much fuller the blocks of unrelated pages are than those of random fingerprints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from worker.evaluate.labels.labelled import Pair
from worker.evaluate.literature.measures import BlockLayout, blocks

LAYOUT: Final = BlockLayout(4, 16)
LEAST_PAGES: Final = 50
"""A load is computed for this many unrelated pages or more; fewer make too few pairs."""


def block_load(fingerprints: Iterable[int], layout: BlockLayout = LAYOUT) -> float | None:
    """Pages that a look-up finds in its four blocks, as a multiple of what it would find of random fingerprints.

    1 is ideal; at 20 a look-up in a million pages reads 1,220 entries instead of 61. None for too few fingerprints.
    """
    listed = list(fingerprints)
    if len(listed) < LEAST_PAGES:
        return None
    filled = Counter((number, value) for one in listed for number, value in enumerate(blocks(one, layout)))
    met = sum(count * (count - 1) for count in filled.values())
    expected: float = layout.count * len(listed) * (len(listed) - 1) / 2**layout.width
    return met / expected


def unrelated(keys: Sequence[str], pairs: Sequence[Pair]) -> list[str]:
    """Of the documents ``keys`` the first of each group of copies, in their order."""
    groups = copies(pairs)
    first = {groups.get(key, key): key for key in reversed(keys)}
    chosen = set(first.values())
    return [key for key in keys if key in chosen]


def copies(pairs: Sequence[Pair]) -> dict[str, str]:
    """Group of each document in a pair that is labelled near-duplicates, or left without a label.

    Such pairs link documents to groups, each named by one of its documents.
    """
    above: dict[str, str] = {}

    def top(key: str) -> str:
        while above.setdefault(key, key) != key:
            above[key] = above[above[key]]
            key = above[key]
        return key

    for pair in pairs:
        if pair.label != 0:
            a, b = map(top, pair.keys)
            above[a] = b
    return {key: top(key) for key in list(above)}
