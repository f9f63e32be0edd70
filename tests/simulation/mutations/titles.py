"""Ways to break the rule of sites and titles (``worker.fingerprint.scoped``), and the evidence in the claim."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from tests.simulation.mutations.mutation import Mutation, in_place_of, replaced
from tests.simulation.plain_index import PlainIndex
from worker.fingerprint.scoped import ANNOUNCED, DOUBTED, TEMPLATE
from worker.index import blocks as index_blocks
from worker.index.entries import Survivor
from worker.index.queries import Found
from worker.operations import copy_index
from worker.stream import log_follower
from worker.stream.log_follower import Follower
from worker.verdict.claims import Claims
from worker.verdict.titles_of_texts import TitlesOfTexts


def _seen_by_shards(stack: ExitStack, change: Callable[[Any], Any]) -> None:
    """Shards compare pages and survivors that were changed."""
    honest = PlainIndex.earliest_near

    def earliest_near(self: PlainIndex, queries: Any, expired_up_to: int = -1, after: int = -1) -> Found:
        near = self.near
        self.near = lambda one, other: near(change(one), change(other))
        try:
            return honest(self, queries, expired_up_to, after)
        finally:
            self.near = near

    stack.enter_context(replaced(PlainIndex, "earliest_near", earliest_near))


def mark_of_a_template_not_looked_at(stack: ExitStack) -> None:
    """A shard takes a template's text for any doubted text: pages of another site of a network are called copies."""
    _seen_by_shards(stack, lambda page: page._replace(doubt=DOUBTED) if page.doubt == TEMPLATE else page)


def doubt_not_looked_at(stack: ExitStack) -> None:
    """A shard compares by text alone: all products of a shop count as one page."""
    _seen_by_shards(stack, lambda page: page._replace(doubt=ANNOUNCED))


def titles_compared_across_sites(stack: ExitStack) -> None:
    """A shard treats all pages as pages of one site: it misses a copy to which another site gives another name."""
    _seen_by_shards(stack, lambda page: page._replace(site=0))


def stubs_compared_across_sites(stack: ExitStack) -> None:
    """A shard ignores the length: the text that all shops show for sold-out products makes them one page."""
    _seen_by_shards(stack, lambda page: page._replace(tokens=page.tokens + 50))


def marks_made_by_who_decides(stack: ExitStack) -> None:
    """Each worker marks the pages that it reads by the titles that it has read: a later worker knows fewer."""
    mark, keep, take_batch, of_batch = TitlesOfTexts.mark, TitlesOfTexts.keep, Follower._take_batch, Claims.of_batch
    tables: list[TitlesOfTexts] = []

    def taken(self: Follower, record: Any) -> None:
        tables.append(self.__dict__.setdefault("titles", TitlesOfTexts()))
        try:
            take_batch(self, record)
        finally:
            tables.pop()

    class MarkedClaims:
        @staticmethod
        def of_batch(batch: Any) -> Claims:
            claims = of_batch(batch)
            doubts = mark(tables[-1], claims)
            keep(tables[-1])
            return claims.doubted(doubts)

    stack.enter_context(replaced(TitlesOfTexts, "mark", lambda self, claims: claims.pages.doubt))
    stack.enter_context(replaced(TitlesOfTexts, "keep", lambda self: b""))
    stack.enter_context(replaced(Follower, "_take_batch", taken))
    stack.enter_context(replaced(log_follower, "Claims", MarkedClaims))


@in_place_of(index_blocks, "unpack")
def restored_survivor_loses_its_doubt(honest: Any, block: Any) -> Any:
    """A restore ignores the block's column: afterwards all texts count as their pages' own."""
    return dataclasses.replace(honest(block), doubt=None)


@in_place_of(copy_index.Marker, "take")
def copied_survivor_loses_its_title(honest: Any, self: Any, survivor: Survivor, clock: int) -> None:
    """A copy rebuilds survivors from only a part of their columns: title and doubt are lost."""
    honest(self, survivor._replace(title=0, doubt=ANNOUNCED), clock)


OF_TITLES: tuple[Mutation, ...] = (
    mark_of_a_template_not_looked_at,
    doubt_not_looked_at,
    titles_compared_across_sites,
    stubs_compared_across_sites,
    marks_made_by_who_decides,
    restored_survivor_loses_its_doubt,
)
OF_COPYING_TITLES: tuple[Mutation, ...] = (copied_survivor_loses_its_title,)
