"""``decide``: the only function that judges. Every worker runs it on the same log and gets the same verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.forgetting import MAX_U64
from crawler_plugin.wire.messages import NOT_STORED, Answer, Claim, Hit, Order
from worker.fingerprint.near import EXACT_BYTES, EXACT_TEXT
from worker.fingerprint.scoped import ScopedNear, title_masks
from worker.fingerprint.sketch import agreement, similarity
from worker.index.in_batch import earliest_in_batch
from worker.index.queries import Queries
from worker.index.urls import FoundUrls
from worker.verdict.change import Change, LatestOfUrl
from worker.verdict.claims import Claims

UNIQUE: Final = "unique"
DUPLICATE: Final = "duplicate"
REFETCH: Final = "refetch"
DEAD: Final = "dead"

FIRST: Final = "first"
SAME_URL: Final = "same-url"
NO_FEATURES: Final = "no-features"
NOT_KEPT: Final = "not-stored"
PARDON: Final = "pardoned"

_NONE: Final = -1
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)


class Homed(Protocol):
    """The fields that decide which shard of the index stores a page."""

    @property
    def fingerprint(self) -> int | None:
        """64 bits, or None."""

    @property
    def text_hash(self) -> int:
        """64 bits that stand for the text or, for a page without text, for its bytes."""

    @property
    def title(self) -> int:
        """32 bits that stand for the title, 0 for none."""

    @property
    def doubt(self) -> int:
        """A doubt of ``worker.fingerprint.scoped``."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on one claim. ``original`` is the survivor that a duplicate or refetch is near to; ``change`` is
    None where changes are not tracked (``near.track_changes``), and for dead claims."""

    order: Order
    claim: Claim
    outcome: Literal["unique", "duplicate", "refetch", "dead"]
    reason: str
    original: Hit | None = None
    change: Change | None = None

    @property
    def suspect(self) -> bool:
        """Whether it is a duplicate of a survivor that was known to be suspect; a hint, not part of the verdict."""
        return self.outcome == DUPLICATE and self.original is not None and self.original.suspect

    @property
    def changed(self) -> float | None:
        """Estimated share of pairs of neighbouring words that are new since the last text of this URL, to 4 places."""
        share = None if self.change is None else self.change.share
        return None if share is None else round(share, 4)

    @property
    def similarity(self) -> float | None:
        """Estimated share of pairs of neighbouring words in common with the original, 0 to 1, where it can be
        estimated."""
        if self.original is None:
            return None
        if self.original.reason in (EXACT_TEXT, EXACT_BYTES):
            return 1.0
        agreement = self.original.agreement
        return None if agreement is None else min(1.0, max(0.0, similarity(agreement)))


@dataclass(frozen=True, eq=False)
class Decisions:
    """The decisions on the n claims of the batch at offset ``batch``; iterating yields the decisions on claims that are
    not void.

    ``void`` and ``unique`` are bool (n,); the unique claims that are stored are survivors. ``earlier`` int64 (n,) is
    the place of the survivor in this batch that a page is near to, and ``stored`` int64 (n,) the number of the hit that
    names a survivor of an earlier batch, -1 for none. ``seen`` is None where changes are not tracked; otherwise it has
    the latest survivor of the page's URL. ``answers`` are those of all shards.
    """

    batch: int
    claims: Claims
    near: ScopedNear
    void: NDArray[np.bool_]
    unique: NDArray[np.bool_]
    earlier: NDArray[np.int64]
    stored: NDArray[np.int64]
    seen: LatestOfUrl | None
    answers: Sequence[Answer]
    _homes: dict[int, NDArray[np.int64]] = field(default_factory=dict, init=False)

    def __iter__(self) -> Iterator[Decision]:
        return iter(self.rows)

    @cached_property
    def rows(self) -> tuple[Decision, ...]:
        """All decisions one by one; for a caller that owns all pages."""
        return tuple(map(self.of, np.flatnonzero(~self.void).tolist()))

    def of(self, place: int) -> Decision:
        """The decision on the claim at a place, which must not be void."""
        claim, order = self.claims[place], (self.batch, place)
        if claim.dead is not None:
            return Decision(order, claim, DEAD, claim.dead)
        change = None if self.seen is None else self.seen.change(self.batch, place, claim)
        if self.unique[place]:
            return Decision(order, claim, UNIQUE, _why_unique(claim), change=change)
        original = self._original(place, claim)
        if original.url == claim.url:
            return Decision(order, claim, REFETCH, SAME_URL, original, change)
        return Decision(order, claim, DUPLICATE, original.reason, original, change)

    def survivors(self, shard: int, shards: int) -> NDArray[np.int64]:
        """The places, ascending, of survivors whose home is shard ``shard`` of ``shards``."""
        if not self._homes:
            places = (self.unique & self.claims.stored).nonzero()[0]
            homes = home_shards(self.claims.pages, shards)[places]
            self._homes.update((number, places[homes == number]) for number in set(homes.tolist()))
            self._homes.setdefault(_NONE, places[:0])
        return self._homes.get(shard, self._homes[_NONE])

    def copies(self, shard: int, shards: int, *, of_site: bool = False) -> Iterator[tuple[int, Order, str]]:
        """The pages near to a survivor that lives in shard ``shard`` of ``shards``: each page's place, the survivor's
        order and its URL, by place. Pages that are not to be stored are left out, since nothing remembers them.
        ``of_site`` also leaves out pages whose survivor is known to be of another site."""
        pages = self.claims.pages
        assert pages.site is not None
        if not self._found.any():
            return
        number = next((number for number, answer in enumerate(self.answers) if answer.shard == shard), None)
        end = 0 if number is None else int(self._hits_up_to[number])
        begin = 0 if number is None else end - len(self.answers[number].urls)
        hits = (self.stored >= begin) & (self.stored < end)
        here = np.zeros(len(self.claims) + 1, np.bool_)
        here[self.survivors(shard, shards)] = True
        here = here[self.earlier]
        if of_site:
            places = np.flatnonzero(here)
            here[places] = _may_be_same(pages.site[places], pages.site[self.earlier[places]])
            urls = () if number is None else self.answers[number].urls
            if isinstance(urls, FoundUrls):
                places = np.flatnonzero(hits)
                hits[places] = _may_be_same(pages.site[places], urls.sites[self.stored[places] - begin])
        for place in np.flatnonzero((hits | here) & self.claims.stored).tolist():
            if number is not None and hits[place]:
                hit = self.answers[number].hit(int(self.stored[place]) - begin)
                yield place, hit.order, hit.url
            else:
                earlier = int(self.earlier[place])
                yield place, (self.batch, earlier), self.claims.url(earlier)

    @cached_property
    def again(self) -> NDArray[np.bool_]:
        """Which pages are near to a survivor of their own URL: their verdict is refetch."""
        claims = self.claims
        again = np.zeros(len(claims), np.bool_)
        if not self._found.any():
            return again
        places = (claims.alive & (self.stored != _NONE)).nonzero()[0]
        numbers = self.stored[places]
        urls: Sequence[str] = self.answers[0].urls
        if len(self.answers) > 1:
            urls = list(chain.from_iterable(answer.urls for answer in self.answers))
        elif isinstance(urls, FoundUrls):
            same = urls.hashes[numbers] == claims.url_hashes_at(places)
            places, numbers = places[same], numbers[same]
        pairs = zip(places.tolist(), numbers.tolist(), strict=True)
        again[places] = [claims.url(place) == urls[number] for place, number in pairs]
        lengths = claims.url_bytes
        places = (claims.alive & (self.earlier != _NONE)).nonzero()[0]
        places = places[lengths[places] == lengths[self.earlier[places]]]
        pairs = zip(places.tolist(), self.earlier[places].tolist(), strict=True)
        again[places] = [claims.url(place) == claims.url(earlier) for place, earlier in pairs]
        return again

    @cached_property
    def _found(self) -> NDArray[np.bool_]:
        """Which pages are near to a survivor."""
        found: NDArray[np.bool_] = (self.stored != _NONE) | (self.earlier != _NONE)
        return found

    def _original(self, place: int, claim: Claim) -> Hit:
        number = int(self.stored[place])
        if number == _NONE:
            earlier = int(self.earlier[place])
            other = self.claims[earlier]
            match = self.near(claim, other)
            assert match is not None
            return Hit(
                place=place,
                order=(self.batch, earlier),
                url=other.url,
                distance=match.distance,
                reason=match.reason,
                agreement=agreement(claim.sketch, other.sketch) if claim.sketch and other.sketch else None,
            )
        answer = int(np.searchsorted(self._hits_up_to, number, side="right"))
        return self.answers[answer].hit(number - (int(self._hits_up_to[answer - 1]) if answer else 0))

    @cached_property
    def _hits_up_to(self) -> NDArray[np.int64]:
        return np.cumsum([len(answer.urls) for answer in self.answers])


def _why_unique(claim: Claim) -> str:
    if claim.flags:
        return NOT_KEPT if claim.flags & NOT_STORED else PARDON
    return FIRST if claim.fingerprint is not None else NO_FEATURES


def _may_be_same(sites: NDArray[np.uint32], others: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Which sites are the same as the others, or unknown."""
    same: NDArray[np.bool_] = (sites == others) | (sites == 0) | (others == 0)
    return same


