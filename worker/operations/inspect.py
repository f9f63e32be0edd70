"""Shows people the content of the ``index`` topic: a look that joins no group and changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from crawler_plugin.wire.errors import Refused, UnreadableRecord
from crawler_plugin.wire.messages import Block, decode
from crawler_plugin.wire.page_headers import Headers
from crawler_plugin.wire.topics import INDEX
from worker.index.blocks import NO_BATCH, cover, unpack
from worker.stream.log import Readable, read_to_end
from worker.stream.policy import ReplayPoint
from worker.stream.replay import Logs, Reach, check_reach, logs_of


@dataclass(frozen=True)
class ShardTopic:
    """One partition of ``index`` as it was read.

    ``blocks`` are those that no tombstone has removed. ``unreadable`` says for each record that is no sound block of
    this shard where it stands and why. ``size`` counts keys and values of all records that compaction has left, in
    bytes. ``words`` are the headers of a block by its scheme, which name the scheme in words.
    """

    shard: int
    blocks: tuple[Block, ...]
    words: Mapping[bytes, Headers]
    unreadable: tuple[str, ...]
    size: int


def read_shard(log: Readable, shard: int) -> ShardTopic:
    """Read a shard's partition from its beginning to its end as of now."""
    blocks: dict[bytes, Block] = {}
    unreadable: dict[bytes, str] = {}
    words: dict[bytes, Headers] = {}
    size = 0
    begin, end = log.bounds(INDEX, shard)
    for record in read_to_end(log.reader(INDEX, shard, begin), end):
        key = record.key or b""
        blocks.pop(key, None)
        unreadable.pop(key, None)
        size += len(key) + len(record.value or b"")
        if record.value is None:
            continue
        try:
            block = decode(Block, record.value)
            unpack(block)
        except UnreadableRecord as error:
            unreadable[key] = f"offset {record.offset}: {error}"
            continue
        if block.shard != shard:
            unreadable[key] = f"offset {record.offset}: a block of shard {block.shard}"
            continue
        blocks[key] = block
        words.setdefault(block.scheme, record.headers)
    return ShardTopic(shard, tuple(blocks.values()), words, tuple(unreadable.values()), size)


@dataclass(frozen=True)
class ShardReport:
    """What a shard would be rebuilt from.

    ``complete_up_to`` is the last batch of the cover and ``floor`` a batch up to which all has expired, -1 for none.
    ``damaged`` blocks lie above the cover. ``batches_to_spare`` and ``answers_to_spare`` say how far the logs begin
    before the shard's replay point; if they are negative, records that it needs are gone. ``problems`` are for a person
    to look at, none if all is well.
    """

    shard: int
    entries: int
    complete_up_to: int
    floor: int
    writers: tuple[str, ...]
    blocks: int
    damaged: int
    bytes: int
    batches_to_spare: int
    answers_to_spare: int
    problems: tuple[str, ...]


def inspect(log: Readable, shards: Iterable[int]) -> list[ShardReport]:
    """Look at each shard, one after the other; holds the blocks of one at a time."""
    logs = logs_of(log)
    return [report(read_shard(log, shard), logs) for shard in shards]


def report(found: ShardTopic, logs: Logs) -> ShardReport:
    """Judge the records of a shard."""
    problems = [f"a record cannot be read, {why}" for why in found.unreadable]
    if len(found.words) > 1:
        problems.append(f"blocks of {len(found.words)} schemes, written with different settings")
    entries, damaged, end, floor, point = 0, 0, NO_BATCH, NO_BATCH, ReplayPoint(0, 0)
    try:
        covered = cover(found.blocks)
        end, floor, damaged = covered.end, covered.floor, len(covered.damaged)
        if covered.last is not None:
            point = ReplayPoint(covered.last.to + 1, covered.last.answers_offset)
        entries = sum(len(piece.entries()) for piece in covered.pieces)
    except Refused as error:
        problems.append(str(error))
    if damaged:
        problems.append(
            f"{damaged} blocks lie above batch {end}, and the blocks between are lost: workers read the logs from there"
        )
    if (reach := check_reach(logs, point)) is not Reach.FINE:
        problems.append(
            f"its replay point (batch {point.batch}, answer {point.answers_offset}) is {reach.value}: "
            "run `python -m worker repair`, which says what was lost"
        )
    return ShardReport(
        shard=found.shard,
        entries=entries,
        complete_up_to=end,
        floor=floor,
        writers=tuple(sorted({block.writer.hex() for block in found.blocks})),
        blocks=len(found.blocks),
        damaged=damaged,
        bytes=found.size,
        batches_to_spare=point.batch - logs.fingerprints.begin,
        answers_to_spare=point.answers_offset - logs.answers.begin,
        problems=tuple(problems),
    )
