"""``python -m benchmarks claim-cost``: the cost of a claim to every worker, however many there are.

All workers read the one partition that orders all claims: each decodes every batch, asks its shards, reads the
answers of all shards and decides. The benchmark measures this with batches as full as they get, on one core, without
the broker, as a worker of one shard that owns none of the pages. It uses the settings in force; their predicate says
whether there are sketches. It also measures the additional time of the worker that claims the page, which tells by the
page's title whether its text is a template's, for an announced text and for a doubted one.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
import xxhash
from numpy.typing import NDArray

from benchmarks import index_codes
from benchmarks.index_contenders import PORTION, U64, as_entries
from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.forgetting import MAX_U64
from crawler_plugin.wire.messages import Answer, Batch, Claim, decode, encode
from worker.compose import parts
from worker.compose.step import policy
from worker.config import Settings
from worker.fingerprint.near import AccurateNear
from worker.fingerprint.scoped import ANNOUNCED, DOUBTED
from worker.fingerprint.sketch import BANDS_BYTES, SKETCH_BYTES
from worker.index.shard import Shard
from worker.stream.log_follower import DecidedBatch, Pending
from worker.stream.policy import Policy, ReplayPoint
from worker.stream.shard.live import LiveShard, Standing
from worker.verdict.claims import Claims
from worker.verdict.decide import decide
from worker.verdict.titles_of_texts import TitlesOfTexts

HITS: Final = 0.3
"""Share of the claims that are near to a stored survivor."""
DOUBTED_EACH: Final = 5
"""One claim in this many has a text that its title does not announce."""
DOUBTS: Final = {"announced": ANNOUNCED, "doubted": DOUBTED}
STEPS: Final = ("decode the batch", "ask one shard", "read all answers", "decide and store")


@dataclass(frozen=True)
class ClaimCost:
    """Microseconds of CPU time a claim, by step, in the median of all batches.

    Bytes a claim are those of the last batch and of all shards' answers to it, without Kafka's additions to a record.
    ``marking`` are the additional microseconds of the claimer, by the claim's doubt.
    """

    entries: int
    shards: int
    claims_a_batch: int
    bytes_a_claim: float
    answer_bytes_a_claim: float
    microseconds: dict[str, float]
    marking: dict[str, float]

    @property
    def claims_a_second(self) -> float:
        """Claims a second that one core of every worker keeps up with."""
        return 1e6 / sum(self.microseconds.values())


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: how large the shard is, and among how many."""
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
    """Measure with three of ten claims near to a survivor of some shard; the own one holds its share of them."""
    count = rules.claims_a_batch
    chance = np.random.default_rng(1)
    codes = index_codes.uniform(entries, count * batches)
    shard = LiveShard(0, rules, filled(codes.stored, rules, chance), Standing(to=entries))
    times, marking = [], []
    titles = TitlesOfTexts()
    for number, asked in enumerate(np.split(chance.integers(0, 1 << 64, count * batches, np.uint64), batches)):
        offset = entries + 1 + number
        homes = np.where(chance.random(count) < HITS, chance.integers(0, rules.shards, count), -1)
        own_hits = np.flatnonzero(homes == 0)
        asked[own_hits] = chance.choice(codes.stored, len(own_hits))
        rows = _claims(rules, offset, asked, chance)
        marking.append([_marking(titles, rows, doubt) for doubt in DOUBTS.values()])
        value = encode(Claims.of(rows).to_batch(rules.scheme, rules.writer))
        others = [encode(_answer(rules, offset, other, homes)) for other in range(1, rules.shards)]
        marks = [time.process_time()]
        claims = Claims.of_batch(decode(Batch, value))
        marks.append(time.process_time())
        own = shard.answer(Pending(offset, rules.writer, claims))
        marks.append(time.process_time())
        answers = [own, *(decode(Answer, other) for other in others)]
        for answer in answers:
            xxhash.xxh3_128_digest(answer.gist())
        marks.append(time.process_time())
        decisions = decide(offset, claims, answers, rules.near, track_changes=rules.track_changes)
        before, after = ReplayPoint(offset, 0), ReplayPoint(offset + 1, 0)
        shard.on_decided(DecidedBatch(offset, rules.writer, decisions, before, after))
        marks.append(time.process_time())
        times.append([1e6 * (after - before) / count for before, after in pairwise(marks)])
    medians: list[float] = np.median(np.array(times), axis=0).tolist()
    answered = sum(map(len, [encode(own), *others]))
    steps = dict(zip(STEPS, medians, strict=True))
    of_marking: list[float] = np.median(np.array(marking), axis=0).tolist()
    marks_of = dict(zip(DOUBTS, of_marking, strict=True))
    return ClaimCost(entries, rules.shards, count, len(value) / count, answered / count, steps, marks_of)