def agreed_void(answers: Sequence[Answer]) -> NDArray[np.uint32]:
    """The places of void claims, on which all shards must agree.

    Raises:
        Refused: they do not; one shard's state is corrupt.
    """
    first = answers[0]
    for answer in answers[1:]:
        if answer.void != first.void:
            raise Refused(
                f"shards {first.shard} and {answer.shard} disagree on which claims of batch {first.batch} are void: "
                f"{_places(first.void).tolist()} against {_places(answer.void).tolist()}. One of them has lost part "
                "of its state; stop all workers and run `python -m worker index inspect` to see which"
            )
    return _places(first.void)


def decide(
    batch: int, claims: Claims, answers: Sequence[Answer], near: ScopedNear, *, track_changes: bool = False
) -> Decisions:
    """Judge the batch at offset ``batch`` from the answers of all shards.

    It goes through the claims in order. It compares each claim with the earliest of two: the earliest live survivor in
    the answers and the earliest survivor before the claim in this batch. With none, the claim is unique, a survivor
    itself; with a survivor of its own URL it is a refetch; otherwise it is a duplicate of that survivor, never of
    another duplicate. Every stored survivor comes from an earlier batch, so it comes before any survivor of this one. A
    unique page that is not to be stored is no survivor. A pardoned page is compared with survivors of its own URL only:
    an answer names no others, unless it names so many that no further page is pardoned.

    With ``track_changes`` it also compares each claim with the latest survivor of its URL and scope: the last one
    before it in this batch, otherwise the latest in the answers. No verdict depends on that.

    Raises:
        Refused: the answers contradict each other.
    """
    count = len(claims)
    void = np.zeros(count, np.bool_)
    places = agreed_void(answers)
    void[places[places < count]] = True
    stored = _earliest_stored(answers, count)
    asked = ~void & claims.alive & (stored == _NONE)
    earlier = earliest_in_batch(claims.pages, asked, near, claims.flagged)
    unique = asked & (earlier == _NONE)
    seen = LatestOfUrl.of(claims, unique & claims.stored, answers) if track_changes else None
    return Decisions(batch, claims, near, void, unique, earlier, stored, seen, answers)


