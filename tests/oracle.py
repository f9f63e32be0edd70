"""The oracle: what the verdicts must be, by one walk over the recorded ``fingerprints`` log. Plain on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from crawler_plugin.wire.forgetting import Forget, ForgetCondition
from crawler_plugin.wire.messages import NOT_STORED, PARDONED, Batch, Claim, Order
from worker.fingerprint.near import Match
from worker.fingerprint.scoped import ScopedRecord
from worker.index.entries import Survivor
from worker.sites import host_of, site_of
from worker.verdict.claims import Claims

Near: TypeAlias = Callable[[ScopedRecord, ScopedRecord], Match | None]


class Expected(NamedTuple):
    """The verdict of one page; ``original`` is the order of the survivor that it is near to, ``previous`` says whether
    the text equals the text of the latest survivor of the page's URL."""

    order: Order
    outcome: str
    reason: str
    duplicate_of: str | None = None
    distance: int | None = None
    original: Order | None = None
    previous: str | None = None


@dataclass
class Known:
    """The knowledge with which a generation begins, where its index was copied: survivors in their order, with the
    watermark after the batch of each; the claimed offsets; the watermark."""

    survivors: list[tuple[Order, Claim | Survivor]] = field(default_factory=list)
    watermark_after: dict[int, int] = field(default_factory=dict)
    claimed_up_to: dict[int, int] = field(default_factory=dict)
    watermark: int = -1

    def live(self, ttl: int | None) -> list[tuple[Order, Claim | Survivor]]:
        """The survivors that have not expired."""
        if ttl is None:
            return self.survivors
        return [kept for kept in self.survivors if self.watermark_after[kept[0][0]] >= self.watermark - ttl]


def same_text(one: Claim | Survivor, other: Claim | Survivor) -> bool:
    """Whether two pages have equal texts."""
    return one.text_hash == other.text_hash and (one.fingerprint is None) == (other.fingerprint is None)


def _compared(claim: Claim, known: Known) -> list[tuple[Order, Claim | Survivor]]:
    """The survivors that a page is compared with."""
    return [kept for kept in known.survivors if not claim.flags & PARDONED or kept[1].url == claim.url]


def _previous(claim: Claim, survivors: list[tuple[Order, Claim | Survivor]]) -> str:
    own = [one for _, one in survivors if (one.url, one.scope) == (claim.url, claim.scope)]
    return "none" if not own else "same" if same_text(claim, own[-1]) else "changed"


def is_forgotten(condition: ForgetCondition, page: Claim | Survivor) -> bool:
    """Whether a survivor meets the condition of a record of the log."""
    match condition.kind:
        case "site":
            return site_of(host_of(page.url)) == condition.text
        case "host":
            return host_of(page.url) == condition.text
        case "url-prefix":
            return page.url.startswith(condition.text)
        case "before":
            return (page.clock if isinstance(page, Claim) else page.fetched) < condition.number
    return page.scope == condition.number


def forgets_of(log: Iterable[tuple[int, Batch | Forget]], scheme: bytes) -> list[tuple[int, ForgetCondition]]:
    """The conditions in the records of forgetting of one scheme, with their offsets."""
    return [(offset, one.condition) for offset, one in log if isinstance(one, Forget) and one.scheme == scheme]


def verdicts(
    log: Iterable[tuple[int, Batch | Forget]],
    near: Near,
    *,
    scheme: bytes,
    ttl: int | None = None,
    known: Known | None = None,
) -> dict[tuple[int, int], Expected]:
    """The verdict of each page by its source (partition, offset), from batches and the records between them, with
    offsets.

    ``known`` is the knowledge at the beginning, empty if it is not given, and is updated to the knowledge at the end.
    """
    found: dict[tuple[int, int], Expected] = {}
    known = known or Known()
    for offset, batch in log:
        if batch.scheme != scheme:
            continue
        known.survivors = known.live(ttl)
        if isinstance(batch, Forget):
            known.survivors = [one for one in known.survivors if not is_forgotten(batch.condition, one[1])]
            continue
        for place, claim in enumerate(Claims.of_batch(batch)):
            order = (offset, place)
            known.watermark = max(known.watermark, claim.clock)
            source = (claim.partition, claim.offset)
            if claim.offset <= known.claimed_up_to.get(claim.partition, -1):
                continue
            known.claimed_up_to[claim.partition] = claim.offset
            if claim.dead is not None:
                found[source] = Expected(order, "dead", claim.dead)
                continue
            previous = _previous(claim, known.survivors)
            kept = next(((kept, match) for kept in _compared(claim, known) if (match := near(claim, kept[1]))), None)
            if kept is None:
                if not claim.flags & NOT_STORED:
                    known.survivors.append((order, claim))
                reason = "first" if claim.fingerprint is not None else "no-features"
                if claim.flags:
                    reason = "not-stored" if claim.flags & NOT_STORED else "pardoned"
                found[source] = Expected(order, "unique", reason, previous=previous)
            else:
                (earlier, original), match = kept
                refetch = original.url == claim.url
                outcome, reason = ("refetch", "same-url") if refetch else ("duplicate", match.reason)
                found[source] = Expected(order, outcome, reason, original.url, match.distance, earlier, previous)
        known.watermark_after[offset] = known.watermark
    return found
