"""Judges survivors again by other rules, in their order, as far as an index keeps the data of a page."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.messages import Claim, Order
from worker.fingerprint.scheme import Scheme, in_words
from worker.index.entries import Survivor
from worker.operations.copy_index import Fallen
from worker.stream.log_follower import DecidedBatch, Pending
from worker.stream.policy import Policy, ReplayPoint
from worker.stream.shard.live import Index, LiveShard, Standing
from worker.verdict.claims import Claims
from worker.verdict.decide import decide
from worker.verdict.findings import FindingRules

_OF_PLACES: Final = ("topics.shards", "near.ttl_days", "near.track_changes")
"""Parts of a scheme that may differ without a survivor being judged again."""
_OF_RULES: Final = ("near.k", "near.predicate")
_RULE: Final = "near: "
_TITLES: Final = "near: titles"
_SKETCH: Final = "near: sketch"


def is_judged_again(before: Scheme, after: Scheme) -> bool:
    """Whether survivors of one scheme have to be judged again by the other.

    Raises:
        Refused: they cannot be, since an index does not keep the data that the other scheme depends on.
    """
    differing = [found for found in before.differences(after) if found.name not in _OF_PLACES]
    unkept = [
        found
        for found in differing
        if not (found.name in _OF_RULES or found.name.startswith(_RULE))
        or found.name == _TITLES
        or (found.name == _SKETCH and found.ours is None)
    ]
    if unkept:
        raise Refused(
            f"the index does not keep what these settings need to know of a page: {'; '.join(map(in_words, unkept))}. "
            "Let workers with a topics.generation of their own and output.mode=count judge the same pages, then run "
            "`python -m worker switch`"
        )
    return bool(differing)


class Rejudging:
    """All survivors so far that have stayed, in one index. It is called with each batch in turn, as a ``Falls``.

    They are judged as if only they had come, with their original watermarks. ``policy`` is that of the new rules.
    """

    def __init__(self, policy: Policy, new_index: Callable[[], Index]) -> None:
        alone = replace(
            policy,
            shards=1,
            track_changes=False,
            findings=FindingRules(groups=0, suspect_pages=0),
            flush_entries=sys.maxsize,
            flush_bytes=sys.maxsize,
        )
        self._policy: Final = alone
        self._live: Final = LiveShard(0, alone, new_index(), Standing())
        self._judged = 0

    def __call__(self, clock: int, survivors: Sequence[Survivor]) -> Mapping[Order, Fallen]:
        if not survivors:
            return {}
        number, policy = self._judged, self._policy
        claims = Claims.of([_claim(one, number + place, clock) for place, one in enumerate(survivors)])
        answer = self._live.answer(Pending(number, policy.writer, claims))
        decisions = decide(number, claims, [answer], policy.near, track_changes=False)
        self._judged += len(survivors)
        here, after = ReplayPoint(number, number), ReplayPoint(self._judged, self._judged)
        self._live.on_decided(DecidedBatch(number, policy.writer, decisions, here, after))
        self._live.let_go(number)
        self._live.tidy()
        return {
            survivor.order: Fallen(survivor.url, decision.original.url, decision.reason)
            for survivor, decision in zip(survivors, decisions, strict=True)
            if decision.original is not None
        }


def _claim(survivor: Survivor, offset: int, clock: int) -> Claim:
    """A page with the data that is kept of the survivor."""
    kept = survivor._asdict()
    del kept["order"], kept["fetched"]
    return Claim(partition=0, offset=offset, clock=clock, **kept)
