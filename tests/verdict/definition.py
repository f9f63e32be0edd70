"""The deciding rule as it reads: what the compiled one is held to."""

from __future__ import annotations

from collections.abc import Sequence

from tests.columns import hits_of, void_of
from tests.oracle import Near
from worker.fingerprint.sketch import agreement
from worker.messages import Answer, Claim, Hit
from worker.verdict.decide import DEAD, DUPLICATE, FIRST, NO_FEATURES, REFETCH, SAME_URL, UNIQUE, Decision


def decisions_by_definition(
    batch: int, claims: Sequence[Claim], answers: Sequence[Answer], near: Near
) -> list[Decision]:
    """``worker.verdict.decide.decide`` claim by claim, from objects; shards agree on which claims are void."""
    void = void_of(answers[0])
    stored: dict[int, Hit] = {}
    for answer in answers:
        for hit in hits_of(answer):
            if hit.place not in stored or hit.order < stored[hit.place].order:
                stored[hit.place] = hit
    survivors: list[int] = []
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
            earlier = next((other for other in survivors if near(claim, claims[other])), None)
            if earlier is not None:
                match = near(claim, claims[earlier])
                assert match is not None
                original = Hit(
                    place=place,
                    order=(batch, earlier),
                    url=claims[earlier].url,
                    distance=match.distance,
                    reason=match.reason,
                    agreement=agreement(claim.sketch, claims[earlier].sketch)
                    if claim.sketch and claims[earlier].sketch
                    else None,
                )
        if original is None:
            survivors.append(place)
            reason = FIRST if claim.fingerprint is not None else NO_FEATURES
            decisions.append(Decision(order, claim, UNIQUE, reason))
        elif original.url == claim.url:
            decisions.append(Decision(order, claim, REFETCH, SAME_URL, original))
        else:
            decisions.append(Decision(order, claim, DUPLICATE, original.reason, original))
    return decisions
