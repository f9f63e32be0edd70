"""What has changed at a URL since the last fetch whose text survived (the setting ``near.track_changes``).

No verdict depends on it. Like a verdict it is a function of the log alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawler_plugin.wire.messages import NOT_KNOWN, SAME_TEXT, Answer, Claim, Order
from worker.fingerprint.sketch import agreement, share_of_new
from worker.verdict.claims import Claims

SAME: Final = "same"
CHANGED: Final = "changed"
NONE: Final = "none"

_NONE: Final = -1
_NO_PLACE: Final = 1 << 40
_SEEN_DTYPES: Final = {
    "seen_at": "<u4",
    "seen_batch": "<i8",
    "seen_place": "<u4",
    "seen_tokens": "<u4",
    "seen_agreement": "u1",
}
"""The columns of an ``Answer``."""


class Change(NamedTuple):
    """How a page's text differs from the text of the latest survivor of its URL; ``order`` is that survivor's.

    ``previous`` is ``same`` for equal texts, ``none`` where there is no such survivor. ``share`` is the estimated share
    of the text's bigrams that are new, 0 to 1, where it can be estimated.
    """

    previous: Literal["same", "changed", "none"]
    share: float | None = None
    order: Order | None = None

    @classmethod
    def of(cls, claim: Claim, order: Order, tokens: int, agreement: int) -> Change:
        """From the order and tokens of that survivor, and the agreement of the two texts as in an ``Answer``."""
        if agreement == SAME_TEXT:
            return cls(SAME, 0.0, order)
        return cls(CHANGED, None if agreement == NOT_KNOWN else share_of_new(agreement, claim.tokens, tokens), order)


NO_EARLIER: Final = Change(NONE)


@dataclass(frozen=True, eq=False)
class LatestOfUrl:
    """For each claim, the latest survivor of the same URL and scope before it.

    ``here`` int64 (n,) is the survivor's place in this batch, -1 for none; ``stored`` int64 (n,) its number among all
    survivors of earlier batches that the answers name, -1 for none. Each place and each number is a row of ``rows``.
    """

    claims: Claims
    here: NDArray[np.int64]
    stored: NDArray[np.int64]
    rows: Sequence[NDArray[Any]]

    @classmethod
    def of(cls, claims: Claims, unique: NDArray[np.bool_], answers: Sequence[Answer]) -> LatestOfUrl:
        """From the survivors of this batch, bool (n,), and the shards' answers."""
        place, batch, place_there, tokens, agreement = (
            np.frombuffer(b"".join([getattr(answer, name) for answer in answers]), dtype)
            for name, dtype in _SEEN_DTYPES.items()
        )
        order = np.lexsort((place_there, batch, place))
        last = np.flatnonzero(np.diff(place[order], append=_NO_PLACE) != 0)
        stored = np.full(len(claims), _NONE, np.int64)
        latest = order[last]
        latest = latest[place[latest] < len(claims)]
        stored[place[latest]] = latest
        return cls(claims, _latest_here(claims, unique), stored, (batch, place_there, tokens, agreement))

    def change(self, batch: int, place: int, claim: Claim) -> Change:
        """How the text of the claim at this place of the batch differs from that of the latest survivor of its URL."""
        if (here := int(self.here[place])) != _NONE:
            other = self.claims[here]
            return Change.of(claim, (batch, here), other.tokens, _seen_agreement(claim, other))
        if (number := int(self.stored[place])) == _NONE:
            return NO_EARLIER
        of_batch, of_place, tokens, agreement = (int(column[number]) for column in self.rows)
        return Change.of(claim, (of_batch, of_place), tokens, agreement)


def _latest_here(claims: Claims, unique: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each claim the place of the last survivor of its URL and scope before it in the batch, int64 (n,), or -1."""
    found = np.full(len(claims), _NONE, np.int64)
    _, numbers, counts = np.unique(claims.url_hashes, return_inverse=True, return_counts=True)
    assert claims.pages.scope is not None
    latest: dict[tuple[str, int], int] = {}
    for place in np.flatnonzero(counts[numbers] > 1).tolist():
        key = claims.url(place), int(claims.pages.scope[place])
        found[place] = latest.get(key, _NONE)
        if unique[place]:
            latest[key] = place
    return found


def _seen_agreement(claim: Claim, other: Claim) -> int:
    """The agreement of two claims, in the form that an ``Answer`` holds."""
    if claim.text_hash == other.text_hash and (claim.fingerprint is None) == (other.fingerprint is None):
        return SAME_TEXT
    return agreement(claim.sketch, other.sketch) if claim.sketch and other.sketch else NOT_KNOWN
