"""Imports survivors that were exported elsewhere into a generation that has not been used.

They become markers and blocks, as in a copy (``worker.operations.copy_index``). These records, and their keys, are a
function of the export and the settings alone. So an interrupted import goes on: records that stand there are not
written again. The writer's name comes from the same function: an import of another export, or with settings that make
other blocks, finds a generation that someone else has used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

from crawler_plugin.wire.errors import UnreadableRecord
from crawler_plugin.wire.messages import Batch, Block, Order, decode
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, INDEX
from worker.operations.copy_index import (
    Copied,
    Row,
    Survivors,
    Write,
    begins,
    from_the_first_page,
    plant,
    refuse_used,
    writes_of,
)
from worker.operations.repair import Place, State
from worker.operations.switch import Generation, refuse_running
from worker.stream.log import Record, read_to_end
from worker.stream.policy import Policy

_KEY_BYTES: Final = 16
_WRITER_BYTES: Final = 8


@dataclass(frozen=True)
class Export:
    """The content of an export: ``digest`` is that of all data that it is read from, the others are as in
    ``Survivors``."""

    digest: bytes
    watermark: int
    suspects: Collection[Order]
    rows: Callable[[], Iterator[Row]]


def import_index(target: Place, name: str, export: Export, policy: Policy, partitions: Iterable[int]) -> Copied:
    """Write all of it to the generation of this name, except the records that an earlier run has written.

    ``partitions`` are all partitions of ``pages``; its workers begin there with the first page.

    Raises:
        Refused: workers run there, or something else was written.
        Unavailable: the broker did not accept a record; the next run goes on.
    """
    refuse_running(Generation(name, target))
    made_of = (export.digest, policy.scheme, policy.flush_entries, policy.flush_bytes)
    identity = hashlib.sha256(repr(made_of).encode()).digest()
    policy = replace(policy, writer=identity[:_WRITER_BYTES])
    there = _keys_there(target, policy)
    if not there:
        refuse_used(target, name, policy)
    numbers = count()

    def new_key() -> bytes:
        return hashlib.sha256(b"%s %d" % (identity, next(numbers))).digest()[:_KEY_BYTES]

    result = Copied()
    survivors = Survivors(State(0, 0, export.watermark, {}), export.suspects, export.rows)
    writes = writes_of(survivors, policy, new_key, result)
    plant(target, name, _missing(writes, target.bounds(FINGERPRINTS, 0).end, there), result)
    target.commit(begins(from_the_first_page(target, policy, partitions), result))
    return result


def _keys_there(target: Place, policy: Policy) -> set[bytes]:
    """The keys of this import's records so far; none if someone else has written, too."""
    keys: set[bytes] = set()
    for topic, partition in ((FINGERPRINTS, 0), (ANSWERS, 0), *((INDEX, shard) for shard in range(policy.shards))):
        begin, end = target.bounds(topic, partition)
        records = read_to_end(target.reader(topic, partition, begin), end)
        if begin or not all(_written_by(policy.writer, topic, record, keys) for record in records):
            return set()
    return keys


def _written_by(writer: bytes, topic: str, record: Record, keys: set[bytes]) -> bool:
    """Whether this writer has written it; adds the record's key then."""
    keys.add(record.key or b"")
    try:
        if topic == INDEX:
            return decode(Block, record.value).writer == writer
        return decode(Batch, record.value).writer == writer
    except UnreadableRecord:
        return False


def _missing(writes: Iterable[Write], markers: int, there: Collection[bytes]) -> Iterator[Write]:
    """The records that are not there yet, after this many markers."""
    for write in writes:
        topic, _, key, _, _ = write
        if topic == FINGERPRINTS:
            markers -= 1
        if markers < 0 if topic == FINGERPRINTS else key not in there:
            yield write
