"""The pages of one partition on their way from consumed to committed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from crawler_plugin.wire.errors import Refused, UsageError
from crawler_plugin.wire.messages import Claim
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, PAGES
from worker.stream.log import Committed, Log, Record
from worker.stream.log_follower import DecidedBatch, LogSubscriber, Pending
from worker.stream.observer import Observer
from worker.stream.partition.record_sizes import record_bytes
from worker.stream.policy import NOTHING, Note, ReplayPoint
from worker.stream.replay import readable_point
from worker.stream.states import PARTITION_MOVES, PartitionState, moved
from worker.verdict.decide import DEAD, Decision

SKIPPED: Final = "skipped"
"""Reason of a page that an operator skipped (``worker.operations.skip``): nothing of it is needed any more."""


def is_skipped(dead: str | None) -> bool:
    """Whether this reason of a dead claim says that an operator skipped the page."""
    return dead is not None and dead.partition(": ")[0] == SKIPPED


class Due(NamedTuple):
    """A decision that is not committed, and the replay point from which its batch is read again."""

    decision: Decision
    before: ReplayPoint


@dataclass(eq=False)
class OwnedPartition(LogSubscriber):
    """One partition of ``pages`` in the hands of this worker.

    ``committed_offset`` is the first offset that is not committed. ``claimed_up_to`` is the highest offset in any
    worker's claims that were read: only pages above it are claimed. ``decided_up_to`` is the highest offset whose first
    claim was seen decided. Pages below ``written_from`` are only counted; with ``counts`` (``output.mode``) all are.
    ``skipped`` are offsets of pages that an operator skipped (``is_skipped``) and that are not committed: they can be
    committed although the page is not held.
    """

    number: int
    observer: Observer
    counts: bool = False
    inherited: Callable[[int], Committed | None] = lambda partition: None
    """What the previous generation left of a partition without a commit; raises ``NotYet`` as ``Inheritance`` does."""

    def __post_init__(self) -> None:
        self.state = PartitionState.LOCATING
        self.committed_offset = self.claimed_up_to = self.decided_up_to = self.catch_up_to = -1
        self.held: dict[int, Record] = {}
        self.held_bytes = 0
        self.skipped: set[int] = set()
        self.decisions: deque[Due] = deque()
        self.waiting: deque[int] = deque()
        self.claims: dict[int, Claim] = {}
        self.committed_point = ReplayPoint(0, 0)
        self.written_from = NOTHING if self.counts else 0
        self.observer.partition_state(self.number, self.state)

    def move(self, to: PartitionState) -> None:
        self.state = moved(PARTITION_MOVES, self.state, to)
        self.observer.partition_state(self.number, to)

    def locate(self, log: Log) -> ReplayPoint:
        """Find the replay point that stands next to the committed offset, or commit a first one.

        1. Ask for the group's committed offset; this waits for pending transactions of an earlier owner.
        2. If there is none, take the end of ``answers``, then the end of ``fingerprints``, and commit both with the
           first offset before anything is claimed. They are taken in this order, since an answer to a batch at or after
           the second cannot lie before the first; and they are committed, since a later owner that finds claims but no
           commit would not know their verdicts.
           Where the generation goes on for another one, commit what it inherited instead.
        3. If the point is older than the answers that are kept, although no batch came after it, commit the place where
           these answers begin, before anything is claimed. Once there is a batch, no one could tell that no answer is
           missing.
        4. Ask where ``fingerprints`` ends now: all claims before this worker owned the partition lie before that end.

        Raises:
            NotYet: ask again.
            Refused: this program did not write the commit, or the commit points to records that are gone.
        """
        committed = log.pages().committed(self.number)
        if committed is None:
            committed = self._first_commit(log)
        note = Note.from_metadata(committed.metadata, f"partition {self.number} of {PAGES}")
        self._check_outputs(note, committed.offset)
        point = note.point
        pages = log.bounds(PAGES, self.number)
        if not pages.begin <= committed.offset <= pages.end:
            raise Refused(
                f"partition {self.number} of {PAGES} is consumed up to offset {committed.offset}, but holds "
                f"{pages.begin} to {pages.end}: the topic was made anew, or pages passed its retention unread. "
                "Run `python -m worker repair --accept-gap`, which lists what was lost and moves the offset"
            )
        here = readable_point(log, point, f"partition {self.number} of {PAGES}")
        if here != point:
            log.pages().commit({self.number: Committed(committed.offset, note._replace(point=here).to_metadata())})
        self.committed_offset = committed.offset
        self.written_from = NOTHING if self.counts else note.written_from
        self.claimed_up_to = self.decided_up_to = committed.offset - 1
        self.committed_point = here
        self.catch_up_to = log.bounds(FINGERPRINTS, 0).end
        self.move(PartitionState.REPLAYING)
        return here

    def _check_outputs(self, note: Note, offset: int) -> None:
        """Check that each page will stand in the outputs once, whatever ``output.mode`` was before."""
        where = f"partition {self.number} of {PAGES}"
        if self.counts and not note.counts:
            raise Refused(
                f"the pages of {where} were written to the outputs up to offset {offset}, and with output.mode=count "
                "the next ones would be missing there. Give workers that only count a topics.generation of their own"
            )
        if not self.counts and note.successor is not None:
            raise Refused(
                f"the outputs of {where} were given to topics.generation={note.successor!r} from offset {offset} on: "
                "start workers with that one, or these with output.mode=count"
            )
        if not self.counts and note.counts:
            raise Refused(
                f"the pages of {where} were only counted up to offset {offset}, and another generation may have "
                "written the next ones to the outputs: stop the workers of both, run `python -m worker switch --from "
                "GENERATION`, and start these again"
            )

    def _first_commit(self, log: Log) -> Committed:
        answers_offset = log.bounds(ANSWERS, 0).end
        batch = log.bounds(FINGERPRINTS, 0).end
        if batch and (inherited := self.inherited(self.number)) is not None:
            log.pages().commit({self.number: inherited})
            return inherited
        note = Note(ReplayPoint(batch, answers_offset), self.written_from)
        first = Committed(log.bounds(PAGES, self.number).begin, note.to_metadata())
        log.pages().commit({self.number: first})
        return first

    def begin_claiming(self, log: Log) -> None:
        """Consume from the committed offset on; call this once all earlier claims of the partition were read.

        Raises:
            Refused: claims lie beyond the partition's end; the topic was made anew.
        """
        end = log.bounds(PAGES, self.number).end
        if self.claimed_up_to >= end:
            raise Refused(
                f"pages of partition {self.number} are claimed up to offset {self.claimed_up_to}, but {PAGES} ends at "
                f"{end}: the topic was made anew under the same name. Give the new crawl a topics.prefix of its own, "
                "or make all topics anew"
            )
        self.move(PartitionState.CLAIMING)
        first = self.committed_offset
        while first in self.skipped:  # not even to be read
            first += 1
        log.pages().start(self.number, first)

    def consume(self, record: Record) -> bool:
        """Hold a page until its verdict is committed; true if it has still to be fingerprinted."""
        if record.offset < self.committed_offset or record.offset in self.held:
            return False
        self.held[record.offset] = record
        self.held_bytes += record.weight
        if record.offset <= self.claimed_up_to:
            return False
        self.waiting.append(record.offset)
        return True

    def fingerprinted(self, claim: Claim) -> None:
        """Take the claim of a consumed page; claims may come in any order."""
        if claim.offset > self.claimed_up_to and claim.offset in self.held:
            self.claims[claim.offset] = claim

    def ready_claims(self, most: int) -> list[Claim]:
        """The next claims in strict order of offset, at most this many; a page that is not back yet holds up the
        rest."""
        ready: list[Claim] = []
        while self.waiting and len(ready) < most:
            offset = self.waiting[0]
            claim = self.claims.get(offset)
            if offset > self.claimed_up_to:
                if claim is None:
                    break
                ready.append(claim)
            self.claims.pop(offset, None)
            self.waiting.popleft()
        return ready

    def on_read(self, pending: Pending) -> None:
        """Note which pages any worker has claimed: they are not claimed again."""
        highest = pending.claims.highest.get(self.number, -1)
        if highest <= self.claimed_up_to:
            return
        for place, dead in pending.claims.dead.items():
            offset = int(pending.claims.offset[place])
            if is_skipped(dead) and pending.claims.partition[place] == self.number and offset > self.claimed_up_to:
                self.skipped.add(offset)
        self.claimed_up_to = highest

    def on_decided(self, decided: DecidedBatch) -> None:
        """Collect the decisions on first claims; an earlier owner has committed those below the committed offset.

        Raises:
            Refused: a claim is void although its first one was never seen.
        """
        claims, decisions = decided.claims, decided.decisions
        if self.number not in claims.highest:
            return
        for place in np.flatnonzero(claims.partition == self.number).tolist():
            offset = int(claims.offset[place])
            void = decisions.void[place]
            if void and offset > self.decided_up_to:
                raise Refused(
                    f"page {offset} of partition {self.number} was claimed before, but that claim is not in the "
                    f"log from the committed replay point {tuple(self.committed_point)} on. The consumed offsets of "
                    "the group were reset or edited: stop all workers and run `python -m worker repair`, which finds "
                    "them again from the outputs"
                )
            if not void and offset >= self.committed_offset:
                self.decisions.append(Due(decisions.of(place), decided.before))
            self.decided_up_to = max(self.decided_up_to, offset)

    def settleable(self, most_pages: int, most_bytes: int) -> list[tuple[Record, Decision]]:
        """The pages at the head whose decision is known, in order of offset.

        Raises:
            Refused: a claimed page is not on the topic any more.
            UsageError: a page is larger than ``topics.max_message_bytes`` now allows.
        """
        ready: list[tuple[Record, Decision]] = []
        size = 0
        for due in self.decisions:
            record = self.held.get(due.decision.claim.offset)
            if is_skipped(due.decision.claim.dead):
                record = Record(self.number, due.decision.claim.offset, None, None, (), 0)
            if record is None:
                if self.held and next(iter(self.held)) > due.decision.claim.offset:
                    raise Refused(
                        f"page {due.decision.claim.offset} of partition {self.number} was claimed, but {PAGES} does "
                        "not hold it any more. Give the topic a longer retention than the workers' longest absence; "
                        "run `python -m worker repair --accept-gap` to go on without the page"
                    )
                break
            if record.oversize and due.decision.outcome != DEAD:
                raise UsageError(
                    f"page {record.offset} of partition {self.number} has {record.oversize} bytes, more than can be "
                    "passed on now, and was claimed while the limit was higher: set topics.max_message_bytes back to "
                    "what it was. The page cannot be left out, since other verdicts may name it"
                )
            size += record_bytes(record.key, record.value, record.headers)
            if ready and (len(ready) >= most_pages or size > most_bytes):
                break
            ready.append((record, due.decision))
        return ready

    def commit_point(self, count: int, place: ReplayPoint) -> Committed:
        """The point to commit with the first ``count`` decisions; ``place`` is where this partition's follower stands.

        The committed replay point is the batch of the first decision that is not committed with it, or the follower's
        place if there is no such decision. So every first claim before it is committed.
        """
        offset = self.committed_offset
        if count:
            offset = self.decisions[count - 1].decision.claim.offset + 1
        point = self.decisions[count].before if count < len(self.decisions) else place
        written_from = self.written_from if offset < self.written_from else 0
        return Committed(offset, Note(point, written_from).to_metadata())

    def committed(self, count: int, committed: Committed) -> None:
        """Drop the first ``count`` decisions: their transaction is committed."""
        for _ in range(count):
            due = self.decisions.popleft()
            offset = due.decision.claim.offset
            if (record := self.held.pop(offset, None)) is not None:
                self.held_bytes -= record.weight
            self.skipped.discard(offset)
        self.committed_offset = committed.offset
        self.committed_point = Note.from_metadata(committed.metadata, f"partition {self.number}").point
