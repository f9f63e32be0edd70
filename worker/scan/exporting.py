"""The survivors of an index as records: what another cluster begins with, or an archive goes on with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from crawler_plugin.wire.errors import UsageError
from worker.fingerprint.scheme import Scheme
from worker.index.blocks import Cover
from worker.index.entries import Entries
from worker.places import Folder
from worker.scan.judge.earlier import records_of_survivors
from worker.scan.records.files import RecordWriter
from worker.scan.records.schema import stamped

_FILE_ROWS: Final = 1 << 20
_SUFFIX: Final = ".parquet"


class Exported(NamedTuple):
    """How many survivors were written, and the last batch from which they are; -1 for none."""

    survivors: int
    up_to: int


def export(covers: Sequence[Cover], source: str, target: Folder, scheme: Scheme) -> Exported:
    """Write the survivors up to the last batch that the blocks of all shards reach, in their order.

    Args:
        covers: of all shards.
        source: what records call the index.
        target: gets a file for each million.
        scheme: all that reading depends on.

    Raises:
        UsageError: there are records in ``target``.
        Unavailable: the disk, or the network, fails.
        UnreadableRecord: a block is damaged.
    """
    if target.names(_SUFFIX):
        raise UsageError(f"{target} holds records: name a folder that is empty or not there with --out")
    up_to = min(found.end for found in covers)
    batches = _records(covers, up_to, source, scheme)
    done = number = 0
    while (batch := next(batches, None)) is not None:
        with target.replaced(f"{number:05}{_SUFFIX}") as beside:
            writer = RecordWriter(beside, stamped(scheme))
            writer.write(batch)
            rows = len(batch)
            while rows < _FILE_ROWS and (batch := next(batches, None)) is not None:
                writer.write(batch)
                rows += len(batch)
            writer.close({})
        done, number = done + rows, number + 1
    return Exported(done, up_to)


def _records(covers: Sequence[Cover], up_to: int, source: str, scheme: Scheme) -> Iterator[pa.RecordBatch]:
    begin = 0
    for entries in _merged(covers, up_to):
        count = len(entries)
        order = np.lexsort((entries.place, entries.batch))
        numbers = begin + np.argsort(order)
        yield records_of_survivors(entries, source, numbers, pa.nulls(count, pa.string()), scheme.id.hex()).take(
            pa.array(order)
        )
        begin += count


def _merged(covers: Sequence[Cover], up_to: int) -> Iterator[Entries]:
    """All survivors of batches up to this one, of whole batches each time, of which those of later times are later;
    one block of each shard is unpacked at a time."""
    coming = [(piece.entries().up_to(up_to) for piece in found.pieces) for found in covers]
    waiting = [Entries.empty() for _ in covers]
    while True:
        pairs = zip(waiting, coming, strict=True)
        waiting = [entries if len(entries) else next(filter(len, more), entries) for entries, more in pairs]
        if not any(map(len, waiting)):
            return
        # A block ends between batches, so up to here no shard has any that it has not shown.
        end = min(int(entries.batch[-1]) for entries in waiting if len(entries))
        yield Entries.concatenate([entries.up_to(end) for entries in waiting])
        waiting = [entries.after(end) for entries in waiting]