def _earliest_stored(answers: Sequence[Answer], count: int) -> NDArray[np.int64]:
    """For each of ``count`` claims the number, among the hits of all answers, of the hit on the earliest survivor; -1
    for none."""

    def column(name: str, dtype: str) -> NDArray[Any]:
        return np.frombuffer(b"".join([getattr(answer, name) for answer in answers]), dtype)

    place = column("place", "<u4")
    stored = np.full(count, _NONE, np.int64)
    if not len(place):
        return stored
    order = np.lexsort((column("original_place", "<u4"), column("original_batch", "<i8"), place))
    place = place[order]
    first = np.append(True, place[1:] != place[:-1]).nonzero()[0]
    first = first[place[first] < count]
    stored[place[first]] = order[first]
    return stored


def _places(column: bytes) -> NDArray[np.uint32]:
    return np.frombuffer(column, "<u4")


def home_shard(page: Homed, shards: int) -> int:
    """The one shard that stores this page if it survives.

    A multiplication by the golden ratio spreads neighbouring fingerprints (Knuth, TAOCP volume 3, section 6.4). Equal
    fingerprints go to the same shard, except those of doubted texts: one such text may stand under a million titles.
    """
    identity = page.text_hash if page.fingerprint is None else page.fingerprint
    if page.doubt:
        identity ^= int(title_masks(np.array([page.title], np.uint32))[0])
    return ((identity * int(_GOLDEN) & MAX_U64) >> 32) * shards >> 32


def home_shards(pages: Queries, shards: int) -> NDArray[np.int64]:
    """``home_shard`` of each of n pages, int64 (n,)."""
    if shards == 1:
        return np.zeros(len(pages), np.int64)
    identity = np.where(pages.bare, pages.text_hash, pages.fingerprint)
    if pages.doubt is not None and pages.title is not None:
        identity ^= np.where(pages.doubt != 0, title_masks(pages.title), np.uint64(0))
    return ((identity * _GOLDEN >> _HALF) * np.uint64(shards) >> _HALF).astype(np.int64)
