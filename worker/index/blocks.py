"""Packed blocks on the ``index`` topic, from which a shard is rebuilt.

A block is immutable: all unexpired survivors of its shard decided in the batches (``after``, ``to``], after a header
with the state as of just after batch ``to``. Blocks of several owners may overlap, repeat and miss each other; since
verdicts are a function of the log, all blocks that say something about a batch say the same. From any set of them
``cover`` picks the survivors up to one batch, and that batch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from crawler_plugin.wire.errors import Refused, UnreadableRecord
from crawler_plugin.wire.forgetting import Forgotten
from crawler_plugin.wire.messages import ORDER, Block, Order, forgotten_of
from worker.index.entries import COLUMNS, OPTIONAL, Entries
from worker.index.forgetting import without
from worker.index.urls import UrlRun, pack_urls

NO_BATCH: Final = -1
"""Before the first batch: the floor while nothing has expired, the end of a cover without blocks."""


@dataclass(frozen=True)
class Header:
    """A block's content apart from its entries; see ``messages.Block`` for each field."""

    scheme: bytes
    writer: bytes
    shard: int
    after: int
    to: int
    answers_offset: int
    watermark: int
    claimed_up_to: Mapping[int, int]
    floor: int
    clocks: Sequence[tuple[int, int]]
    suspects: Sequence[Order] = ()
    forgotten: Sequence[Forgotten] = ()


def pack(entries: Entries, header: Header) -> Block:
    """The block of these entries.

    Raises:
        ValueError: entries that do not ascend or lie outside (``after``, ``to``], or clocks of other batches than those
            of the entries: such a block would lose survivors when it is read.
    """
    problem = _contradiction(entries, header.after, header.to, header.clocks)
    if problem:
        raise ValueError(problem)
    columns = {name: np.ascontiguousarray(entries.column(name), dtype).tobytes() for name, dtype in COLUMNS.items()}
    for name, dtype in OPTIONAL.items():
        if (column := entries.optional(name)) is not None:
            columns[name] = np.ascontiguousarray(column, dtype.base).tobytes()
    block = Block(
        scheme=header.scheme,
        writer=header.writer,
        shard=header.shard,
        after=header.after,
        to=header.to,
        answers_offset=header.answers_offset,
        watermark=header.watermark,
        claimed_up_to=tuple(sorted(header.claimed_up_to.items())),
        floor=header.floor,
        count=len(entries),
        clocks=tuple(header.clocks),
        urls=pack_urls(entries.urls),
        suspects=pack_orders(header.suspects),
        **columns,
    )
    return block.naming(header.forgotten) if header.forgotten else block


def pack_orders(orders: Iterable[Order]) -> bytes:
    """The form in which a block names survivors that were found suspect."""
    return b"".join(ORDER.pack(*order) for order in orders)


def suspects_of(block: Block) -> list[Order]:
    """The survivors that were found suspect in the block's batches."""
    return list(ORDER.iter_unpack(block.suspects))


def unpack(block: Block) -> Entries:
    """The entries of a block: columns as read-only views of its bytes, URLs compressed until they are read.

    Raises:
        UnreadableRecord: columns that contradict each other or the header.
    """
    if block.bare.strip(b"\x00\x01"):
        raise UnreadableRecord(f"{_name(block)}: the column bare holds other bytes than 0 and 1")
    columns: dict[str, NDArray[Any]] = {
        name: np.frombuffer(getattr(block, name), dtype) for name, dtype in COLUMNS.items()
    }
    for name, dtype in OPTIONAL.items():
        if values := getattr(block, name):
            columns[name] = np.frombuffer(values, dtype)
    entries = Entries(**columns, urls=UrlRun.from_packed(block.urls, block.count))
    problem = _contradiction(entries, block.after, block.to, block.clocks)
    if problem:
        raise UnreadableRecord(f"{_name(block)}: {problem}")
    return entries


@dataclass(frozen=True)
class Piece:
    """A block of the cover. Its entries later than batch ``after`` count, unless they are ``forgotten``."""

    block: Block
    after: int
    forgotten: tuple[Forgotten, ...] = ()

    def entries(self) -> Entries:
        """The entries that count; raises as ``unpack`` does."""
        return self.counting(self.held())

    def held(self) -> Entries:
        """All that the block holds; raises as ``unpack`` does."""
        return unpack(self.block)

    def counting(self, entries: Entries) -> Entries:
        """The block's entries that count."""
        return without(entries.after(self.after), self.forgotten)

    @property
    def clocks(self) -> tuple[tuple[int, int], ...]:
        """(batch, the watermark just after it) of the batches of those entries."""
        return tuple(clock for clock in self.block.clocks if clock[0] > self.after)


