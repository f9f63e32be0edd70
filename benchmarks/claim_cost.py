"""``python -m benchmarks claim-cost``: what a claim costs every worker, however many there are.

The one partition that orders all claims is read by all workers: each decodes every batch, asks its shards, reads the
answers of all shards and decides. This is measured with batches as full as they get, on one core, without the broker.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from benchmarks import index_codes
from benchmarks.index_contenders import PORTION, U64, as_entries
from worker.compose import parts
from worker.compose.step import policy
from worker.config import Settings
from worker.errors import UsageError
from worker.index.shard import Shard
from worker.messages import Answer, Batch, Claim, decode, encode
from worker.stream.log_follower import DecidedBatch, Pending
from worker.stream.policy import Policy, ReplayPoint
from worker.stream.shard.live import LiveShard, Standing
from worker.verdict.decide import decide

STEPS: Final = ("decode the batch", "ask one shard", "read all answers", "decide and store")


@dataclass(frozen=True)
class ClaimCost:
    """Microseconds of CPU time a claim, by step, in the median of all batches."""

    entries: int
    shards: int
    claims_a_batch: int
    microseconds: dict[str, float]

    @property
    def claims_a_second(self) -> float:
        """What one core of every worker keeps up with."""
        return 1e6 / sum(self.microseconds.values())


def configure(parser: argparse.ArgumentParser) -> None:
    """How large the shard is, and among how many."""
    parser.add_argument("--entries", type=int, default=1_000_000, metavar="N", help="in the shard (default: 1,000,000)")
    parser.add_argument("--shards", type=int, default=100, help="that answer each batch (default: 100)")
    parser.add_argument("--batches", type=int, default=30, help="to measure (default: 30)")
    parser.add_argument("--json", action="store_true", help="as an object")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Measure and print."""
    if min(arguments.entries, arguments.shards, arguments.batches) < 1:
        raise UsageError("--entries, --shards and --batches must be at least 1; give larger numbers")
    settings = load()
    scheme = parts.scheme(settings, parts.recipe(settings))
    rules = replace(policy(settings, scheme, secrets.token_bytes(8)), shards=arguments.shards)
    measured = measure(rules, arguments.entries, arguments.batches)
    print(json.dumps(dataclasses.asdict(measured)) if arguments.json else line_of(measured))
    return 0


def measure(rules: Policy, entries: int, batches: int) -> ClaimCost:
    """Half of the claims are near to an entry of the shard."""
    count = rules.claims_a_batch
    codes = index_codes.uniform(entries, count * batches)
    shard = LiveShard(0, rules, _filled(codes.stored), Standing(to=entries))
    times = []
    for number, asked in enumerate(np.split(codes.asked, batches)):
        offset = entries + 1 + number
        value = encode(_batch(rules, offset, asked))
        others = [encode(_answer(rules, offset, other)) for other in range(1, rules.shards)]
        marks = [time.process_time()]
        batch = decode(Batch, value)
        marks.append(time.process_time())
        own = shard.answer(Pending(offset, batch))
        marks.append(time.process_time())
        answers = [own, *(decode(Answer, other) for other in others)]
        marks.append(time.process_time())
        decisions = decide(offset, batch.claims, answers, rules.near)
        shard.on_decided(DecidedBatch(offset, batch, decisions, ReplayPoint(offset, 0), ReplayPoint(offset + 1, 0)))
        marks.append(time.process_time())
        times.append([1e6 * (after - before) / count for before, after in pairwise(marks)])
    medians: list[float] = np.median(np.array(times), axis=0).tolist()
    return ClaimCost(entries, rules.shards, count, dict(zip(STEPS, medians, strict=True)))


def line_of(measured: ClaimCost) -> str:
    """For people."""
    steps = ", ".join(f"{name} {took:.2f}" for name, took in measured.microseconds.items())
    return (
        f"{measured.claims_a_batch} claims a batch, {measured.shards} shards, {measured.entries:,} entries in the own "
        f"one: {steps} microseconds a claim: {measured.claims_a_second:,.0f} claims a second and core"
    )


def _filled(codes: U64) -> Shard:
    shard = Shard()
    for number, start in enumerate(range(0, len(codes), PORTION)):
        shard.store(as_entries(codes[start : start + PORTION], number))
    return shard


def _batch(rules: Policy, offset: int, codes: U64) -> Batch:
    claims = [
        Claim(
            partition=0,
            offset=offset * len(codes) + place,
            clock=0,
            url=f"https://www.example-{place % 97}.com/articles/2026/{offset}-{place}.html",
            fingerprint=code,
            text_hash=code,
            tokens=200,
        )
        for place, code in enumerate(codes.tolist())
    ]
    return Batch(scheme=rules.scheme, writer=rules.writer, claims=tuple(claims))


def _answer(rules: Policy, offset: int, shard: int) -> Answer:
    """That of a shard in which nothing is near: one of a hundred has the entry."""
    return Answer(scheme=rules.scheme, writer=rules.writer, batch=offset, shard=shard, void=(), hits=())
