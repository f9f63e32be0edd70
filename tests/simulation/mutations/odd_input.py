"""Ways to break what is done with batches of another scheme, pages that are too large, and times that cannot be."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import msgspec

from crawler_plugin.wire import messages
from tests.simulation import crawl
from tests.simulation.mutations.mutation import Mutation, replaced
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
    """A batch counts whatever its scheme is: its claims are of fingerprints that mean something else."""
    honest = messages.decode

    def decode(kind: Any, value: Any) -> Any:
        message = honest(kind, value)
        if kind is messages.Batch:
            return msgspec.structs.replace(message, scheme=SCHEME)
        return message

    stack.enter_context(replaced(follower_module, "decode", decode))


def claims_of_another_scheme_count_as_claimed(stack: ExitStack) -> None:
    """Whoever owns the page passes over what a foreign batch has claimed: nobody ever judges it."""
    honest = Follower._take_batch

    def take_batch(self: Follower, record: Any) -> None:
        honest(self, record)
        batch = messages.decode(messages.Batch, record.value)
        if batch.scheme != self.policy.scheme:
            for subscriber in self.subscribers:
                subscriber.on_read(follower_module.Pending(record.offset, batch.writer, Claims.of_batch(batch)))

    stack.enter_context(replaced(Follower, "_take_batch", take_batch))


def times_of_another_scheme_move_the_watermark(stack: ExitStack) -> None:
    """The watermark moves over foreign batches, too, for who reads them: not for who restores from a block behind
    them.
    """
    honest = Follower._take_batch

    def take_batch(self: Follower, record: Any) -> None:
        honest(self, record)
        batch = messages.decode(messages.Batch, record.value)
        if batch.scheme != self.policy.scheme:
            for subscriber in self.subscribers:
                if isinstance(subscriber, LiveShard):
                    standing = subscriber.standing
                    standing.watermark = watermark_after(standing.watermark, Claims.of_batch(batch))

    stack.enter_context(replaced(Follower, "_take_batch", take_batch))


def answers_of_another_scheme_are_taken(stack: ExitStack) -> None:
    """The first answer counts, whatever rule it was found by."""
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


def times_beyond_the_cap_count(stack: ExitStack) -> None:
    """A page dated 2099 expires the whole index."""

    def bounded_clock(fetched: int | None, broker_time: int, *rest: Any) -> int:
        return broker_time if fetched is None else fetched

    stack.enter_context(replaced(crawl, "bounded_clock", bounded_clock))


def missing_time_is_the_beginning_of_time(stack: ExitStack) -> None:
    """A page without a fetch time is dated 1970: a batch of such pages expires at once."""
    honest = clock.bounded_clock

    def bounded_clock(fetched: int | None, broker_time: int, *rest: Any) -> int:
        return honest(fetched or 0, broker_time, *rest)

    stack.enter_context(replaced(crawl, "bounded_clock", bounded_clock))


def watermark_of_the_last_batch(stack: ExitStack) -> None:
    """The watermark is what the last batch says: one of old pages brings back what has expired, where it is not tidied
    away.
    """

    def watermark_after(watermark: int, claims: Any) -> int:
        return max((claim.clock for claim in claims), default=watermark)

    stack.enter_context(replaced(live, "watermark_after", watermark_after))


def dead_claims_do_not_move_the_watermark(stack: ExitStack) -> None:
    """Whether a page can be read differs between workers, so what expires would depend on who read it."""

    def watermark_after(watermark: int, claims: Any) -> int:
        return max(watermark, max((claim.clock for claim in claims if claim.dead is None), default=NO_WATERMARK))

    stack.enter_context(replaced(live, "watermark_after", watermark_after))


def expires_at_the_ttl_and_not_after_it(stack: ExitStack) -> None:
    """What is exactly as old as the ttl is expired, for a shard that answers."""

    def expired_up_to(self: Standing, ttl: int | None) -> int:
        if ttl is None:
            return self.floor
        return max(self.floor, self.clocks.last_below(self.watermark - ttl + 1))

    stack.enter_context(replaced(Standing, "expired_up_to", expired_up_to))


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