@dataclass(frozen=True)
class Cover:
    """All live survivors up to one batch, taken from blocks that may overlap.

    ``last`` is the block that ends at that batch: its header is the shard's state there. It is None if nothing is
    known, so that the logs must be read from their beginning. Its header also says what was forgotten, which no piece
    holds. ``floor`` is the largest of all blocks: up to there everything has expired. ``damaged`` are blocks above the
    cover: the batches in between were lost, so these blocks are left out and the logs read instead.
    """

    pieces: tuple[Piece, ...]
    last: Block | None
    floor: int
    damaged: tuple[Block, ...]

    @property
    def end(self) -> int:
        """The batch after which to read the log on."""
        return self.last.to if self.last else NO_BATCH

    @property
    def clocks(self) -> tuple[tuple[int, int], ...]:
        """(batch, the watermark just after it) of each batch that has an entry, ascending."""
        return tuple(clock for piece in self.pieces for clock in piece.clocks)

    @property
    def suspects(self) -> list[Order]:
        """The survivors that were found suspect, by the blocks of the cover, and have not expired."""
        return [order for piece in self.pieces for order in suspects_of(piece.block) if order[0] > self.floor]

    def entries(self) -> Entries:
        """All entries, in the order of the log."""
        return Entries.concatenate([piece.entries() for piece in self.pieces])


def cover(blocks: Iterable[Block]) -> Cover:
    """The cover of one shard's blocks; their order does not matter.

    1. Begin at the largest floor: up to there everything has expired.
    2. Among the blocks that begin at or before the batch reached so far and end after it, take the one that ends last,
       and count its entries later than that batch. Repeat this until there is no such block.
    3. Blocks that still end above the batch reached are damaged.

    The block with the largest floor ends above that floor, and only blocks at or below a floor are ever removed. So
    some block reaches past the floor, unless it was lost. If it was, the state at the floor is unknown, and the cover
    ends at the last block at or below it: reading the log from there yields the same survivors, if the log reaches so
    far.

    Raises:
        Refused: blocks of several shards, or blocks that end at the same batch with different state: verdicts are no
            longer the same everywhere.
    """
    ascending = sorted(blocks, key=lambda block: block.after)
    _refuse_contradictions(ascending)
    floor = max((block.floor for block in ascending), default=NO_BATCH)

    reached = floor
    pieces: list[tuple[Block, int]] = []
    waiting = deque(ascending)
    furthest: Block | None = None
    while True:
        while waiting and waiting[0].after <= reached:
            furthest = waiting.popleft() if furthest is None else max(furthest, waiting.popleft(), key=_reach)
        if furthest is None or furthest.to <= reached:
            break
        pieces.append((furthest, reached))
        reached = furthest.to

    below = (block for block in ascending if block.to <= floor)
    last = pieces[-1][0] if pieces else max(below, key=_reach, default=None)
    forgotten = () if last is None else forgotten_of(last)
    damaged = tuple(block for block in ascending if block.to > reached)
    return Cover(tuple(Piece(block, after, forgotten) for block, after in pieces), last, floor, damaged)


def tombstones(last_batches: Mapping[bytes, int], acknowledged_floor: int) -> list[bytes]:
    """The keys of blocks that end at or below a floor which is itself on the topic, the oldest first.

    ``last_batches`` maps the key of each block on the topic to its ``to``. Do not pass a floor that only a worker's
    memory knows: a crash would leave the cover without a start.
    """
    expired = [(to, key) for key, to in last_batches.items() if to <= acknowledged_floor]
    return [key for _, key in sorted(expired)]


def _reach(block: Block) -> tuple[int, int, int, bytes, bytes]:
    """How far a block goes; all fields that differ break ties, so that every worker takes the same blocks."""
    return block.to, -block.after, block.floor, block.writer, block.batch


def _contradiction(entries: Entries, after: int, to: int, clocks: Sequence[tuple[int, int]]) -> str | None:
    """The contradiction in a block's entries, or None."""
    if not entries.ascending:
        return "the entries do not ascend"
    if len(entries) and not after < entries.first_order[0] <= entries.last_order[0] <= to:
        return f"entries from {entries.first_order} to {entries.last_order} lie outside batches ({after}, {to}]"
    first_of_batch = np.ones(len(entries), np.bool_)
    first_of_batch[1:] = entries.batch[1:] != entries.batch[:-1]
    batches: list[int] = entries.batch[first_of_batch].tolist()
    if batches != [batch for batch, _ in clocks]:
        return f"{len(clocks)} clocks do not belong to the {len(batches)} batches of the entries"
    return None


def _refuse_contradictions(blocks: Sequence[Block]) -> None:
    first_at: dict[int, Block] = {}
    for block in blocks:
        if block.shard != blocks[0].shard:
            raise Refused(
                f"blocks of shards {blocks[0].shard} and {block.shard} stand in one partition of the index topic: it "
                "was written with another number of shards; run `python -m worker topics check`"
            )
        other = first_at.setdefault(block.to, block)
        for name in ("answers_offset", "watermark", "claimed_up_to", "forgotten"):
            one, two = (getattr(each, name, ()) for each in (other, block))
            if one != two:
                raise Refused(
                    f"two blocks of shard {block.shard} end at batch {block.to} and differ in {name}: {one} (writer "
                    f"{other.writer.hex()}) and {two} (writer {block.writer.hex()}). One of the two workers has "
                    "decided wrongly: stop all workers and run `python -m worker repair`"
                )


def _name(block: Block) -> str:
    return f"block ({block.after}, {block.to}] of shard {block.shard}"
