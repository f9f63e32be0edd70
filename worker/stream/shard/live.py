"""A worker's shard at work: what it answers, stores and seals for the topic."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from crawler_plugin.wire.forgetting import ForgetCondition, Forgotten
from crawler_plugin.wire.messages import NOT_KNOWN, SAME_TEXT, Answer, Block, Order
from worker.index.blocks import Header, pack
from worker.index.entries import OPTIONAL, Entries, Survivor
from worker.index.forgetting import in_force, one_more, without
from worker.index.in_batch import void_claims
from worker.index.queries import Found, Queries
from worker.stream.log_follower import DecidedBatch, Forgetting, LogSubscriber, Pending
from worker.stream.observer import Observer
from worker.stream.policy import Policy, ReplayPoint
from worker.stream.shard.expiry_clocks import Clocks
from worker.stream.shard.hints import Hint, Hints
from worker.stream.shard.memory_limit import Measured, MemoryLimit
from worker.verdict.clock import NO_WATERMARK, watermark_after
from worker.verdict.findings import CopyGroups
from worker.verdict.suspects import Suspects, Templates

MOST_PARDONED: Final = 64
"""A page is pardoned only while at most this many survivors of one shard are near to it; beyond, it is judged as every
page. With a hundred thousand survivors of one text each look-up that has a band in common with it would take 6 ms."""
NEVER: Final = -1
"""The floor while nothing has expired, and the end of the cover before the first batch."""


class Index(Measured, Protocol):
    """The part of ``worker.index.shard.Shard`` that is needed."""

    def earliest_near(self, queries: Queries, expired_up_to: int = ..., after: int = ...) -> Found:
        """For each query the earliest live entry that is near, among those after a slot."""

    def latest_of(
        self, url: Callable[[int], str], hashes: NDArray[np.uint64], queries: Queries, expired_up_to: int = ...
    ) -> Found:
        """For each query the latest live entry of its URL; ``hashes`` are those of the URLs."""

    def urls(self, slots: NDArray[np.int64]) -> Sequence[str]:
        """The URLs of entries that were just found; they may be decompressed when they are read."""

    def tokens(self, slot: int) -> int:
        """The number of tokens of an entry that was just found."""

    def store(self, entries: Entries | Sequence[Survivor]) -> None:
        """Add survivors, later than all that are there."""

    def load(self, parts: Iterable[Entries], expected: int = ...) -> None:
        """Add many survivors, in parts; this many are expected."""

    def remove(self, condition: ForgetCondition) -> int:
        """Remove the entries that meet a condition; returns how many."""

    def expire(self, up_to_batch: int) -> int:
        """Remove the entries of all batches up to this one; returns how many."""

    def entries(self, after: int = ...) -> Entries:
        """All live entries of batches later than ``after``, as of now, whatever is stored or removed later."""

    def dismantle(self) -> Iterator[None]:
        """Free memory, a little in each step; after this, no queries are allowed."""

    @property
    def look_ups(self) -> int:
        """Queries answered so far."""

    @property
    def candidates(self) -> int:
        """Entries compared for the look-ups so far."""

    @property
    def splits(self) -> int:
        """Buckets that became so full that they were split."""

    @property
    def largest_bucket(self) -> int:
        """Entries in the fullest bucket: what the slowest look-up reads."""


IndexFactory = Callable[[], Index]


@dataclass
class Standing:
    """A shard's knowledge apart from its survivors, as of just after batch ``to``.

    ``claimed_up_to`` holds the highest claimed offset of each partition of ``pages``; ``answers_offset`` is where to
    read ``answers`` on. ``clocks`` are of the batches that have left a survivor here, none where nothing expires.
    ``floor`` is a batch up to which all has expired. ``suspects`` are survivors, as in ``worker.verdict.suspects``. The
    conditions that were ``forgotten`` and have not expired since are a function of the log: all shards know the same.
    """

    to: int = NEVER
    answers_offset: int = 0
    watermark: int = NO_WATERMARK
    claimed_up_to: dict[int, int] = field(default_factory=dict)
    floor: int = NEVER
    clocks: Clocks = field(default_factory=Clocks)
    suspects: dict[Order, Order] = field(default_factory=dict)
    forgotten: tuple[Forgotten, ...] = ()

    def expired_up_to(self, ttl: int | None) -> int:
        """The last batch whose survivors are expired for the batch after ``to``.

        They are expired when the watermark just after their batch is less than the present watermark minus ``ttl``.
        """
        if ttl is None:
            return self.floor
        return max(self.floor, self.clocks.last_below(self.watermark - ttl))

    def still_forgotten(self, ttl: int | None) -> tuple[Forgotten, ...]:
        """The conditions that a block that ends here names."""
        return in_force(self.forgotten, self.watermark, ttl)


@dataclass(frozen=True, eq=False)
class Frozen:
    """The state of a shard just after a batch, all of it in sealed blocks; later batches do not change it."""

    standing: Standing
    entries: Entries

    def as_block(self, number: int, policy: Policy, floor: int) -> Block:
        """The block that stands for all blocks up to here: their last header and the clocks of all entries.

        ``floor`` is the largest one on the topic.
        """
        standing = self.standing
        header = Header(
            scheme=policy.scheme,
            writer=policy.writer,
            shard=number,
            after=NEVER,
            to=standing.to,
            answers_offset=standing.answers_offset,
            watermark=standing.watermark,
            claimed_up_to=standing.claimed_up_to,
            floor=min(floor, standing.floor),
            clocks=(),
            suspects=tuple(standing.suspects),
            forgotten=standing.still_forgotten(policy.ttl),
        )
        return msgspec.structs.replace(pack(Entries.empty(), header), clocks=tuple(standing.clocks))


@dataclass(eq=False)
class LiveShard(LogSubscriber):
    """A shard restored up to a batch, following the logs from there.

    Everything that it answers, stores and seals is a function of its blocks and the logs. So two holders of a shard
    differ only in where they cut their blocks. It seals blocks whether or not it writes them: when the active holder is
    gone, another holder writes what is left in blocks that are small enough, each with its own header.

    ``hints`` are of the batches that were decided here; they run when their holder calls ``hints.step``. All shards of
    this process count in ``templates``. With ``opens_later`` the URLs in its answers are decompressed when they are
    read: for a holder that sends no answers.
    """

    number: int
    policy: Policy
    index: Index
    standing: Standing
    memory_limit: MemoryLimit = field(default_factory=MemoryLimit)
    observer: Observer = field(default_factory=Observer)
    templates: Templates = field(default_factory=Templates)
    opens_later: bool = False

    def __post_init__(self) -> None:
        rules = self.policy.findings
        self.groups = CopyGroups(rules)
        self.suspects = Suspects(rules.suspect_pages, self.templates, self.standing.suspects)
        hints: dict[str, Hint] = {"findings": self.groups} if rules.groups else {}
        hints |= {"suspects": self.suspects} if rules.suspect_pages else {}
        self.hints = Hints(hints, self.number, self.policy.shards, self.observer, self.suspects.begin)
        self.sealed: deque[Block] = deque()
        self._sealed_to = self.standing.to
        """Up to this batch survivors are in sealed blocks, of this holder or of others."""
        self._open: list[Entries] = []
        self._open_count = 0
        self._open_clocks: list[Order] = []
        self._open_bytes = 0

    @property
    def replay_point(self) -> ReplayPoint:
        """Where this shard reads the logs on."""
        return ReplayPoint(self.standing.to + 1, self.standing.answers_offset)

    @property
    def nbytes(self) -> int:
        """Bytes of the index and of the clocks by which its entries expire."""
        return self.index.nbytes + self.standing.clocks.nbytes

    @property
    def unflushed(self) -> int:
        """Survivors that no sealed block holds yet."""
        return self._open_count

    def answer(self, pending: Pending) -> Answer:
        """Void claims and earliest live survivors for the first undecided batch; changes nothing.

        All earlier batches must have been decided, since claims are compared with survivors only.
        """
        claims = pending.claims
        void = void_claims(claims.partition, claims.offset, self.standing.claimed_up_to)
        asked = ~void & claims.alive
        expired = self.standing.expired_up_to(self.policy.ttl)
        found = self.index.earliest_near(pending.queries(asked), expired)
        if claims.flags is not None:
            self._look_for_own(pending, asked, found, expired)
        hits = (found.slots >= 0).nonzero()[0]
        urls = self.index.urls(found.slots[hits])
        orders = _orders_of(found, hits)
        return Answer(
            scheme=self.policy.scheme,
            writer=self.policy.writer,
            batch=pending.offset,
            shard=self.number,
            void=void.nonzero()[0].astype("<u4").tobytes(),
            place=asked.nonzero()[0][hits].astype("<u4").tobytes(),
            original_batch=found.batches[hits].astype("<i8").tobytes(),
            original_place=found.places[hits].astype("<u4").tobytes(),
            distance=_known(found.distances[hits]),
            agreement=_known(found.agreements[hits]),
            reason=found.reasons[hits].tobytes(),
            no_page=bytes(map(self.groups.is_no_page, orders)) if len(self.groups) else bytes(len(hits)),
            urls=cast(tuple[str, ...], urls) if self.opens_later else tuple(urls),
            suspect=bytes(order in self.suspects.known for order in orders) if self.suspects.known else b"",
            **(self._seen(pending, asked, expired) if self.policy.track_changes else {}),
        )

    def _look_for_own(self, pending: Pending, asked: NDArray[np.bool_], found: Found, expired: int) -> None:
        """For each pardoned claim, put the survivor of its own URL, or nothing, in place of the hit; not where more
        than ``MOST_PARDONED`` survivors are near to it."""
        claims, places = pending.claims, np.flatnonzero(asked)
        for query in np.flatnonzero(claims.pardoned[places] & (found.slots >= 0)).tolist():
            url, alone = claims.url(int(places[query])), pending.queries(asked).among(np.array([query]))
            slots = found.slots[query : query + 1]
            for _ in range(MOST_PARDONED):
                if slots[0] < 0 or self.index.urls(slots)[0] == url:
                    break
                one = self.index.earliest_near(alone, expired, int(slots[0]))
                slots = one.slots
            else:
                continue
            if slots[0] != found.slots[query]:
                found.put(query, one)

    def _seen(self, pending: Pending, asked: NDArray[np.bool_], expired: int) -> dict[str, bytes]:
        """The columns of an answer that name the latest survivors of the claims' own URLs."""
        claims, places = pending.claims, np.flatnonzero(asked)
        found = self.index.latest_of(
            lambda query: claims.url(int(places[query])), claims.url_hashes[asked], pending.queries(asked), expired
        )
        hits = np.flatnonzero(found.slots >= 0)
        agreements = np.where(found.exact, SAME_TEXT, found.agreements)
        return {
            "seen_at": places[hits].astype("<u4").tobytes(),
            "seen_batch": found.batches[hits].astype("<i8").tobytes(),
            "seen_place": found.places[hits].astype("<u4").tobytes(),
            "seen_tokens": np.array([self.index.tokens(slot) for slot in found.slots[hits].tolist()], "<u4").tobytes(),
            "seen_agreement": _known(agreements[hits]),
        }

    def on_decided(self, decided: DecidedBatch) -> None:
        """Move the watermark and the claimed offsets over all claims of the batch, including void and dead ones; store
        the survivors that live here.

        Raises:
            OverMemoryLimit: before the survivors would take more memory than the setting allows.
        """
        claims = decided.claims
        standing = self.standing
        for partition, offset in claims.highest.items():
            standing.claimed_up_to[partition] = max(offset, standing.claimed_up_to.get(partition, -1))
        standing.watermark = watermark_after(standing.watermark, claims)
        standing.to = decided.offset
        standing.answers_offset = decided.after.answers_offset
        places = decided.decisions.survivors(self.number, self.policy.shards)
        if len(places):
            survivors = entries_of(decided, places)
            self.memory_limit.grow(self.number, len(survivors), self.index, standing.clocks.nbytes)
            self.index.store(survivors)
            if self.policy.ttl is not None:
                standing.clocks.append(decided.offset, standing.watermark)
            if decided.offset > self._sealed_to:
                self._open_clocks.append((decided.offset, standing.watermark))
                self._open.append(survivors)
                self._open_count += len(survivors)
                self._open_bytes += sum(map(len, survivors.urls))
        self.hints.offer(decided.decisions)
        if self._open_count >= self.policy.flush_entries or self._open_bytes >= self.policy.flush_bytes:
            self.seal()

    def on_forget(self, forgetting: Forgetting) -> None:
        """Remove the entries that meet the record's condition, and seal a block at once: when it is on the topic,
        everyone who restores the shard has forgotten them, too, and the writer of the record sees it.

        A record that would bring more conditions than blocks can name is void, for all shards.
        """
        standing, after = self.standing, forgetting.after
        standing.to, standing.answers_offset = forgetting.offset, after.answers_offset
        new = Forgotten(forgetting.condition, forgetting.offset, standing.watermark)
        removed = None
        if (forgotten := one_more(standing.still_forgotten(self.policy.ttl), new)) is not None:
            standing.forgotten = forgotten
            self._open = [without(Entries.concatenate(self._open), (new,))]
            self._open_count, self._open_bytes = len(self._open[0]), sum(map(len, self._open[0].urls))
            removed = self.index.remove(forgetting.condition)
        self.observer.forgotten(self.number, forgetting.condition, forgetting.offset, removed)
        self.seal()

    def seal(self) -> bool:
        """Pack the survivors since the last sealed block, with the header as of now; false if nothing was decided.

        A block is sealed where it ends, so that its header can never be that of a later batch, and it is immutable: if
        it is sent again after an error it is the same block under another key.
        """
        standing = self.standing
        if standing.to <= self._sealed_to:
            return False
        standing.floor = standing.expired_up_to(self.policy.ttl)
        live = Entries.concatenate(self._open).after(standing.floor)
        batches = set(live.batch.tolist())
        header = Header(
            scheme=self.policy.scheme,
            writer=self.policy.writer,
            shard=self.number,
            after=self._sealed_to,
            to=standing.to,
            answers_offset=standing.answers_offset,
            watermark=standing.watermark,
            claimed_up_to=dict(standing.claimed_up_to),
            floor=standing.floor,
            clocks=tuple(clock for clock in self._open_clocks if clock[0] in batches),
            suspects=self.suspects.unsealed(standing.floor),
            forgotten=standing.still_forgotten(self.policy.ttl),
        )
        self.sealed.append(pack(live, header))
        self._sealed_to = standing.to
        self._open, self._open_clocks = [], []
        self._open_count = self._open_bytes = 0
        return True

    def let_go(self, up_to: int) -> None:
        """Blocks on the topic cover the batches up to this one: drop their survivors from what is to be written.

        The batch may lie ahead of this shard; then what is decided up to there will not have to be written. A sealed
        block that goes beyond it stays as it is.
        """
        while self.sealed and self.sealed[0].to <= up_to:
            self.sealed.popleft()
        if up_to <= self._sealed_to:
            return
        left = [] if up_to >= self.standing.to else [Entries.concatenate(self._open).after(up_to)]
        self._sealed_to = up_to
        self._open, self._open_clocks = left, [clock for clock in self._open_clocks if clock[0] > up_to]
        self._open_count, self._open_bytes = sum(map(len, left)), sum(len(url) for part in left for url in part.urls)

    def frozen(self) -> Frozen | None:
        """The shard as of now, or None while survivors are in no sealed block yet, or nothing was ever decided."""
        standing = self.standing
        if standing.to > self._sealed_to or standing.to == NEVER:
            return None
        copy = replace(
            standing,
            claimed_up_to=dict(standing.claimed_up_to),
            clocks=standing.clocks.after(standing.floor),
            suspects=dict(standing.suspects),
        )
        return Frozen(copy, self.index.entries(standing.floor))

    def tidy(self) -> int:
        """Remove expired entries from memory; returns how many. The answers are the same without it."""
        standing = self.standing
        standing.floor = standing.expired_up_to(self.policy.ttl)
        if not standing.clocks.drop(standing.floor):
            return 0
        self.suspects.expire(standing.floor)
        return self.index.expire(standing.floor)


def _orders_of(found: Found, hits: NDArray[np.int64]) -> list[Order]:
    return list(zip(found.batches[hits].tolist(), found.places[hits].tolist(), strict=True))


def _known(numbers: NDArray[np.int64]) -> bytes:
    """A byte each, of which one stands for all below 0."""
    return np.where(numbers < 0, NOT_KNOWN, numbers).astype(np.uint8).tobytes()


def entries_of(decided: DecidedBatch, places: NDArray[np.int64]) -> Entries:
    """The claims at these places of a batch, as survivors."""
    claims = decided.claims
    pages = claims.pages.among(places)
    optional = {name: getattr(pages, name) for name in OPTIONAL}
    assert pages.tokens is not None
    return Entries(
        batch=np.full(len(places), decided.offset, np.int64),
        place=places.astype(np.uint32),
        fingerprint=pages.fingerprint,
        bare=pages.bare,
        text_hash=pages.text_hash,
        tokens=pages.tokens,
        url_hash=claims.url_hashes_at(places),
        fetched=claims.clock[places],
        urls=claims.urls_at(places),
        **{name: column if column.any() else None for name, column in optional.items()},
    )
