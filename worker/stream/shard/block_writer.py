"""Keeps a shard's blocks on the ``index`` topic: writes them one at a time, and tombstones for expired ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from crawler_plugin.wire.messages import Block, encode
from crawler_plugin.wire.topics import INDEX
from worker.index.blocks import tombstones
from worker.stream.log import Log, Sent, Ticket
from worker.stream.observer import Observer
from worker.stream.policy import SCHEME_HEADER, ReplayPoint
from worker.stream.shard.live import NEVER, LiveShard


class Flight(NamedTuple):
    """A block that was sent and is not acknowledged."""

    key: bytes
    block: Block
    ticket: Ticket


@dataclass(eq=False)
class BlockWriter:
    """Writes the sealed blocks of one shard in their order.

    The next block is sent only when the one before it is acknowledged. After an error the same block is sent under a
    new key, since both may land and a key must never be overwritten. A block that other owners' blocks have covered in
    the mean time is not sent again. ``block_keys`` maps keys on the topic to the last batch of their block: of this
    owner's blocks, and of other owners' that lie before the offset ``block_keys_before``.
    ``replay_point`` is where the next owner reads the logs from, after the last block that is on the topic. A block is
    buried (its tombstone is written) only once a block on the topic has a floor at or above its end: otherwise, after a
    crash between the two, the cover would have no start.
    """

    log: Log
    shard: LiveShard
    block_keys: dict[bytes, int]
    block_keys_before: int
    floor: int
    new_key: Callable[[], bytes]
    observer: Observer

    def __post_init__(self) -> None:
        self.replay_point = self.shard.replay_point
        self.flight: Flight | None = None
        self.burials: dict[bytes, Ticket] = {}
        self._searched = NEVER

    @property
    def idle(self) -> bool:
        """Whether no block is in flight or waits to be sent."""
        return self.flight is None and not self.shard.sealed

    def step(self) -> None:
        """Look at the block in flight, send the next, bury expired blocks."""
        self._acknowledge()
        if self.flight is None and self.shard.sealed:
            self._send(self.shard.sealed[0])
        self._bury()

    def learn(self, landed: Mapping[bytes, int | None], before: int) -> None:
        """Note the blocks that have landed on the topic before this offset, with None for a key that was buried."""
        for key, to in landed.items():
            if to is None:
                self.block_keys.pop(key, None)
            else:
                self.block_keys[key] = to
        self.block_keys_before = max(before, self.block_keys_before)
        if landed:
            self._searched = NEVER

    def covered(self, end: ReplayPoint, floor: int) -> None:
        """Note how far the blocks on the topic go, and their largest floor."""
        self.replay_point = max(self.replay_point, end)
        self.floor = max(self.floor, floor)

    def _acknowledge(self) -> None:
        if self.flight is None or self.flight.ticket.state is Sent.PENDING:
            return
        sealed, block = self.shard.sealed, self.flight.block
        waits = bool(sealed) and sealed[0].to == block.to
        again = self.flight.ticket.state is Sent.FAILED
        self.flight = None
        self.observer.flushed(self.shard.number, block.count, again)
        if not again:
            self.covered(ReplayPoint(block.to + 1, block.answers_offset), block.floor)
        if again and waits:
            self._send(block)
        elif waits:
            sealed.popleft()

    def _send(self, block: Block) -> None:
        key = self.new_key()
        self.block_keys[key] = block.to
        headers = [(SCHEME_HEADER, self.shard.policy.scheme_text)]
        self.flight = Flight(key, block, self.log.append(INDEX, self.shard.number, key, encode(block), headers))

    def _bury(self) -> None:
        failed = False
        for key, ticket in list(self.burials.items()):
            if ticket.state is Sent.PENDING:
                continue
            del self.burials[key]
            if ticket.state is Sent.DONE:
                self.block_keys.pop(key, None)
            else:
                failed = True
        if self._searched == self.floor and not failed:
            return
        self._searched = self.floor
        for key in tombstones(self.block_keys, self.floor):
            if key not in self.burials and (self.flight is None or self.flight.key != key):
                self.burials[key] = self.log.append(INDEX, self.shard.number, key, None)
