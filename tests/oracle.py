"""The oracle: what the verdicts must be, by one walk over the recorded ``fingerprints`` log. Plain on purpose."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from worker.messages import Batch, Claim, Order
from worker.verdict.decide import Near


class Expected(NamedTuple):
    """The verdict of one page; ``original`` is the order of the survivor that it is near to."""

    order: Order
    outcome: str
    reason: str
    duplicate_of: str | None = None
    distance: int | None = None
    original: Order | None = None


def verdicts(
    log: Iterable[tuple[int, Batch]], near: Near, *, scheme: bytes, ttl: int | None = None
) -> dict[tuple[int, int], Expected]:
    """The verdict of each page by its source (partition, offset), from batches with their offsets."""
    found: dict[tuple[int, int], Expected] = {}
    survivors: list[tuple[Order, Claim]] = []
    claimed: dict[int, int] = {}
    watermark = -1
    watermark_after: dict[int, int] = {}
    for offset, batch in log:
        if batch.scheme != scheme:
            continue
        if ttl is not None:
            survivors = [kept for kept in survivors if watermark_after[kept[0][0]] >= watermark - ttl]
        for place, claim in enumerate(batch.claims):
            order = (offset, place)
            watermark = max(watermark, claim.clock)
            source = (claim.partition, claim.offset)
            if claim.offset <= claimed.get(claim.partition, -1):
                continue
            claimed[claim.partition] = claim.offset
            if claim.dead is not None:
                found[source] = Expected(order, "dead", claim.dead)
                continue
            kept = next(((kept, match) for kept in survivors if (match := near(claim, kept[1]))), None)
            if kept is None:
                survivors.append((order, claim))
                found[source] = Expected(order, "unique", "first" if claim.fingerprint is not None else "no-features")
            else:
                (earlier, original), match = kept
                refetch = original.url == claim.url
                outcome, reason = ("refetch", "same-url") if refetch else ("duplicate", match.reason)
                found[source] = Expected(order, outcome, reason, original.url, match.distance, earlier)
        watermark_after[offset] = watermark
    return found
