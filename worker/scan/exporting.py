"""The survivors of an index as records, from which another cluster begins or an archive goes on.

Each file is whole when it has its name, and ends between two survivors. So an interrupted export goes on after the last
survivor that was written, which must still stand in the index: otherwise the files belong to another index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from crawler_plugin.wire.errors import UsageError
from worker.fingerprint.scheme import Scheme
from worker.index.blocks import Cover, Piece
from worker.index.entries import Entries
from worker.places import Folder
from worker.scan.judge.earlier import records_of_survivors
from worker.scan.records.exported import EXPORTED, MANIFEST, ExportedFile, Manifest, digest_of, seal
from worker.scan.records.files import RecordWriter, as_usage_error, parquet
from worker.scan.records.schema import stamped, words_of

_FILE_ROWS: Final = 1 << 20
_SUFFIX: Final = ".parquet"


class Exported(NamedTuple):
    """How many survivors there are, the last batch that they come from (-1 for none), and how many of them an earlier
    run has written."""

    survivors: int
    up_to: int
    before: int = 0


def export(covers: Sequence[Cover], source: str, target: Folder, reading: Scheme, scheme: Scheme) -> Exported:
    """Write the survivors up to the last batch that the blocks of all shards reach, in their order.

    Args:
        covers: of all shards.
        source: the name of the index in records.
        target: gets a file for each million, then the manifest.
        reading: all that reading depends on.
        scheme: all that verdicts depend on, as if there were one shard.

    Raises:
        UsageError: there is an export in ``target``, or records of something else.
        Unavailable: the disk, or the network, fails.
        UnreadableRecord: a block is damaged.
    """
    if target.size(MANIFEST) is not None:
        raise UsageError(f"{target} holds an export: name a folder that is empty or not there with --out")
    up_to = min(found.end for found in covers)
    files, last = _written(target, reading)
    before = done = sum(file.rows for file in files)
    batches = _records(covers, up_to, last, before, source, reading.id.hex())
    while (batch := next(batches, None)) is not None:
        name = _name(len(files))
        with target.replaced(name) as beside:
            writer = RecordWriter(beside, EXPORTED.with_metadata(stamped(reading).metadata))
            writer.write(batch)
            rows = len(batch)
            while rows < _FILE_ROWS and (batch := next(batches, None)) is not None:
                writer.write(batch)
                rows += len(batch)
            writer.close({})
            with beside.open("rb") as stream:
                files.append(ExportedFile(name, rows, beside.stat().st_size, digest_of(stream)))
        done += rows
    if done:
        watermark = next(found.last.watermark for found in covers if found.last and found.end == up_to)
        suspects = sorted(order for found in covers for order in found.suspects if order[0] <= up_to)
        words = scheme.encode().decode()
        seal(target, Manifest(scheme=words, up_to=up_to, watermark=watermark, files=files, suspects=suspects))
    return Exported(done, up_to, before)


def _name(number: int) -> str:
    return f"{number:05}{_SUFFIX}"


def _written(target: Folder, reading: Scheme) -> tuple[list[ExportedFile], dict[str, Any] | None]:
    """The records that an earlier run has written, and the last of them.

    Raises:
        UsageError: there are other records.
    """
    files: list[ExportedFile] = []
    last = None
    for name in target.names(_SUFFIX):
        shown = f"{target}/{name}"
        with target.open(name) as stream, as_usage_error(shown), parquet(stream) as earlier:
            digest = digest_of(stream)
            found, rows = earlier.schema_arrow, earlier.metadata.num_rows
            if name != _name(len(files)) or not found.equals(EXPORTED) or words_of(found) != reading or not rows:
                raise UsageError(f"{target} holds other records: name a folder that is empty or not there with --out")
            group = earlier.read_row_group(earlier.num_row_groups - 1)
            (last,) = group.slice(len(group) - 1).to_pylist()
        files.append(ExportedFile(name, rows, target.size(name) or 0, digest))
    return files, last


def _records(
    covers: Sequence[Cover], up_to: int, last: dict[str, Any] | None, begin: int, *named: str
) -> Iterator[pa.RecordBatch]:
    """The records of the survivors after ``last``, numbered from ``begin`` on.

    Raises:
        UsageError: ``last`` is not among the survivors.
    """
    for entries, clocks in _merged(covers, up_to):
        order = np.lexsort((entries.place, entries.batch))
        if last is not None:
            batch, place = last["batch"], last["place"]
            before = (entries.batch < batch) | ((entries.batch == batch) & (entries.place <= place))
            done, order = np.split(order, [int(before.sum())])
            if len(done) and _as_records(entries, clocks, done[-1:], begin - 1, *named).to_pylist() == [last]:
                last = None
        if len(order):
            if last is not None:
                break
            yield _as_records(entries, clocks, order, begin, *named)
            begin += len(order)
    if last is not None:
        raise UsageError(
            "the folder of --out holds records of another index, or of survivors that have expired since: name a "
            "folder that is empty or not there"
        )


def _as_records(
    entries: Entries, clocks: NDArray[np.int64], rows: NDArray[np.int64], begin: int, source: str, scheme: str
) -> pa.RecordBatch:
    """The records of the entries in these rows, in the order of ``rows``."""
    numbers = np.zeros(len(entries), np.int64)
    numbers[rows] = np.arange(begin, begin + len(rows))
    records = records_of_survivors(entries, source, numbers, pa.nulls(len(entries), pa.string()), scheme)
    besides = (pa.array(column.astype(np.int64)) for column in (entries.batch, entries.place, clocks))
    return pa.RecordBatch.from_arrays([*records.columns, *besides], schema=EXPORTED).take(pa.array(rows))


def _merged(covers: Sequence[Cover], up_to: int) -> Iterator[tuple[Entries, NDArray[np.int64]]]:
    """All survivors of batches up to this one with their clocks: whole batches each time, later ones each next time.
    One block of each shard is unpacked at a time."""
    clocks: dict[int, int] = {}

    def unpacked(piece: Piece) -> Entries:
        clocks.update(piece.clocks)
        return piece.entries().up_to(up_to)

    coming = [map(unpacked, found.pieces) for found in covers]
    waiting = [Entries.empty() for _ in covers]
    while True:
        pairs = zip(waiting, coming, strict=True)
        waiting = [entries if len(entries) else next(filter(len, more), entries) for entries, more in pairs]
        if not any(map(len, waiting)):
            return
        # A block ends between batches, so up to here no shard has any survivor that it has not shown.
        end = min(int(entries.batch[-1]) for entries in waiting if len(entries))
        entries = Entries.concatenate([entries.up_to(end) for entries in waiting])
        yield entries, np.fromiter(map(clocks.__getitem__, entries.batch.tolist()), np.int64, len(entries))
        for batch in [batch for batch in clocks if batch <= end]:
            del clocks[batch]
        waiting = [entries.after(end) for entries in waiting]
