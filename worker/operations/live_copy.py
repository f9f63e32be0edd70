"""Copies the index of a generation into another one while its workers run, and hands over.

The markers and blocks are those of ``worker.operations.copy_index``; a worker that restores a shard must not mistake a
part of them for the whole. The difference is how the two generations meet.

1. *Copy.* The blocks of all shards hold all survivors up to one batch; the copy writes these.
2. *Follow.* From there on the copy reads both logs of the old generation, as its workers do. Each decided batch leaves
   survivors, which the copy writes in their order. The workers of the new generation are started: they load the blocks
   as they come, report on ``answers`` the marker up to which they have done so, and claim nothing.
3. *Hand over.* A record on ``fingerprints`` names the successor. It is the end of the old generation: every worker
   there decides, commits and writes all that lies before it, and ends (``worker.stream.barrier``). Claims after it are
   never decided; their pages are claimed anew.
4. When all claims before that record are committed and the old workers have ended, the old generation's consumed
   offsets name the successor, too.
5. The last survivors are written, each shard gets a block at which a restore may end, and a last record hands the
   consumed offsets to the new generation (``worker.stream.inheritance``). With that append it begins.

A copy that ends before 3 has changed nothing: the old generation goes on. From 3 on it cannot, whatever happens, and
the new one does not begin before 5: after an interruption in between, another copy completes it, with running workers
or without.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final

from crawler_plugin.wire.errors import Refused, Unavailable, UnreadableRecord
from crawler_plugin.wire.messages import LAST_BATCH, Answer, Batch, decode, encode
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, PAGES
from worker.operations.copy_index import (
    CopiedIndex,
    Falls,
    FromBatch,
    Write,
    consumed_of,
    covered,
    is_of_earlier_program,
    merged,
)
from worker.operations.repair import BEGINNING, Place, State
from worker.operations.switch import Generation, refuse_given
from worker.stream.barrier import outside, refuse_poisoned
from worker.stream.inheritance import encoded
from worker.stream.log import Committed, Reader
from worker.stream.log_follower import DecidedBatch, Follower, Forgetting, LogSubscriber
from worker.stream.observer import Observer
from worker.stream.policy import (
    BEING_COPIED,
    CONSUMED_HEADER,
    COPIED,
    LIVE_HEADER,
    SUCCESSOR_HEADER,
    Note,
    Policy,
    ReplayPoint,
)
from worker.stream.replay import Reach, check_reach, logs_of
from worker.stream.shard.live import entries_of
from worker.verdict.clock import watermark_after

_LIVE: Final = ((LIVE_HEADER, b"1"),)


class LiveCopy(LogSubscriber):
    """One copy, a step at a time: ``begin``; ``follow`` until ``awaited`` is empty, once more after ``call_over`` if
    workers came or went; ``hand_over``; ``end`` until true.

    Args:
        source: the working generation, and ``target`` the one that is to follow, whose topics are empty.
        names: of both.
        before: the rules of the old generation, and ``after`` those of the new one.
        partitions: all partitions of ``pages``.
        without, falls: as for ``CopiedIndex``.
    """

    def __init__(
        self,
        source: Place,
        target: Place,
        names: tuple[str, str],
        before: Policy,
        after: Policy,
        new_key: Callable[[], bytes],
        partitions: Iterable[int],
        without: Collection[str] = (),
        falls: Falls | None = None,
    ) -> None:
        self.source = source
        self.target = target
        self.old = Generation(names[0], source)
        self.name = names[1]
        self.before = before
        self.partitions = frozenset(partitions)
        self.state = BEGINNING
        self.copied = CopiedIndex(after, new_key, BEGINNING, BEING_COPIED, _LIVE, without=without, falls=falls)
        self._loaded = dict.fromkeys(range(after.shards), -1)
        self._answers: Reader | None = None
        self._follower: Follower | None = None
        self._waiting: list[Write] = []

    @property
    def follower(self) -> Follower:
        """The reader of the old generation's logs, from ``begin`` on."""
        assert self._follower is not None
        return self._follower

    # 1

    def begin(self) -> None:
        """Copy the content of the blocks; needs as much memory as they take on the topic.

        Raises:
            Refused: a block is damaged or of other settings, the logs do not reach back to the blocks, or the outputs
                were given to another generation.
        """
        covers = [covered(self.source, shard, self.before) for shard in range(self.before.shards)]
        states = [BEGINNING if found.last is None else State.of(found.last) for found in covers]
        self.state = state = min(states, key=lambda state: state.to)
        if (reach := check_reach(logs_of(self.source), state.point)) is not Reach.FINE:
            raise Refused(
                f"the next record after batch {state.to} is {reach.value}: run `python -m worker repair` first"
            )
        pages = {number: self.source.bounds(PAGES, number).end for number in self.partitions}
        refuse_poisoned(state.claimed_up_to, pages, f"blocks of {self.old.shown}")
        self._given()
        self.target.write(self.copied.cut(of_all=True))
        for batch in merged(covers, state.to):
            self._waiting.extend(self.copied.take(batch))
            self._write()
        self._follower = Follower(self.source, self.before, state.point, Observer(), outside(self.source))
        self._follower.subscribers.append(self)
        self._answers = self.target.reader(ANSWERS, 0, 0)

    # 2

    def follow(self, wait: float = 0.0) -> int:
        """Take in what the old generation has decided since; returns how many batches it has yet to take in."""
        self.follower.read(wait)
        self.follower.decide()
        self._write()
        if self.follower.barred is not None:
            return 0
        return max(0, self.source.bounds(FINGERPRINTS, 0).end - self.follower.place.batch)

    def on_decided(self, decided: DecidedBatch) -> None:
        """Add the survivors of a batch."""
        claims, state = decided.claims, self.state
        claimed = dict(state.claimed_up_to)
        for partition, offset in claims.highest.items():
            claimed[partition] = max(offset, claimed.get(partition, -1))
        watermark = watermark_after(state.watermark, claims)
        self.state = State(decided.offset, decided.after.answers_offset, watermark, claimed)
        survivors = [*entries_of(decided, decided.decisions.survivors(0, 1))]
        self._waiting.extend(self.copied.take(FromBatch(watermark, survivors)))

    def on_forget(self, forgetting: Forgetting) -> None:
        """Give up: the written records may hold survivors that are to be forgotten, and nothing there says so.

        Raises:
            Refused: in any case.
        """
        raise Refused(
            f"something was forgotten (record {forgetting.offset} of {FINGERPRINTS}) while the index was copied: "
            f"`python -m worker topics delete --generation {self.name!r}`, and copy again; without --live if the "
            f"workers of {self.old.shown} have ended"
        )

    def awaited(self) -> list[int]:
        """The shards of the new generation that no worker has loaded up to their last block."""
        assert self._answers is not None
        for record in self._answers.read():
            try:
                answer = decode(Answer, record.value)
            except UnreadableRecord:
                continue
            if answer.scheme == self.copied.policy.scheme and answer.shard in self._loaded:
                self._loaded[answer.shard] = max(answer.batch, self._loaded[answer.shard])
        return [shard for shard, batch in self._loaded.items() if batch < self.copied.ends[shard]]

    def call_over(self) -> None:
        """Ask for every shard again whether it is loaded: its owner may have changed."""
        self.target.write(self.copied.cut(of_all=True))

    # 3

    def hand_over(self) -> None:
        """Write the remaining survivors, and end the old generation, if nothing else has ended it.

        Raises:
            Refused: it has batches of an earlier program.
        """
        self.target.write(self.copied.cut())
        self.follow()
        barred = self.follower.barred
        if barred is None:
            self.source.write([(FINGERPRINTS, 0, b"", LAST_BATCH, [(SUCCESSOR_HEADER, self.name.encode())])])
        elif is_of_earlier_program(self.source, barred.offset):
            raise Refused(
                f"an earlier version of this program wrote batch {barred.offset} of {self.old.shown}, and no block "
                "holds it yet: start its workers, stop them with SIGTERM when all pages are committed, and copy "
                "without --live"
            )

    # 4 and 5

    def end(self) -> bool:
        """Whether the new generation has begun; if not, ask again.

        Raises:
            Refused: someone else writes where the copy does, or the outputs were given to another generation.
        """
        self.follow()
        if self.follower.barred is None or self._given() is None or self.source.workers():
            return False
        if (given := self._given()) is None:
            return False
        self._see_that_no_other_writes(given)
        told = {
            number: Committed(offset, note._replace(successor=self.name).to_metadata())
            for number, (offset, note) in given.items()
        }
        self.source.commit(told)
        self.target.write(self.copied.end(self.state))
        point = ReplayPoint(self.copied.result.markers + 1, 0)
        begins = {
            number: Committed(offset, note._replace(point=point, successor=None).to_metadata())
            for number, (offset, note) in given.items()
        }
        last = encode(Batch(scheme=COPIED, writer=self.copied.policy.writer, count=0))
        self.target.write([(FINGERPRINTS, 0, b"", last, [*_LIVE, (CONSUMED_HEADER, encoded(begins))])])
        return True

    def close(self) -> None:
        """Stop reading."""
        if self._follower is not None:
            self._follower.close()
        if self._answers is not None:
            self._answers.close()

    def _given(self) -> dict[int, tuple[int, Note]] | None:
        """By partition, the consumed offset and its note; None while claimed pages are not committed.

        Raises:
            Refused: the outputs were given to another generation.
        """
        given = {}
        for number in sorted(self.partitions | self.state.claimed_up_to.keys()):
            begin = self.source.bounds(PAGES, number).begin
            try:
                committed, note = consumed_of(self.old, number, begin, self.state, self.before)
            except Unavailable:
                return None
            refuse_given(self.old, note, self.name)
            if self.state.knows(number) >= committed.offset:
                return None
            given[number] = committed.offset, note
        return given

    def _see_that_no_other_writes(self, given: Iterable[int]) -> None:
        found = self.target.bounds(FINGERPRINTS, 0).end
        if found != self.copied.result.markers or any(self.target.committed(number) for number in given):
            raise Refused(
                f"other workers run in topics.generation={self.name!r}, or another copy writes to it: copy to another "
                "name"
            )

    def _write(self) -> None:
        if self._waiting:
            self.target.write(self._waiting)
            self._waiting = []