def _marking(titles: TitlesOfTexts, rows: Sequence[Claim], doubt: int) -> float:
    """Microseconds of marking for each of these claims, if all were announced or all doubted."""
    claims = Claims.of([claim.doubted(doubt) for claim in rows])
    begun = time.process_time()
    titles.mark(claims)
    titles.keep()
    return 1e6 * (time.process_time() - begun) / len(rows)


def line_of(measured: ClaimCost) -> str:
    """The result as a line for people."""
    steps = ", ".join(f"{name} {took:.2f}" for name, took in measured.microseconds.items())
    marking = ", ".join(f"{name} {took:.2f}" for name, took in measured.marking.items())
    return (
        f"{measured.claims_a_batch} claims a batch, {measured.bytes_a_claim:.0f} bytes each and "
        f"{measured.answer_bytes_a_claim:.0f} of answers, {measured.shards} shards, {measured.entries:,} entries in "
        f"the own shard: {steps} microseconds a claim: {measured.claims_a_second:,.0f} claims a second and core; the "
        f"claimer marks an {marking}"
    )


def filled(codes: U64, rules: Policy, chance: np.random.Generator) -> Shard:
    """A shard of these fingerprints, with random sketches where the predicate uses sketches."""
    shard = Shard.by(rules.near, by_url=rules.track_changes)
    for number, start in enumerate(range(0, len(codes), PORTION)):
        entries = as_entries(codes[start : start + PORTION], number)
        if isinstance(rules.near.near, AccurateNear):
            sketches, bands = _sketches(len(entries), chance)
            entries = replace(entries, sketch=sketches.view(np.uint64), bands=bands.view(np.uint32))
        shard.store(entries)
    return shard


def _sketches(count: int, chance: np.random.Generator) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Random sketches and bands of ``count`` unrelated texts, a row each."""
    sketches = chance.integers(0, 256, (count, SKETCH_BYTES), np.uint8)
    sketches[:, -1] &= 0x3F
    return sketches, chance.integers(0, 256, (count, BANDS_BYTES), np.uint8)


def claims_of(
    rules: Policy, sources: Sequence[tuple[int, int]], codes: U64, clock: int, chance: np.random.Generator
) -> list[Claim]:
    """Claims of unrelated pages, with these partitions, offsets and fingerprints, a millisecond apart."""
    sketches, bands = _sketches(len(codes), chance)
    accurate = isinstance(rules.near.near, AccurateNear)
    return [
        Claim(
            partition=partition,
            offset=offset,
            clock=clock + place,
            url=f"https://www.example-{place % 97}.com/articles/2026/{offset}-{place}.html",
            fingerprint=code,
            text_hash=code * 0x9E3779B97F4A7C15 & MAX_U64,  # as as_entries has it
            tokens=200,
            sketch=sketches[place].tobytes() if accurate else b"",
            bands=bands[place].tobytes() if accurate else b"",
            canonical=code * 0xD6E8FEB86659FD93 & MAX_U64,
            status=200,
            site=1 + place % 97,
            title=code >> 32 & ~1,
            doubt=ANNOUNCED if place % DOUBTED_EACH else DOUBTED,
        )
        for place, ((partition, offset), code) in enumerate(zip(sources, codes.tolist(), strict=True))
    ]


def _claims(rules: Policy, offset: int, codes: U64, chance: np.random.Generator) -> list[Claim]:
    sources = [(place % 8, offset * len(codes) + place // 8) for place in range(len(codes))]
    return claims_of(rules, sources, codes, 1_700_000_000_000 + 1000 * offset, chance)


def _answer(rules: Policy, offset: int, shard: int, homes: NDArray[np.int64]) -> Answer:
    """The answer of a shard that holds the survivors that these claims are near to."""
    places = np.flatnonzero(homes == shard)
    count = len(places)
    return Answer(
        scheme=rules.scheme,
        writer=rules.writer,
        batch=offset,
        shard=shard,
        place=places.astype("<u4").tobytes(),
        original_batch=np.full(count, 7, "<i8").tobytes(),
        original_place=places.astype("<u4").tobytes(),
        distance=bytes(count),
        agreement=bytes(count),
        reason=bytes(count),
        no_page=bytes(count),
        urls=tuple(f"https://www.example-{place % 97}.com/articles/2025/{place}.html" for place in places.tolist()),
    )
