"""The deciding rule in readable form, with which tests compare the compiled one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from crawler_plugin.wire.messages import NOT_KNOWN, NOT_STORED, PARDONED, SAME_TEXT, Answer, Claim, Hit
from tests.columns import hits_of, seen_of, void_of
from tests.oracle import Near
from worker.fingerprint.sketch import agreement, share_of_new
from worker.verdict.change import Change
from worker.verdict.decide import DEAD, DUPLICATE, REFETCH, SAME_URL, UNIQUE, Decision


def decisions_by_definition(
    batch: int, claims: Sequence[Claim], answers: Sequence[Answer], near: Near, track_changes: bool = False
) -> list[Decision]:
    """``worker.verdict.decide.decide`` claim by claim, from objects; shards agree on which claims are void."""
    judged = _judged(batch, claims, answers, near)
    return [replace(one, change=_change(one, judged, answers)) for one in judged] if track_changes else judged


def is_compared(claim: Claim, url: str) -> bool:
    """Whether a page is compared with survivors of this URL, near or not."""
    return not claim.flags & PARDONED or claim.url == url


def reason_of_unique(claim: Claim) -> str:
    """Why a unique page is unique."""
    if claim.flags & NOT_STORED:
        return "not-stored"
    if claim.flags & PARDONED:
        return "pardoned"
    return "first" if claim.fingerprint is not None else "no-features"


def _change(decision: Decision, judged: Sequence[Decision], answers: Sequence[Answer]) -> Change | None:
    """The change since the latest survivor of the page's URL: one of this batch, else one of those in the answers."""
    claim, place = decision.claim, decision.order[1]
    if decision.outcome == DEAD:
        return None
    here = [
        one
        for one in judged
        if one.order < decision.order
        and one.outcome == UNIQUE
        and not one.claim.flags & NOT_STORED
        and (one.claim.url, one.claim.scope) == (claim.url, claim.scope)
    ]
    if here:
        other = here[-1].claim
        bare = claim.fingerprint is None, other.fingerprint is None
        if claim.text_hash == other.text_hash and bare[0] == bare[1]:
            return Change("same", 0.0, here[-1].order)
        share = None
        if claim.sketch and other.sketch:
            share = share_of_new(agreement(claim.sketch, other.sketch), claim.tokens, other.tokens)
        return Change("changed", share, here[-1].order)
    stored = [seen for answer in answers for seen in seen_of(answer) if seen.place == place]
    if not stored:
        return Change("none")
    latest = max(stored, key=lambda seen: seen.order)
    if latest.agreement == SAME_TEXT:
        return Change("same", 0.0, latest.order)
    share = None if latest.agreement == NOT_KNOWN else share_of_new(latest.agreement, claim.tokens, latest.tokens)
    return Change("changed", share, latest.order)


def _judged(batch: int, claims: Sequence[Claim], answers: Sequence[Answer], near: Near) -> list[Decision]:
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
            earlier = next(
                (other for other in survivors if is_compared(claim, claims[other].url) and near(claim, claims[other])),
                None,
            )
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
            if not claim.flags & NOT_STORED:
                survivors.append(place)
            decisions.append(Decision(order, claim, UNIQUE, reason_of_unique(claim)))
        elif original.url == claim.url:
            decisions.append(Decision(order, claim, REFETCH, SAME_URL, original))
        else:
            decisions.append(Decision(order, claim, DUPLICATE, original.reason, original))
    return decisions
