"""Ways to break what is told of a page's earlier text (``near.track_changes``), on which no verdict depends."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.simulation.mutations.mutation import Mutation, in_place_of
from tests.simulation.plain_index import PlainIndex
from worker.index.queries import Found
from worker.stream.shard.live import LiveShard
from worker.verdict import change
from worker.verdict.claims import Claims


@in_place_of(change, "_latest_here")
def earlier_texts_of_the_same_batch_forgotten(_: Any, claims: Claims, unique: Any) -> Any:
    """Only a text in the index counts as a page's earlier text: a page is not compared with one of the same batch."""
    return np.full(len(claims), -1, np.int64)


@in_place_of(change, "_latest_here")
def every_fetch_for_the_latest_survivor(honest: Any, claims: Claims, unique: Any) -> Any:
    """A page is compared with the last fetch of its URL in the batch, which may be a copy that is kept nowhere."""
    return honest(claims, np.ones_like(unique))


@in_place_of(PlainIndex, "latest_of")
def earliest_text_for_latest(
    honest: Any, self: PlainIndex, url: Callable[[int], str], hashes: Any, queries: Any, expired_up_to: int = -1
) -> Found:
    """The first text of a URL counts instead of the last one: a page that returned to it is called unchanged."""
    survivors = self.survivors
    try:
        self.survivors = survivors[::-1]
        found: Found = honest(self, url, hashes, queries, expired_up_to)
    finally:
        self.survivors = survivors
    last = len(survivors) - 1
    return dataclasses.replace(found, slots=np.where(found.slots < 0, -1, last - found.slots))


@in_place_of(LiveShard, "_seen")
def expired_texts_told_of(honest: Any, self: LiveShard, pending: Any, asked: Any, expired: int) -> Any:
    """An expired text counts as a page's earlier text for as long as it is in memory."""
    return honest(self, pending, asked, -1)


OF_CHANGES: tuple[Mutation, ...] = (
    earlier_texts_of_the_same_batch_forgotten,
    every_fetch_for_the_latest_survivor,
    earliest_text_for_latest,
    expired_texts_told_of,
)
