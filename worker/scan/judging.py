"""Files of records in, verdicts out, in a folder or at a URL: the second half of a scan, by one machine.

Judging costs microseconds a record, so nothing is kept of a run that was killed: the next run begins anew, and gets the
same result.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from crawler_plugin.wire.errors import Unavailable, UsageError
from worker.compose.machine import MIB, memory_for_index
from worker.config import Settings
from worker.places import Folder, next_move, shown
from worker.scan.inputs.archive_ref import RECORDS, ArchiveRef
from worker.scan.inputs.opening import StoredFile, files_within, is_folder, is_pattern, matching, stored
from worker.scan.judge.beginning import Beginning
from worker.scan.judge.external_sort import in_order, with_key
from worker.scan.judge.judge import AT_ONCE, Judge
from worker.scan.records.files import AboutRecords, about_records, records_in
from worker.scan.records.parts import ArchiveEnd
from worker.scan.results import PARTS, Results, pages_among
from worker.scan.summary import FILE as SUMMARY
from worker.scan.summary import decoded, encoded, summary
from worker.stream.shard.memory_limit import OverMemoryLimit

WORK: Final = ".judge"
_SUFFIX: Final = ".parquet"
_PLACE: Final = "place"
_LAST: Final = (1 << 63) - 1


class Judged(NamedTuple):
    """Progress of ``judge``: records judged, among them pages that are not unique, and records in all."""

    records: int = 0
    copies: int = 0
    in_all: int = 0


class RecordFile(NamedTuple):
    """A file of records, and its own description."""

    file: StoredFile
    about: AboutRecords


def record_files(names: Sequence[str]) -> list[RecordFile]:
    """The files of records in these files, folders, patterns and URLs, by their names.

    Raises:
        UsageError: there is none, or one of them cannot be read.
    """
    found: dict[str, StoredFile] = {}
    for name in names:
        if is_pattern(name):
            files = [stored(one) for one in matching(name)[0] if not is_folder(one)]
        elif is_folder(name):
            files = [file for file in files_within(name).files if file.where.endswith(_SUFFIX)]
        else:
            files = [stored(name)]
        if not files:
            raise UsageError(f"no records are in {shown(name)}: make them with `python -m worker fingerprint`")
        found |= {file.where: file for file in files}
    return [
        RecordFile(found[where], about_records(found[where].name, found[where].open().stream))
        for where in sorted(found)
    ]


@dataclass(frozen=True, kw_only=True)
class JudgeTask:
    """The files to judge, and what to do with the results.

    The records of ``old`` files get no verdict; those of ``new`` files are compared with them, too. ``states`` are
    folders with earlier pages; with ``keeps`` the first holds these pages, too, at the end. With ``by_fetch_time``
    pages are judged in the order of their fetch times, those without one last; otherwise in the order of the files.
    """

    target: Folder
    old: Sequence[RecordFile]
    new: Sequence[RecordFile]
    states: Sequence[Path] = ()
    keeps: bool = False
    by_fetch_time: bool = False
    lines: bool = False

    @property
    def records(self) -> int:
        """The number of records in all."""
        return sum(file.about.rows for file in (*self.old, *self.new))


def judge(task: JudgeTask, settings: Settings, tell: Callable[[Judged], None]) -> dict[str, Any]:
    """Judge, and return the summary.

    Raises:
        UsageError: the folder holds complete verdicts, or a file is damaged.
        Refused: a state or records were made with other settings, a state is damaged or open elsewhere; or the index
            may not grow any more, and then the message says how much it would need.
        Unavailable: the disk, or the network, fails.
    """
    target = task.target
    with tempfile.TemporaryDirectory(prefix="crawl-dedup-") as temporary:
        work = Path(target.path(WORK) if target.is_here else temporary)
        try:
            with Beginning(work, task.states, task.keeps) as beginning:
                if not beginning.is_written:
                    found = _judged(task, settings, beginning, work, tell)
                    target.write(SUMMARY, encoded(found))
                beginning.finish()
        except OSError as error:
            move = next_move(is_gone=isinstance(error, FileNotFoundError))
            raise Unavailable(
                f"the verdicts cannot be written to {target} ({error.strerror or error}): {move}, then "
                "run the same command again, which begins anew"
            ) from error
        shutil.rmtree(work, ignore_errors=True)
    return decoded(target.read(SUMMARY) or b"{}")


def fill_state(files: Sequence[RecordFile], settings: Settings, state: Path, work: Path) -> None:
    """Judge the pages of records, and keep them in a state.

    Raises:
        UsageError, Refused, Unavailable: as ``judge``.
    """
    with Beginning(work, [state], keeps=True) as beginning:
        beginning.copy()
        with beginning.judge(settings, round(time.time() * 1000)) as judge:
            for file in files:
                for records in _records(file, judge):
                    judge.take(pages_among(records))
            judge.seal()
        beginning.finish()


def _judged(
    task: JudgeTask, settings: Settings, beginning: Beginning, work: Path, tell: Callable[[Judged], None]
) -> dict[str, Any]:
    target, begun = task.target, time.monotonic()
    if target.size(SUMMARY) is not None:
        raise UsageError(f"{target} holds complete verdicts: name another folder with --out")
    for name in target.names(_SUFFIX):
        if name.startswith(f"{PARTS}/"):
            target.remove(name)
    beginning.copy()
    with ExitStack() as stack:
        judge = stack.enter_context(beginning.judge(settings, round(time.time() * 1000)))
        results = Results(target, lines=task.lines, parts=True)
        stack.callback(results.discard)
        done = 0
        try:
            for file in task.old:
                for records in _records(file, judge):
                    judge.take(pages_among(records))
                    done += len(records)
            rows = _RowsInTurn(_by_fetch_time(task, judge, work)) if task.by_fetch_time else None
            for file in task.new:
                for records in _records(file, judge):
                    if rows is None:
                        results.take(records, judge)
                    else:
                        results.take_letters(records)
                        results.take_rows(rows.next(len(pages_among(records))))
                    done += len(records)
                    tell(Judged(done, results.copies, task.records))
                results.end(ArchiveEnd(file.about.passed_over))
        except OverMemoryLimit as error:
            needed = memory_for_index(settings).limit * task.records // max(1, done) // MIB
            raise OverMemoryLimit(
                f"{error}. {done:,} of {task.records:,} records are judged; all of them need about {needed:,} MiB"
            ) from error
        judge.seal()
        results.close()
        scheme = dict(judge.scheme.entries)
    return summary([*map(_archive_of, task.new)], results.by_archive, scheme, time.monotonic() - begun)


def _archive_of(file: RecordFile) -> ArchiveRef:
    return file.about.archive or ArchiveRef(name=file.file.name, form=RECORDS, below=file.file.below)


def _by_fetch_time(task: JudgeTask, judge: Judge, work: Path) -> Iterator[pa.RecordBatch]:
    """The verdicts on all pages, judged by their fetch times, in the order of the files."""

    def pages() -> Iterator[pa.RecordBatch]:
        return (pages_among(records) for file in task.new for records in _records(file, judge))

    def by_time() -> Iterator[pa.RecordBatch]:
        begin = 0
        for batch in pages():
            places = np.arange(begin, begin + len(batch))
            yield with_key(batch.append_column(_PLACE, pa.array(places)), _times(batch))
            begin += len(batch)

    def by_place() -> Iterator[pa.RecordBatch]:
        for batch in in_order(by_time, times, work / "by-time"):
            places, begin = batch.column(_PLACE).to_numpy(), 0
            for rows in judge.verdicts(batch):
                yield with_key(rows, places[begin : begin + len(rows)])
                begin += len(rows)

    times = np.concatenate([np.zeros(0, np.int64), *map(_times, pages())])
    return in_order(by_place, np.arange(len(times)), work / "by-place")


def _times(batch: pa.RecordBatch) -> NDArray[np.int64]:
    """The fetch time of each page; pages without a known time come last."""
    found: NDArray[np.int64] = batch.column("fetched").fill_null(_LAST).to_numpy()
    return found


class _RowsInTurn:
    """Rows of batches, as many at a time as the caller asks for."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches: Final = batches
        self._left: pa.RecordBatch | None = None

    def next(self, count: int) -> pa.RecordBatch:
        """The next rows, this many."""
        taken: list[pa.RecordBatch] = []
        for batch in chain([] if self._left is None else [self._left], self._batches):
            taken.append(batch.slice(0, count))
            self._left = batch.slice(count)
            count -= len(taken[-1])
            if not count:
                break
        return pa.Table.from_batches(taken).combine_chunks().to_batches()[0]


def _records(file: RecordFile, judge: Judge) -> Iterator[pa.RecordBatch]:
    """Its records; it reads the next ones while those before are judged."""
    with closing(file.file.open().stream) as stream, ThreadPoolExecutor(1, thread_name_prefix="records") as thread:
        batches = records_in(file.file.name, stream, judge.reading, AT_ONCE)
        coming = thread.submit(next, batches, None)
        while (records := coming.result()) is not None:
            coming = thread.submit(next, batches, None)
            yield records
