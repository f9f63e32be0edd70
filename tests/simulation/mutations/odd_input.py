"""Ways to break what is done with batches of another scheme, pages that are too large, and times that cannot be."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import msgspec

from crawler_plugin.wire import messages
from tests.simulation import crawl
from tests.simulation.mutations.mutation import Mutation, in_place_of, replaced
from tests.simulation.schedule import SCHEME
from worker.stream import log_follower as follower_module
from worker.stream.log_follower import Follower
from worker.stream.partition import commit
from worker.stream.shard import live
from worker.stream.shard.live import LiveShard, Standing
from worker.verdict import clock
from worker.verdict.claims import Claims
from worker.verdict.clock import NO_WATERMARK, watermark_after


def batches_of_another_scheme_are_judged(stack: ExitStack) -> None:
    """A batch of any scheme counts: the fingerprints in its claims mean something else."""
    honest = messages.decode_claims

    def decode_claims(value: Any) -> Any:
        return msgspec.structs.replace(honest(value), scheme=SCHEME)

    stack.enter_context(replaced(follower_module, "decode_claims", decode_claims))


@in_place_of(Follower, "_take_batch")
def claims_of_another_scheme_count_as_claimed(honest: Any, self: Follower, record: Any) -> None:
    """A page's owner passes over the page if a foreign batch has claimed it: no one ever judges it."""
    honest(self, record)
    batch = messages.decode(messages.Batch, record.value)
    if batch.scheme != self.policy.scheme:
        for subscriber in self.subscribers:
            subscriber.on_read(follower_module.Pending(record.offset, batch.writer, Claims.of_batch(batch)))


@in_place_of(Follower, "_take_batch")
def times_of_another_scheme_move_the_watermark(honest: Any, self: Follower, record: Any) -> None:
    """Foreign batches move the watermark of workers that read them, but not after a restore from a block
    behind them.
    """
    honest(self, record)
    batch = messages.decode(messages.Batch, record.value)
    if batch.scheme != self.policy.scheme:
        for subscriber in self.subscribers:
            if isinstance(subscriber, LiveShard):
                standing = subscriber.standing
                standing.watermark = watermark_after(standing.watermark, Claims.of_batch(batch))


def answers_of_another_scheme_are_taken(stack: ExitStack) -> None:
    """The first answer counts, even if it was found by another rule."""
    honest = messages.decode

    def decode(kind: Any, value: Any) -> Any:
        message = honest(kind, value)
        if kind is messages.Answer:
            return msgspec.structs.replace(message, scheme=SCHEME)
        return message

    stack.enter_context(replaced(follower_module, "decode", decode))


def oversize_page_is_passed_on_with_its_body(stack: ExitStack) -> None:
    """The dead letter of a page that is too large is too large."""
    stack.enter_context(replaced(commit, "OVERSIZE", "never"))


@in_place_of(crawl, "bounded_clock")
def times_beyond_the_cap_count(_: Any, fetched: int | None, broker_time: int, *rest: Any) -> int:
    """A page dated 2099 expires the whole index."""
    return broker_time if fetched is None else fetched


def missing_time_is_the_beginning_of_time(stack: ExitStack) -> None:
    """A page without a fetch time is dated 1970: a batch of such pages expires at once."""
    honest = clock.bounded_clock

    def bounded_clock(fetched: int | None, broker_time: int, *rest: Any) -> int:
        return honest(fetched or 0, broker_time, *rest)

    stack.enter_context(replaced(crawl, "bounded_clock", bounded_clock))


@in_place_of(live, "watermark_after")
def watermark_of_the_last_batch(_: Any, watermark: int, claims: Any) -> int:
    """The watermark is that of the last batch: a batch of old pages brings back expired entries not removed yet."""
    return max((claim.clock for claim in claims), default=watermark)


@in_place_of(live, "watermark_after")
def dead_claims_do_not_move_the_watermark(_: Any, watermark: int, claims: Any) -> int:
    """Workers differ in which pages they can read, so expiry would depend on which worker read a page."""
    return max(watermark, max((claim.clock for claim in claims if claim.dead is None), default=NO_WATERMARK))


@in_place_of(Standing, "expired_up_to")
def expires_at_the_ttl_and_not_after_it(_: Any, self: Standing, ttl: int | None) -> int:
    """For a shard that answers, an entry that is exactly as old as the ttl is expired."""
    if ttl is None:
        return self.floor
    return max(self.floor, self.clocks.last_below(self.watermark - ttl + 1))


OF_ODD_INPUT: tuple[Mutation, ...] = (
    batches_of_another_scheme_are_judged,
    claims_of_another_scheme_count_as_claimed,
    times_of_another_scheme_move_the_watermark,
    answers_of_another_scheme_are_taken,
    oversize_page_is_passed_on_with_its_body,
    times_beyond_the_cap_count,
    missing_time_is_the_beginning_of_time,
    watermark_of_the_last_batch,
    dead_claims_do_not_move_the_watermark,
    expires_at_the_ttl_and_not_after_it,
)
