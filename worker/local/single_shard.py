"""The worker's protocol in a world of one partition and one shard: each page is a batch of its own.

What Kafka's logs do elsewhere is done here at once: the shard answers, ``decide`` rules, the shard stores. The number
of a page is the offset of its batch and of its claim.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from worker.fingerprint.near import EXACT_BYTES, EXACT_TEXT
from worker.fingerprint.sketch import agreement, similarity
from worker.index.blocks import cover
from worker.index.shard import Shard
from worker.messages import Batch, Block, Claim
from worker.stream.log_follower import DecidedBatch, Pending
from worker.stream.policy import Policy, ReplayPoint
from worker.stream.shard.live import LiveShard
from worker.stream.shard.memory_limit import MemoryLimit, OverMemoryLimit
from worker.stream.shard.restore import standing_of
from worker.verdict.decide import UNIQUE, Decision, decide


class SingleShard:
    """All survivors, and the verdicts on pages one after the other.

    Args:
        policy: of one shard and one partition.
        new_index: makes an empty index.
        memory: what the index may take.
        blocks: the survivors of the pages that were judged before, each block continuing the one before it.

    Raises:
        OverMemoryLimit: the survivors do not fit.
        UnreadableRecord: a block contradicts itself.
    """

    def __init__(
        self, policy: Policy, new_index: Callable[[], Shard], memory: MemoryLimit, blocks: Iterable[Block] = ()
    ) -> None:
        self._policy: Final = policy
        self._memory: Final = memory
        found = cover(blocks)
        count = sum(piece.block.count for piece in found.pieces)
        try:
            memory.reserve(0, count)
        except OverMemoryLimit as error:
            raise OverMemoryLimit(
                f"the state holds {count:,} survivors, for which index.memory_mb leaves no room: {_NEXT_MOVE}"
            ) from error
        self._index: Final = new_index()
        self._index.load((piece.entries() for piece in found.pieces), count)
        # The shard asks for memory only when all else has moved on; here a page is refused before anything has.
        self._live: Final = LiveShard(0, policy, self._index, standing_of(found, policy.ttl), MemoryLimit())
        self._count()

    @property
    def judged(self) -> int:
        """How many pages were, in all."""
        return self._live.standing.to + 1

    @property
    def sealed(self) -> deque[Block]:
        """Blocks to be written, the oldest first; to be removed once they are."""
        return self._live.sealed

    def decide(self, claim: Claim) -> Decision:
        """The decision on the page if it were the next; changes nothing."""
        number = self.judged
        batch = self._batch(claim.at(number))
        answer = self._live.answer(Pending(number, batch))
        (decision,) = decide(number, batch.claims, [answer], self._policy.near)
        return decision

    def similarity(self, decision: Decision) -> float | None:
        """How similar the page is to the original that it was just found to be near to; None where nothing tells."""
        original = decision.original
        if original is None:
            return None
        if original.reason in (EXACT_TEXT, EXACT_BYTES):
            return 1.0
        ours, theirs = decision.claim.sketch, self._index.sketch(original.order)
        return min(1.0, max(0.0, similarity(agreement(ours, theirs)))) if ours and theirs else None

    def has_room_for(self, decision: Decision) -> None:
        """To be asked once before ``take``.

        Raises:
            OverMemoryLimit: the page would be a survivor more than the index may hold; it is not judged then.
        """
        if decision.outcome != UNIQUE:
            return
        try:
            self._grow()
        except OverMemoryLimit:
            self._live.tidy()
            while self._index.tidy():
                pass
            self._count()
            try:
                self._grow()
            except OverMemoryLimit as error:
                raise OverMemoryLimit(f"the page is not judged, {self._memory}: {_NEXT_MOVE}") from error

    def take(self, decision: Decision) -> None:
        """Let the decision hold: later pages are compared with a unique one."""
        number = decision.order[0]
        here, next_one = ReplayPoint(number, number), ReplayPoint(number + 1, number + 1)
        self._live.on_decided(DecidedBatch(number, self._batch(decision.claim), [decision], here, next_one))

    def seal(self) -> None:
        """Pack what was judged since the last block, and give back the memory of what has expired."""
        self._live.seal()
        self._live.tidy()

    def _grow(self) -> None:
        self._memory.grow(0, 1, self._index, self._live.standing.clocks.nbytes)

    def _count(self) -> None:
        self._memory.count(0, self._index, self._live.standing.clocks.nbytes)

    def _batch(self, claim: Claim) -> Batch:
        return Batch(scheme=self._policy.scheme, writer=self._policy.writer, claims=(claim,))


_NEXT_MOVE: Final = "raise it, or let pages expire (near.ttl_days)"
