"""The worker's protocol in a world of one partition and one shard.

Here one object does at once what Kafka's logs do elsewhere: the shard answers a batch, ``decide`` rules, the shard
stores. A page's number, which counts the pages before it, is the offset of its claim; the number of a batch's first
page is the batch's. So a survivor's number is the sum of both parts of its order.

All pages are claimed here, in their order. So the evidence for templates (``worker.verdict.titles_of_texts``) is a
function of the judged pages, and its rows stand in the blocks.
"""

from __future__ import annotations

import logging
import secrets
import sys
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.messages import Block
from worker.index.blocks import cover
from worker.index.entries import Survivor
from worker.index.shard import Shard
from worker.local.compaction import last_start
from worker.stream.log_follower import DecidedBatch, Pending
from worker.stream.policy import Policy, ReplayPoint
from worker.stream.shard.live import LiveShard
from worker.stream.shard.memory_limit import MemoryLimit, OverMemoryLimit
from worker.stream.shard.restore import standing_of
from worker.verdict.claims import Claims
from worker.verdict.clock import clocks_by_log
from worker.verdict.decide import DUPLICATE, Decision, decide
from worker.verdict.suspects import in_words
from worker.verdict.titles_of_texts import TitlesOfTexts

_TOLD_ANEW: Final = 1 << 23
"""Bytes of evidence, some 150,000 pages, after which a block repeats all of it: then earlier blocks need not be
read."""
_log = logging.getLogger(__name__)


class SingleShard:
    """All survivors, and the verdicts on pages one after the other.

    Args:
        policy: of one shard and one partition.
        new_index: makes an empty index.
        memory: the limit for the index.
        blocks: the survivors of the pages that were judged before, each block continuing the one before it.
        keeps: whether blocks are sealed; a caller that writes none saves the packing.

    Raises:
        OverMemoryLimit: the survivors do not fit.
        UnreadableRecord: a block contradicts itself.
    """

    def __init__(
        self,
        policy: Policy,
        new_index: Callable[[], Shard],
        memory: MemoryLimit,
        blocks: Iterable[Block] = (),
        *,
        keeps: bool = True,
    ) -> None:
        # No one would learn of other findings.
        policy = replace(policy, findings=replace(policy.findings, groups=0))
        if not keeps:
            policy = replace(policy, flush_entries=sys.maxsize, flush_bytes=sys.maxsize)
        self._keeps: Final = keeps
        self._policy: Final = policy
        self._memory: Final = memory
        self._titles: Final = TitlesOfTexts(secret=secrets.token_bytes(16))
        self._evidence: Final[list[bytes]] = []
        """Evidence of pages that no sealed block holds yet."""
        self._told = 0
        blocks = list(blocks)
        for block in blocks[last_start(blocks) :]:
            self._titles.learn(block.evidence)
        found = cover(blocks)
        count = sum(piece.block.count for piece in found.pieces)
        try:
            memory.reserve(0, count)
        except OverMemoryLimit as error:
            raise OverMemoryLimit(
                f"the state holds {counted(count, 'survivor')}, for which index.memory_mb leaves no room: {_NEXT_MOVE}"
            ) from error
        self._index: Final = new_index()
        self._index.load((piece.entries() for piece in found.pieces), count)
        # The shard asks for memory only after all else has moved on; here a page is refused before anything has moved.
        standing = standing_of(found, policy.ttl)
        self._live: Final = LiveShard(0, policy, self._index, standing, MemoryLimit(), opens_later=True)
        self._count()

    @property
    def judged(self) -> int:
        """The number of judged pages, in all."""
        return self._live.standing.claimed_up_to.get(0, -1) + 1

    @property
    def survivors(self) -> int:
        """The number of survivors, some of which may have expired."""
        return len(self._index)

    @property
    def sealed(self) -> deque[Block]:
        """Blocks to be written, the oldest first; remove them once they are written."""
        return self._live.sealed

    def decide(self, claims: Claims) -> DecidedBatch:
        """The decisions on pages if they were the next, one for each, dated by the log's own time; changes nothing.

        The claims are of partition 0, as if it were the only one; their offsets are ignored.
        """
        number = self.judged
        clock = clocks_by_log(claims.clock, self._live.standing.watermark, self._policy.ttl)
        numbered = claims.dated(number, clock, self._titles.mark(claims))
        answer = self._live.answer(Pending(number, self._policy.writer, numbered))
        decisions = decide(number, numbered, [answer], self._policy.near, track_changes=self._policy.track_changes)
        after = number + len(numbered)
        return DecidedBatch(
            number, self._policy.writer, decisions, ReplayPoint(number, number), ReplayPoint(after, after)
        )

    def has_room_for(self, decided: DecidedBatch) -> None:
        """Call this once before ``take``.

        Raises:
            OverMemoryLimit: there would be more survivors than the index may hold; no page of the batch is judged then.
        """
        coming = len(decided.decisions.survivors(0, 1))
        if not coming:
            return
        try:
            self._grow(coming)
        except OverMemoryLimit:
            self._live.tidy()
            while self._index.tidy():
                pass
            self._count()
            try:
                self._grow(coming)
            except OverMemoryLimit as error:
                raise OverMemoryLimit(f"the page is not judged, {self._memory}: {_NEXT_MOVE}") from error

    def take(self, decided: DecidedBatch) -> None:
        """Apply the decisions, which must be those that ``decide`` gave last: later pages are compared with the unique
        ones."""
        evidence = self._titles.keep()
        sealed = len(self.sealed)
        self._live.on_decided(decided)
        if self._keeps:
            self._evidence.append(evidence)
        else:
            self._live.let_go(decided.offset)
        if len(self.sealed) > sealed:
            self._seal_evidence()
        hints = self._live.hints
        hints.step(len(decided.decisions.claims) + 1)
        while hints.findings:
            _log.warning("%s", in_words(hints.findings.popleft()))

    def latest_of(self, url: str) -> Survivor | None:
        """The latest survivor of a canonical URL that has not expired."""
        slot = self._index.latest_with(url, self._live.standing.expired_up_to(self._policy.ttl))
        return None if slot < 0 else self._index.survivor(slot)

    @property
    def knows_suspects(self) -> bool:
        """Whether any survivor is suspect."""
        return bool(self._live.suspects.known)

    def is_suspect(self, decision: Decision) -> bool:
        """Whether the page is a duplicate of a survivor that is suspect since this page or an earlier one: the answer
        does not depend on how many pages are judged together."""
        original = decision.original
        if decision.outcome != DUPLICATE or original is None:
            return False
        since = self._live.suspects.known.get(original.order)
        return since is not None and since <= decision.order

    def seal(self) -> None:
        """Pack what was judged since the last block, and free the memory of expired entries."""
        if self._live.seal():
            self._seal_evidence()
        self._live.tidy()

    def _seal_evidence(self) -> None:
        """Seal the evidence of all pages up to the end of the last block."""
        evidence = b"".join(self._evidence)
        self._told += len(evidence)
        if self._told > _TOLD_ANEW:
            evidence, self._told = self._titles.evidence(), 0
        self.sealed[-1] = self.sealed[-1].with_evidence(evidence)
        self._evidence.clear()

    def _grow(self, coming: int) -> None:
        self._memory.grow(0, coming, self._index, self._live.standing.clocks.nbytes)

    def _count(self) -> None:
        self._memory.count(0, self._index, self._live.standing.clocks.nbytes)


_NEXT_MOVE: Final = "raise it, or let pages expire (near.ttl_days)"
