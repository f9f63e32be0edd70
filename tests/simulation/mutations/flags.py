"""Ways to break what headers say of how a page is judged: not stored, pardoned."""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack
from typing import Any

import numpy as np

from tests.simulation.mutations.mutation import Mutation, in_place_of, replaced
from worker.index.queries import Found
from worker.stream.shard import live
from worker.stream.shard.live import LiveShard
from worker.verdict import decide as decide_module
from worker.verdict.change import LatestOfUrl
from worker.verdict.claims import Claims
from worker.verdict.decide import Decisions


@in_place_of(Decisions, "survivors")
def page_that_is_not_to_be_stored_is(_: Any, self: Decisions, shard: int, shards: int) -> Any:
    """Every unique page is stored: later pages are called copies of pages that were not to be kept."""
    places = np.flatnonzero(self.unique)
    return places[decide_module.home_shards(self.claims.pages, shards)[places] == shard]


@in_place_of(decide_module, "earliest_in_batch")
def pages_that_are_not_stored_are_compared_within_their_batch(
    honest: Any, pages: Any, asked: Any, near: Any, flagged: Any
) -> Any:
    """Only shards leave such pages out: whether a page is a copy of one depends on how pages fall into batches."""
    if flagged is not None:
        flagged = dataclasses.replace(flagged, stored=np.ones(len(asked), np.bool_))
    return honest(pages, asked, near, flagged)


@in_place_of(decide_module, "earliest_in_batch")
def pardon_is_not_heard_within_a_batch(honest: Any, pages: Any, asked: Any, near: Any, flagged: Any) -> Any:
    """Only shards know of a pardon: a page in one batch with the page it is near to is still its copy."""
    if flagged is not None:
        flagged = dataclasses.replace(flagged, pardoned=np.zeros(len(asked), np.bool_))
    return honest(pages, asked, near, flagged)


@in_place_of(LiveShard, "_look_for_own")
def pardon_is_not_heard_by_shards(honest: Any, *given: Any) -> None:
    """Shards answer as for any page: a pardon has an effect only within its batch."""


@in_place_of(LiveShard, "_look_for_own")
def pardoned_page_is_looked_up_nowhere(
    honest: Any, self: LiveShard, pending: Any, asked: Any, found: Found, expired: int
) -> None:
    """A pardon is always obeyed: each fetch of the page and each repetition of the command adds a survivor."""
    found.slots[pending.claims.pardoned[np.flatnonzero(asked)]] = -1


def own_survivor_is_found_if_it_is_the_first(stack: ExitStack) -> None:
    """Only the earliest near survivor is looked at: it is another page's, since otherwise there would be no pardon."""
    stack.enter_context(replaced(live, "MOST_PARDONED", 1))


@in_place_of(LatestOfUrl, "of")
def page_that_is_not_stored_is_the_last_text_of_its_url(
    honest: Any, claims: Claims, unique: Any, answers: Any
) -> LatestOfUrl:
    """A page's changes are measured against whatever was unique, stored or not: within a batch it has another past."""
    found = honest.__func__(LatestOfUrl, claims, unique | (~claims.stored & claims.alive), answers)
    assert isinstance(found, LatestOfUrl)
    return found


@in_place_of(Claims, "doubted")
def flags_are_lost_where_texts_are_doubted(honest: Any, self: Claims, doubt: Any) -> Claims:
    """Claims are rebuilt without their flags: pages are claimed as if no header said anything."""
    found = honest(self, doubt)
    assert isinstance(found, Claims)
    return dataclasses.replace(found, flags=None)


OF_FLAGS: tuple[Mutation, ...] = (
    page_that_is_not_to_be_stored_is,
    pages_that_are_not_stored_are_compared_within_their_batch,
    pardon_is_not_heard_within_a_batch,
    pardon_is_not_heard_by_shards,
    pardoned_page_is_looked_up_nowhere,
    own_survivor_is_found_if_it_is_the_first,
    page_that_is_not_stored_is_the_last_text_of_its_url,
    flags_are_lost_where_texts_are_doubted,
)
