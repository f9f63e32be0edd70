"""Decides on a request by evidence, settings and one random number. Pure.

1. Where there are too few verdicts, or the request's page may well be new, the request is let go.
2. An exploring share is let go all the same: otherwise the crawl would not notice new content.
3. The rest is postponed, dropped, or dropped except for a sample, as the settings say. Dropping is for good, and a site
   may have laid out copies first so that honest pages are dropped. So dropping is bounded by the explored pages that
   turned out to be copies, and requests beyond that bound are postponed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b
from typing import Literal, TypeAlias

from crawler_plugin.feedback.evidence import Evidence

FeedbackAction: TypeAlias = Literal["deprioritise", "sample", "drop"]


@dataclass(frozen=True)
class FeedbackPolicy:
    """The settings for decisions. ``budget`` is the largest number of requests of a template; 0: no limit."""

    action: FeedbackAction = "deprioritise"
    least: int = 20
    explore: float = 0.05
    budget: int = 0
    seed: int = 0
    is_dry_run: bool = False
    earlier: str | None = None
    """The ``JOBDIR`` of an earlier crawl that has learned already."""


class RequestDecision(Enum):
    """A decision on a request. A request whose template has used up its budget is dropped, whatever the action."""

    LET_GO = "let_go"
    WAITED = "waited"
    """The request goes back one step, once: similar ones have no verdict yet."""
    DOUBTED = "doubted"
    """The request goes behind all others except the postponed ones, once: the first few similar pages were copies."""
    EXPLORED = "explored"
    POSTPONED = "postponed"
    DROPPED = "dropped"
    OVER_BUDGET = "over_budget"


def decide(
    evidence: Evidence | None, policy: FeedbackPolicy, draw: float, *, may_drop: bool, was_postponed: bool = False
) -> RequestDecision:
    """Decide on a request within its budgets; ``draw`` is in [0, 1). A request is postponed only once."""
    if evidence is None or not evidence.says_copies:
        return RequestDecision.LET_GO
    drops = policy.action != "deprioritise" and may_drop
    if was_postponed:
        return RequestDecision.DROPPED if drops else RequestDecision.LET_GO
    share = max(policy.explore, evidence.upper_bound) if policy.action == "sample" else policy.explore
    if draw < share:
        return RequestDecision.EXPLORED
    return RequestDecision.DROPPED if drops else RequestDecision.POSTPONED


def draw_of(url: str, seed: int) -> float:
    """A number in [0, 1) that seems random and is always the same for a URL and a seed.

    A random generator with state would give a page that is linked often many chances, and another result whenever
    answers come in another order.
    """
    hashed = blake2b(url.encode(errors="replace"), digest_size=6, salt=seed.to_bytes(8, "big"))
    return int.from_bytes(hashed.digest(), "big") / 2**48
