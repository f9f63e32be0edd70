"""A shard's index by brute force, for worlds so small that setting up tables would take longer than a search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from crawler_plugin.wire.forgetting import ForgetCondition
from tests.oracle import Near, is_forgotten, same_text
from worker.fingerprint.near import EXACT_BYTES, EXACT_TEXT, SKETCH, Match
from worker.index.entries import Entries, Survivor
from worker.index.queries import Found, Queries


def records_of(queries: Queries) -> list[Survivor]:
    """The queries as ``near`` reads them, from their columns."""
    count = len(queries)
    bands, sketches = queries.bands, queries.sketch
    scopes = [0] * count if queries.scope is None else queries.scope.tolist()
    numbers = queries.numbers.tolist()
    return [
        Survivor(
            order=(-1, number),
            url="",
            fingerprint=None if queries.bare[number] else int(queries.fingerprint[number]),
            text_hash=int(queries.text_hash[number]),
            tokens=numbers[number][0],
            fetched=0,
            sketch=b"" if sketches is None or not sketches[number].any() else sketches[number].tobytes(),
            bands=b"" if bands is None or not bands[number].any() else bands[number].tobytes(),
            scope=scopes[number],
            site=numbers[number][1],
            title=numbers[number][2],
            doubt=numbers[number][3],
            title_words=numbers[number][4] | numbers[number][5] << 32,
        )
        for number in range(count)
    ]


def found_of(found: dict[int, tuple[int, Survivor, Match]], count: int) -> Found:
    """The results for some of ``count`` queries: the slot, the survivor, and how it is near."""
    numbers, flags = np.full((5, count), -1, np.int64), np.zeros((3, count), np.bool_)
    for query, (slot, survivor, match) in found.items():
        distance = -1 if match.distance is None else match.distance
        numbers[:, query] = *survivor.order, distance, slot, -1  # nothing depends on the agreement of sketches
        by_bytes = match.reason == EXACT_BYTES
        flags[:, query] = [by_bytes or match.reason == EXACT_TEXT, match.reason == SKETCH, by_bytes]
    return Found(*numbers, *flags)


class PlainIndex:
    """Survivors in a list, compared one by one with the definition of ``near``."""

    def __init__(self, near: Near) -> None:
        self.near = near
        self.survivors: list[Survivor] = []
        self.look_ups = 0
        self.candidates = 0
        self.splits = 0

    def earliest_near(self, queries: Queries, expired_up_to: int = -1, after: int = -1) -> Found:
        found = {}
        self.look_ups += len(queries)
        self.candidates += len(queries) * len(self.survivors)
        for number, query in enumerate(records_of(queries)):
            for slot, survivor in enumerate(self.survivors):
                if slot > after and survivor.order[0] > expired_up_to and (match := self.near(query, survivor)):
                    found[number] = (slot, survivor, match)
                    break
        return found_of(found, len(queries))

    def latest_of(
        self, url: Callable[[int], str], hashes: NDArray[np.uint64], queries: Queries, expired_up_to: int = -1
    ) -> Found:
        found = {}
        for number, query in enumerate(records_of(queries)):
            for slot, survivor in enumerate(self.survivors):
                same_page = (survivor.url, survivor.scope) == (url(number), query.scope)
                if survivor.order[0] > expired_up_to and same_page:
                    found[number] = slot, survivor, Match(None, EXACT_TEXT if same_text(query, survivor) else SKETCH)
        return found_of(found, len(queries))

    def tokens(self, slot: int) -> int:
        return self.survivors[slot].tokens

    def url(self, slot: int) -> str:
        return self.survivors[slot].url

    def urls(self, slots: NDArray[np.int64]) -> list[str]:
        return [self.url(slot) for slot in slots.tolist()]

    def store(self, entries: Entries | Sequence[Survivor]) -> None:
        for survivor in entries:
            if self.survivors and survivor.order <= self.survivors[-1].order:
                raise ValueError(f"{survivor.order} does not follow {self.survivors[-1].order}")
            self.survivors.append(survivor)

    def load(self, parts: Iterable[Entries], expected: int = 0) -> None:
        for entries in parts:
            self.store(entries)

    def remove(self, condition: ForgetCondition) -> int:
        before = len(self.survivors)
        self.survivors = [survivor for survivor in self.survivors if not is_forgotten(condition, survivor)]
        return before - len(self.survivors)

    def expire(self, up_to_batch: int) -> int:
        before = len(self.survivors)
        self.survivors = [survivor for survivor in self.survivors if survivor.order[0] > up_to_batch]
        return before - len(self.survivors)

    def entries(self, after: int = -1) -> Entries:
        return Entries.from_rows([survivor for survivor in self.survivors if survivor.order[0] > after])

    def __len__(self) -> int:
        return len(self.survivors)

    @property
    def largest_bucket(self) -> int:
        return len(self.survivors)

    @property
    def nbytes(self) -> int:
        return 100 * len(self.survivors)

    def dismantle(self) -> Iterator[None]:
        self.survivors = []
        yield from ()

    @property
    def url_bytes(self) -> int:
        return sum(len(survivor.url) for survivor in self.survivors)
