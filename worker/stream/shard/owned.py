"""A worker's shard: restored, then replaying, then answering, in one role or another, until it is lost."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from crawler_plugin.wire.errors import Refused, Unavailable, UnreadableRecord
from crawler_plugin.wire.messages import Answer, encode
from crawler_plugin.wire.topics import ANSWERS, INDEX
from worker.stream.barrier import Ends, refuse_poisoned
from worker.stream.log import Log, Role, Sent, Ticket
from worker.stream.log_follower import Follower
from worker.stream.observer import Observer
from worker.stream.policy import Policy
from worker.stream.resources import WorkerResources
from worker.stream.shard.announcer import Announcer
from worker.stream.shard.block_writer import BlockWriter
from worker.stream.shard.index_follower import IndexFollower
from worker.stream.shard.live import IndexFactory, LiveShard
from worker.stream.shard.restore import Restoration
from worker.stream.shard.snapshots import SnapshotWriter
from worker.stream.states import SHARD_MOVES, ShardState, moved


@dataclass(eq=False)
class OwnedShard:
    """One shard in the hands of this worker, from its first block to its loss.

    ``answer_from`` is where ``answers`` ended after the restore: below it stand answers of earlier owners, and this
    owner answers only what they left unanswered. ``role`` is None while no role is held, but may come back. It makes a
    difference in two places: ``answer`` gives another holder time, unless this is the active one, and only the active
    one ``writes``. All else is the same for all holders, and a change of role moves nothing.
    """

    number: int
    log: Log
    policy: Policy
    observer: Observer
    resources: WorkerResources
    ends: Ends

    def __post_init__(self) -> None:
        self.role: Role | None = Role.ACTIVE
        self.state = ShardState.RESTORING
        self.restoration: Restoration | None = None
        with suppress(Unavailable):  # ``restore`` asks again
            self.restoration = self._begin()
        self.live: LiveShard | None = None
        self.block_writer: BlockWriter | None = None
        self.announcer: Announcer | None = None
        self.snapshot_writer: SnapshotWriter | None = None
        self.index_follower: IndexFollower | None = None
        self.answer_from = 0
        self.asked = -1
        self.ticket: Ticket | None = None
        self.observer.shard_state(self.number, self.state)

    def move(self, to: ShardState) -> None:
        self.state = moved(SHARD_MOVES, self.state, to)
        self.observer.shard_state(self.number, to)

    def hold(self, role: Role | None) -> None:
        """Go on in this role.

        A block in flight may still land; ``index`` shows whether it has. Its content is kept until then.
        """
        self.role = role
        self.resources.memory_limit.spare(self.number, role is None)
        if role is not Role.ACTIVE and self.snapshot_writer is not None:
            self.snapshot_writer.let_go()
        if self.index_follower is not None:
            self.index_follower.ask_anew()

    @property
    def writes(self) -> bool:
        """Whether blocks, tombstones and snapshots are written here."""
        return self.role is Role.ACTIVE

    @property
    def knows_its_blocks(self) -> bool:
        """Whether it has read all that was on ``index`` when it got its role: before, it sends nothing there."""
        return self.index_follower is None or self.index_follower.at_end

    @property
    def flushed(self) -> bool:
        """Whether every sealed block is acknowledged and every snapshot that was taken is written, if this holder
        writes them."""
        parts = self.block_writer, self.snapshot_writer
        return not self.writes or all(part is None or part.idle for part in parts)

    def close(self) -> None:
        """Stop reading blocks or writing a snapshot, whichever is under way, and give back its share of memory."""
        self._end_restoration()
        if self.index_follower is not None:
            self.index_follower.close()
        if self.snapshot_writer is not None:
            self.snapshot_writer.abandon()
        self.resources.memory_limit.release(self.number)

    def _end_restoration(self) -> None:
        if self.restoration is not None:
            self.restoration.close()
            self.restoration = None

    def restore(self, new_index: IndexFactory, new_key: Callable[[], bytes]) -> LiveShard | None:
        """Begin to read the blocks, or read on; returns the shard once all of them are loaded, to be joined to a
        follower.

        Raises:
            Unavailable: the broker does not answer; ask again.
            Refused: the blocks hold a claim that no page can have.
        """
        if self.restoration is None:
            self.restoration = self._begin()
        if not self.restoration.step():
            return None
        restored = self.restoration.finish(new_index)
        if restored is None:
            return None
        claimed = restored.shard.standing.claimed_up_to
        refuse_poisoned(claimed, self.ends.after(claimed), f"blocks of shard {self.number} on {INDEX}")
        self.answer_from = self.log.bounds(ANSWERS, 0).end
        self._end_restoration()
        self.live = restored.shard
        self.block_writer = BlockWriter(
            self.log, self.live, restored.block_keys, restored.position, restored.floor, new_key, self.observer
        )
        if self.policy.replicas > 1:
            self.index_follower = IndexFollower(self.log, self.live, self.block_writer, self.observer)
        if self.policy.output != "count":
            self.announcer = Announcer(self.log, self.live, self.observer)
        if self.resources.snapshots is not None:
            self.snapshot_writer = SnapshotWriter(self.resources.snapshots, self.log, self.resources.background)
        self.move(ShardState.REPLAYING)
        return self.live

    def _begin(self) -> Restoration:
        return Restoration(self.number, self.log, self.policy, self.observer, self.resources)

    def answer(self, follower: Follower) -> Answer | None:
        """The answer to the first undecided batch, to be sent with ``send``; None if it was sent or is not due.

        A later batch is never answered: a batch is compared with the survivors of all batches before it. A holder that
        is not active answers what another one has left unanswered for ``Policy.hedge`` seconds. If both answer, the
        first answer counts, and the other one is the same.
        """
        if self.live is None:
            return None
        if self.state is ShardState.REPLAYING and follower.answers_reader.position >= self.answer_from:
            self.move(ShardState.ANSWERING)
        if self.state is not ShardState.ANSWERING or self.number not in follower.missing():
            return None
        pending = follower.pending[0]
        lost = self.ticket is not None and self.ticket.state is Sent.FAILED
        if self.asked == pending.offset and not lost:
            return None
        if self.role is not Role.ACTIVE:
            if follower.silent_for(self.number) < self.policy.hedge:
                return None
            self.observer.stood_in(self.number)
        try:
            answer = self.live.answer(pending)
        except UnreadableRecord as error:
            raise Refused(
                f"shard {self.number} holds a URL that cannot be read ({error}): a block on {INDEX} is damaged, "
                "although its checksum fits. Look with `python -m worker index inspect`"
            ) from error
        self.observer.answered(self.number, len(pending.claims))
        return answer

    def send(self, answer: Answer) -> None:
        """Append the answer to the log."""
        self.asked = answer.batch
        self.ticket = self.log.append(ANSWERS, 0, None, encode(answer))
