"""What becomes of a request, by evidence, settings and one random number. Pure.

1. Where there are too few verdicts, or its page may well be new, it is let go.
2. An exploring share is let go all the same: else nobody would see that new content has come.
3. The rest is postponed, dropped, or dropped but for a sample, as the settings say. Dropping is for good, and copies
   may have been laid out first for honest pages to be dropped: so it is bounded by what explored pages have shown to be
   copies, and what exceeds it is postponed.
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
    """What the settings say. ``budget`` is the most requests of a template; 0: any number."""

    action: FeedbackAction = "deprioritise"
    least: int = 20
    explore: float = 0.05
    budget: int = 0
    seed: int = 0
    is_dry_run: bool = False
    earlier: str | None = None
    """The ``JOBDIR`` of a crawl that knows already."""


class RequestDecision(Enum):
    """What becomes of a request. One whose template has had its budget is dropped, whatever the action."""

    LET_GO = "let_go"
    WAITED = "waited"
    """It goes back one step, once: others like it have no verdict yet."""
    DOUBTED = "doubted"
    """It goes behind all others but the postponed ones, once: the first few like it were copies."""
    EXPLORED = "explored"
    POSTPONED = "postponed"
    DROPPED = "dropped"
    OVER_BUDGET = "over_budget"


def decide(
    evidence: Evidence | None, policy: FeedbackPolicy, draw: float, *, may_drop: bool, was_postponed: bool = False
) -> RequestDecision:
    """Decide on a request within its budgets; ``draw`` is in [0, 1). One that was postponed is not postponed again."""
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

    A generator that goes on from call to call would give a page that is linked often many chances, and another result
    whenever answers come in another order.
    """
    hashed = blake2b(url.encode(errors="replace"), digest_size=6, salt=seed.to_bytes(8, "big"))
    return int.from_bytes(hashed.digest(), "big") / 2**48
