"""The verdict that is made of a decision."""

from __future__ import annotations

from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.urls import id_of_url
from worker.verdict.decide import DEAD, Decision
from worker.verdict.suspects import own_title


def told(decision: Decision) -> Verdict:
    """The verdict, without what the decision does not know: where the page stands, and what the crawler said of it."""
    claim, original = decision.claim, decision.original
    reason, detail = decision.reason, ""
    if decision.outcome == DEAD:
        reason, _, detail = reason.partition(": ")
    return Verdict(
        url=claim.url,
        verdict=decision.outcome,
        duplicate_of=None if original is None else original.url,
        duplicate_of_id=None if original is None else id_of_url(original.url),
        distance=None if original is None else original.distance,
        similarity=None if decision.similarity is None else round(decision.similarity, 4),
        reason=reason,
        detail=detail,
        fingerprint=None if claim.fingerprint is None else f"{claim.fingerprint:016x}",
        order=decision.order,
        language=claim.language,
        tokens=claim.tokens,
        previous=None if decision.change is None else decision.change.previous,
        changed=decision.changed,
        suspect=decision.suspect,
        text_hash="" if decision.outcome == DEAD else f"{claim.text_hash:016x}",
        sketch=claim.sketch.hex(),
        bands=claim.bands.hex(),
        title_hash=f"{claim.title:08x}" if own_title(claim.title) else "",
    )
