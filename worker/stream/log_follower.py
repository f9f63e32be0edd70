"""Follows both logs from a replay point and decides every batch when all shards have answered it."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import xxhash
from numpy.typing import NDArray

from crawler_plugin.wire.errors import Refused, Unavailable, UnreadableRecord
from crawler_plugin.wire.forgetting import Forget, ForgetCondition
from crawler_plugin.wire.messages import Answer, decode, decode_claims
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS
from worker.index.queries import Queries
from worker.stream.barrier import Barrier, Ends, end_of, impossible_or_beyond, unreadable
from worker.stream.log import Readable, Record
from worker.stream.observer import Observer
from worker.stream.policy import COPIED, Policy, ReplayPoint, other_scheme
from worker.verdict.claims import Claims
from worker.verdict.decide import Decisions, decide

REMEMBERED_ANSWERS: Final = 4096
"""Number of answers whose hash is kept after their batch is decided, to recognise a later answer that differs. The
answers themselves would take a hundred megabytes where most pages are copies."""


@dataclass(frozen=True, eq=False)
class Pending:
    """A batch that was read but is not decided, with the time of reading in seconds by the worker's own clock.

    Or a record between batches, without claims, with a condition: all pages that meet it are to be ``forgotten``.
    """

    offset: int
    writer: bytes
    claims: Claims
    read_at: float = 0.0
    forgotten: ForgetCondition | None = None
    _asked: dict[bytes, Queries] = field(default_factory=dict, init=False, repr=False)

    def queries(self, asked: NDArray[np.bool_]) -> Queries:
        """The claims to look up; made once for all shards of a worker, which ask for the same ones."""
        key = asked.tobytes()
        if key not in self._asked:
            self._asked[key] = self.claims.pages.among(asked)
        return self._asked[key]


@dataclass(frozen=True, eq=False)
class DecidedBatch:
    """A batch and the decisions on it.

    ``before`` is the replay point from which this batch would be read again, ``after`` that of the next batch.
    """

    offset: int
    writer: bytes
    decisions: Decisions
    before: ReplayPoint
    after: ReplayPoint

    @property
    def claims(self) -> Claims:
        return self.decisions.claims


@dataclass(frozen=True)
class Forgetting:
    """A record by which all pages that meet a condition are forgotten; all batches before it are decided, none after.

    ``after`` is the replay point of the next batch.
    """

    offset: int
    condition: ForgetCondition
    after: ReplayPoint


class LogSubscriber(ABC):
    """The calls by which a shard, a page partition and the claimer follow the logs."""

    def on_read(self, pending: Pending) -> None:  # noqa: B027 -- most need not know
        """A batch that may be decided was read; it may be reported more than once."""

    @abstractmethod
    def on_decided(self, decided: DecidedBatch) -> None:
        """A batch was decided; reported once each, in order."""

    def on_forget(self, forgetting: Forgetting) -> None:  # noqa: B027 -- only shards hold what is forgotten
        """Pages are to be forgotten; reported once each, in order, between batches."""


class Follower:
    """Both logs from one replay point on, for any number of subscribers that stand at the same place.

    Batches of another scheme, and records that are no batch, are void as a whole: every worker skips them. At a record
    that must not be decided (``worker.stream.barrier``) every worker ends, once all before it is decided.
    """

    def __init__(
        self,
        log: Readable,
        policy: Policy,
        start: ReplayPoint,
        observer: Observer,
        ends: Ends,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.policy = policy
        self.clock = clock
        self.observer = observer
        self.subscribers: list[LogSubscriber] = []
        self.fingerprints = log.reader(FINGERPRINTS, 0, start.batch)
        try:
            self.answers_reader = log.reader(ANSWERS, 0, start.answers_offset)
        except Unavailable:
            self.fingerprints.close()
            raise
        self.ends = ends
        self.pending: deque[Pending] = deque()
        self.barrier: Barrier | None = None
        self._unchecked: deque[Pending | Barrier] = deque()
        self.answers_offset = start.answers_offset
        self.answers: dict[int, dict[int, tuple[Answer, int]]] = {}
        self.first_answers: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self._heard: dict[int, float] = {}

    @property
    def place(self) -> ReplayPoint:
        """The replay point of the first batch that is not decided."""
        if self.pending:
            return ReplayPoint(self.pending[0].offset, self.answers_offset)
        return ReplayPoint(self.barrier.offset if self.barrier else self.told_up_to, self.answers_offset)

    @property
    def told_up_to(self) -> int:
        """All batches before this offset were reported to subscribers, except those that are never decided."""
        return self._unchecked[0].offset if self._unchecked else self.fingerprints.position

    def join(self, subscriber: LogSubscriber) -> None:
        """Add a subscriber whose replay point is this follower's ``place``."""
        for pending in self.pending:
            subscriber.on_read(pending)
        self.subscribers.append(subscriber)

    def leave(self, subscriber: LogSubscriber) -> None:
        """Remove a subscriber, if it was one."""
        self.subscribers = [other for other in self.subscribers if other is not subscriber]

    def close(self) -> None:
        self.fingerprints.close()
        self.answers_reader.close()

    def read(self, wait: float = 0.0) -> None:
        """Read what both logs have; decides nothing. Waits at most this many seconds for the next record.

        With nothing pending, the next record is a batch. Waiting for answers comes later, since the shards here answer
        first.
        """
        answered = bool(self.pending)
        for record in self.fingerprints.read(0.0 if answered else wait):
            self._take_batch(record)
        self._check()
        for record in self.answers_reader.read(wait if answered and self.missing() else 0.0):
            self._take_answer(record)

    @property
    def barred(self) -> Barrier | None:
        """The record that must not be decided, once all before it is decided."""
        return None if self.pending else self.barrier

    def missing(self) -> frozenset[int]:
        """The shards whose answer to the first undecided batch was not read yet; none if there is no such batch, or if
        pages are to be forgotten first."""
        if not self.pending or self.pending[0].forgotten is not None:
            return frozenset()
        return frozenset(range(self.policy.shards)) - self.answers.get(self.pending[0].offset, {}).keys()

    def silent_for(self, shard: int) -> float:
        """Seconds that the first undecided batch, which must exist, has been here without a sign of life from another
        worker that answers for this shard.

        An answer to an earlier batch is a sign of life. So where others work off a backlog no worker needs to help
        them; and where they are gone, the batches that have gathered need not wait one after the other.
        """
        return self.clock() - max(self.pending[0].read_at, self._heard.get(shard, self.pending[0].read_at))

    def forget_others(self) -> None:
        """Forget the other workers' answers, as if none had come yet."""
        self._heard.clear()

    def heard_another(self, shard: int) -> bool:
        """Whether an answer of another worker for this shard was read since ``forget_others``."""
        return shard in self._heard

    def decide(self, before: int | None = None) -> int:
        """Decide all batches that can be decided, up to the one at offset ``before``; returns how many. A record of
        pages to be forgotten is reported when all before it is decided.

        Raises:
            Refused: answers contradict each other.
        """
        count = 0
        while self.pending and not self.missing() and (before is None or self.pending[0].offset < before):
            if (condition := self.pending[0].forgotten) is not None:
                self._forget(self.pending.popleft().offset, condition)
                continue
            here = self.place
            offset, writer, claims = self.pending[0].offset, self.pending[0].writer, self.pending[0].claims
            found = self.answers.pop(offset)
            answers = [found[shard][0] for shard in range(self.policy.shards)]
            decisions = decide(offset, claims, answers, self.policy.near, track_changes=self.policy.track_changes)
            self.answers_offset = max(self.answers_offset, 1 + max(position for _, position in found.values()))
            self.pending.popleft()
            for shard, (answer, _) in found.items():
                self.first_answers[offset, shard] = xxhash.xxh3_128_digest(answer.gist())
            while len(self.first_answers) > REMEMBERED_ANSWERS:
                self.first_answers.popitem(last=False)
            after = ReplayPoint(offset + 1, self.answers_offset)
            decided = DecidedBatch(offset, writer, decisions, here, after)
            for subscriber in list(self.subscribers):
                subscriber.on_decided(decided)
            count += 1
        return count

    def _forget(self, offset: int, condition: ForgetCondition) -> None:
        forgetting = Forgetting(offset, condition, ReplayPoint(offset + 1, self.answers_offset))
        for subscriber in list(self.subscribers):
            subscriber.on_forget(forgetting)

    def _check(self) -> None:
        """Report batches that may be decided; batches that cannot be checked while the broker is away are checked
        later."""
        while self._unchecked:
            try:
                checked = self._checked(self._unchecked[0])
            except Unavailable:
                return
            if isinstance(checked, Barrier):
                self.barrier = checked
                self._unchecked.clear()
                return
            self._unchecked.popleft()
            self.pending.append(checked)
            for subscriber in self.subscribers:
                subscriber.on_read(checked)

    def _checked(self, read: Pending | Barrier) -> Pending | Barrier:
        if isinstance(read, Barrier):
            return read
        why = impossible_or_beyond(read.writer, read.claims, self.ends)
        return read if why is None else Barrier(read.offset, why)

    def _take_batch(self, record: Record) -> None:
        if self.barrier is not None:
            return
        if (ended := end_of(record)) is not None:
            self._unchecked.append(ended)
            return
        try:
            batch = decode_claims(record.value)
        except Refused as refusal:
            self._unchecked.append(unreadable(record, refusal))
            return
        except UnreadableRecord as error:
            self.observer.unreadable(FINGERPRINTS, record.offset, str(error))
            return
        if batch.scheme != self.policy.scheme:
            if record.offset == 0:
                # Another worker began the log while this one found it empty: the log has that worker's scheme.
                raise other_scheme(self.policy, batch.scheme, record.headers, FINGERPRINTS)
            if batch.scheme == COPIED:
                return  # the end of a copy, after which standby workers begin
            self.observer.foreign_scheme(record.offset, batch.scheme)
            return
        if isinstance(batch, Forget):
            self._unchecked.append(Pending(record.offset, batch.writer, Claims.of([]), self.clock(), batch.condition))
            return
        try:
            claims = Claims.of_batch(batch)
        except UnreadableRecord as error:
            self.observer.unreadable(FINGERPRINTS, record.offset, str(error))
            return
        self._unchecked.append(Pending(record.offset, batch.writer, claims, self.clock()))

    def _take_answer(self, record: Record) -> None:
        try:
            answer = decode(Answer, record.value)
        except UnreadableRecord as error:
            self.observer.unreadable(ANSWERS, record.offset, str(error))
            return
        if answer.scheme != self.policy.scheme or not 0 <= answer.shard < self.policy.shards:
            return
        if answer.writer != self.policy.writer:
            self._heard[answer.shard] = self.clock()
        first = self.first_answers.get((answer.batch, answer.shard))
        if first is None and answer.batch >= self.place.batch:
            of_batch = self.answers.setdefault(answer.batch, {})
            earlier, _ = of_batch.setdefault(answer.shard, (answer, record.offset))
            if earlier is answer:
                return
            first = xxhash.xxh3_128_digest(earlier.gist())
        if first is not None and first != xxhash.xxh3_128_digest(answer.gist()):
            raise Refused(
                f"two answers of shard {answer.shard} to batch {answer.batch} differ (the later one at offset "
                f"{record.offset} of {ANSWERS}, by worker {answer.writer.hex()}): the index of one of them is "
                "damaged. Stop all workers and run `python -m worker index inspect`"
            )
