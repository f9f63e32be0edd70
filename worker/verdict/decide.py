"""``decide``: the only place that judges. Every worker runs it on the same log and gets the same verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from worker.errors import Refused
from worker.fingerprint.near import Match
from worker.fingerprint.scoped import ScopedRecord
from worker.messages import Answer, Claim, Hit, Order

UNIQUE: Final = "unique"
DUPLICATE: Final = "duplicate"
REFETCH: Final = "refetch"
DEAD: Final = "dead"

FIRST: Final = "first"
SAME_URL: Final = "same-url"
NO_FEATURES: Final = "no-features"


class Near(Protocol):
    """The predicate in force; symmetric, and a pure function of two pages, as claims or as survivors tell of them."""

    def __call__(self, a: ScopedRecord, b: ScopedRecord) -> Match | None:
        """How the two are near, or None."""

    def earlier_in_batch(self, records: Sequence[ScopedRecord]) -> Sequence[Sequence[int]]:
        """For each record the places of the records before it that are near to it, ascending."""


class Homed(Protocol):
    """What decides in which shard of the index a page lives."""

    @property
    def fingerprint(self) -> int | None:
        """64 bits, or None."""

    @property
    def text_hash(self) -> int:
        """64 bits that stand for the text, or for the bytes of a page without any."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided of one claim. ``original`` is the survivor that a duplicate or refetch is near to."""

    order: Order
    claim: Claim
    outcome: Literal["unique", "duplicate", "refetch", "dead"]
    reason: str
    original: Hit | None = None


def agreed_void(answers: Sequence[Answer]) -> frozenset[int]:
    """The places of void claims, on which all shards must agree.

    Raises:
        Refused: they do not; one shard's state is corrupt.
    """
    first = answers[0]
    for answer in answers[1:]:
        if answer.void != first.void:
            raise Refused(
                f"shards {first.shard} and {answer.shard} disagree on which claims of batch {first.batch} are void: "
                f"{list(first.void)} against {list(answer.void)}. One of them has lost part of its state; "
                "stop all workers and run `python -m worker index inspect` to see which"
            )
    return frozenset(first.void)


def decide(batch: int, claims: Sequence[Claim], answers: Sequence[Answer], near: Near) -> list[Decision]:
    """Judge the batch at offset ``batch`` from the answers of all shards; void claims get no decision.

    Claims are walked in order. Of the earliest live survivors in the answers and the survivors before it in this batch,
    a claim is compared with the earliest: none, and it is unique, a survivor itself; one of its own URL, and it is a
    refetch; else it is a duplicate of that survivor, never of another duplicate.

    Raises:
        Refused: the answers contradict each other.
    """
    void = agreed_void(answers)
    stored: dict[int, Hit] = {}
    for answer in answers:
        for hit in answer.hits:
            if hit.place not in stored or hit.order < stored[hit.place].order:
                stored[hit.place] = hit
    near_before = near.earlier_in_batch(claims)
    survivors: set[int] = set()
    decisions = []
    for place, claim in enumerate(claims):
        order = (batch, place)
        if place in void:
            continue
        if claim.dead is not None:
            decisions.append(Decision(order, claim, DEAD, claim.dead))
            continue
        # Every stored survivor comes from an earlier batch, so it is before any survivor of this one.
        original = stored.get(place)
        if original is None:
            earlier = next((other for other in near_before[place] if other in survivors), None)
            if earlier is not None:
                match = near(claim, claims[earlier])
                assert match is not None
                original = Hit(
                    place=place,
                    order=(batch, earlier),
                    url=claims[earlier].url,
                    distance=match.distance,
                    reason=match.reason,
                )
        if original is None:
            survivors.add(place)
            reason = FIRST if claim.fingerprint is not None else NO_FEATURES
            decisions.append(Decision(order, claim, UNIQUE, reason))
        elif original.url == claim.url:
            decisions.append(Decision(order, claim, REFETCH, SAME_URL, original))
        else:
            decisions.append(Decision(order, claim, DUPLICATE, original.reason, original))
    return decisions


def home_shard(page: Homed, shards: int) -> int:
    """The one shard that stores this page if it survives.

    A multiplication by the golden ratio spreads neighbouring fingerprints (Knuth, TAOCP volume 3, section 6.4); equal
    ones meet in the same shard.
    """
    identity = page.text_hash if page.fingerprint is None else page.fingerprint
    return ((identity * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF) >> 32) * shards >> 32
