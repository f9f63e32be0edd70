"""A scan from its beginning, or from where it was interrupted, to its last file.

::

    archives ─► reading ─► records ─► judge ─► verdicts, dead letters ─► summary.json, unique/
                              │ ▲        └─►  .scan/state  ─► the state that was named
                              ▼ │
                        .scan/records/

A process that was killed reads no page again when it is started with ``--resume``: the pages read so far are judged
once more, from the first record on, and then the rest is read.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, NamedTuple

from crawler_plugin.wire.errors import Refused, Unavailable, UsageError
from worker.config import Settings
from worker.fingerprint.scheme import Value
from worker.places import Folder
from worker.results.rows import VERDICTS
from worker.scan.checkpoint import ScanPlan
from worker.scan.inputs.archive_ref import ArchiveRef
from worker.scan.inputs.opening import printable
from worker.scan.inputs.records import Archive
from worker.scan.judge.beginning import Beginning
from worker.scan.records.parts import ArchiveEnd, Item, RecordParts, split
from worker.scan.records.reading import Found, PageReading, reading_by_processes
from worker.scan.results import Results, pages_among
from worker.scan.summary import FILE as SUMMARY
from worker.scan.summary import VerdictCounts, decoded, encoded, refs_in, summary
from worker.scan.writing.verdict_columns import VerdictColumns
from worker.scan.writing.write import JudgedArchive, Writing, refuse_unwritable, write_archives

UNIQUE: Final = "unique"
WORK: Final = ".scan"
"""The folder in which a scan keeps its records until it has ended."""
_RECORDS: Final = "records"
"""In it: the records read so far."""


class Done(NamedTuple):
    """Progress of a scan: pages judged, among them those that are not unique, records that no page could be read from,
    and bytes of the archives read."""

    pages: int = 0
    copies: int = 0
    broken: int = 0
    bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class Task:
    """What to scan, and what to do with the results.

    ``old`` and ``new`` are archives; old pages get no verdict, and new ones are compared with them, too. ``states`` are
    folders with earlier pages; with ``keeps`` the first holds the pages of this scan, too, at the end. ``fields`` are
    the names that were given for columns. ``write`` says whether survivors are written in their own form.
    """

    folder: Path
    old: Sequence[Archive]
    new: Sequence[Archive]
    fields: dict[str, str | None]
    states: Sequence[Path] = ()
    keeps: bool = False
    write: bool = False

    @property
    def archives(self) -> list[Archive]:
        """All of them, in the order in which they are judged."""
        return [*self.old, *self.new]

    def plan(self, clock: float) -> ScanPlan:
        """The plan, to be compared with that of a scan that resumes."""
        return ScanPlan(
            archives=[(each.name, each.form, each.bytes_in_all) for each in self.archives],
            against=len(self.old),
            fields=self.fields,
            states=[printable(str(each)) for each in self.states],
            keeps=self.keeps,
            clock=clock,
        )


def begun(folder: Path, resume: bool) -> ScanPlan | None:
    """The scan that was begun in this folder and goes on, None if none was begun.

    Raises:
        UsageError: another scan is there, interrupted or complete.
        Refused: the program cannot find out which it is.
    """
    plan = ScanPlan.read(folder)
    if plan is not None and not resume:
        raise UsageError(
            f"a scan into {folder} was interrupted: add --resume to go on with it, or name another folder with --out"
        )
    if plan is None and (folder / SUMMARY).exists():
        raise UsageError(f"{folder} holds a complete scan: name another folder with --out")
    if plan is None and (folder / VERDICTS).exists():
        raise UsageError(f"{folder} holds a {VERDICTS} of another program: name another folder with --out")
    return plan


def scan(
    task: Task,
    settings: Settings,
    plan: ScanPlan | None,
    asked_to_stop: Callable[[], bool],
    tell: Callable[[Done], None],
    all_judged: Callable[[], None] = lambda: None,
) -> dict[str, Any] | None:
    """Scan, and return the summary; None if it was asked to stop before all pages were judged.

    Args:
        plan: the result of ``begun``.
        tell: is called again and again with the progress of the scan.
        all_judged: is called when all pages are judged. After that the scan no longer asks whether to stop: a caller
            that wants to stop raises, at any place.

    Raises:
        UsageError: a folder cannot be used, or an archive cannot be opened.
        Refused: a state is damaged, of other settings, open elsewhere or not the one of before, or other archives are
            named than when the scan was begun; or the index may not grow any more.
        Unavailable: the disk is full, or an archive cannot be read to its end.
    """
    try:
        return _scan(task, settings, plan, asked_to_stop, tell, all_judged)
    except OSError as error:
        raise Unavailable(
            f"the scan into {task.folder} cannot go on ({error.strerror or error}): make room on the disk, or see that "
            "the folder can be written to, then run the same command with --resume"
        ) from error


def _scan(
    task: Task,
    settings: Settings,
    plan: ScanPlan | None,
    asked_to_stop: Callable[[], bool],
    tell: Callable[[Done], None],
    all_judged: Callable[[], None],
) -> dict[str, Any] | None:
    work = task.folder / WORK
    if task.write:
        refuse_unwritable(task.new, Folder(str(task.folder / UNIQUE)))
    with Beginning(work, task.states, task.keeps) as beginning:
        if plan is None:
            beginning.copy()
            plan = task.plan(time.time())
            plan.write(task.folder)
        else:
            _refuse_another(task, plan)
        if beginning.is_written:
            found = decoded((task.folder / SUMMARY).read_bytes())
        else:
            judged = _judge(task, settings, plan, beginning, asked_to_stop, tell)
            if judged is None:
                return None
            all_judged()
            found = _finish(task, *judged)
        beginning.finish()
        ScanPlan.remove(task.folder)
    shutil.rmtree(work)
    return found


def _judge(
    task: Task,
    settings: Settings,
    plan: ScanPlan,
    beginning: Beginning,
    asked_to_stop: Callable[[], bool],
    tell: Callable[[Done], None],
) -> tuple[Sequence[VerdictCounts], Mapping[str, Value], float] | None:
    """Counts of the new archives, the scheme, seconds; None if the scan was asked to stop."""
    with ExitStack() as stack:
        judge = stack.enter_context(beginning.judge(settings, round(plan.clock * 1000)))
        reading = stack.enter_context(reading_by_processes(settings))
        read = RecordParts(task.folder / WORK / _RECORDS, reading.schema, reading.scheme)
        results = Results(Folder(str(task.folder)), lines=True, parts=False)
        stack.callback(results.discard)
        stack.callback(read.flush)
        coming = _Coming(task.archives, read, reading, asked_to_stop)
        archive = 0
        for item in coming.items():
            if isinstance(item, ArchiveEnd):
                archive += 1
                if archive > len(task.old):
                    results.end(item)
            elif archive < len(task.old):
                judge.take(pages_among(item))
            else:
                results.take(item, judge)
            tell(Done(results.pages, results.copies, results.broken, coming.bytes))
        if coming.is_stopped:
            return None
        judge.seal()
        results.close()
        read.flush()
        return results.by_archive, dict(judge.scheme.entries), read.seconds


class _Coming:
    """All records of the archives: those that were read before, then the rest."""

    def __init__(
        self, archives: Sequence[Archive], read: RecordParts, reading: PageReading, asked_to_stop: Callable[[], bool]
    ) -> None:
        self._archives: Final = archives
        self._read: Final = read
        self._reading: Final = reading
        self._asked_to_stop: Final = asked_to_stop
        self._ends: Final[list[tuple[int, Mapping[str, int]]]] = []
        self._found_so_far = 0
        self._now: Archive | None = None
        self._bytes_before = sum(archive.bytes_in_all or 0 for archive in archives[: read.archive])
        self.is_stopped = False

    @property
    def bytes(self) -> int:
        """Bytes read of the archives."""
        return self._bytes_before + (0 if self._now is None else self._now.bytes_read)

    def items(self) -> Iterator[Item]:
        """In their order; new records are kept for a scan that goes on."""
        yield from self._read.items()
        for item in self._fresh():
            self._read.add(item)
            yield item

    def _fresh(self) -> Iterator[Item]:
        at = 0
        for batch in self._reading.batches(self._found()):
            yield from split(batch, at, self._ends)
            at += len(batch)
        for _, passed_over in self._ends:
            yield ArchiveEnd(passed_over)

    def _found(self) -> Iterator[Found]:
        skipped = self._read.records
        for archive in self._archives[self._read.archive :]:
            self._now = archive
            for number, record in enumerate(archive.records()):
                if self._asked_to_stop():
                    self.is_stopped = True
                    return
                if number >= skipped:
                    self._found_so_far += 1
                    yield record
            skipped = 0
            self._bytes_before += archive.bytes_in_all or 0
            self._now = None
            self._ends.append((self._found_so_far, dict(archive.passed_over)))


def _refuse_another(task: Task, before: ScanPlan) -> None:
    """Raises ``Refused`` unless the task is the one that was begun."""
    now = task.plan(before.clock)
    if now == before:
        return
    differs = [name for name in ScanPlan.__struct_fields__ if getattr(now, name) != getattr(before, name)]
    if differs == ["archives"]:
        nothing = ("nothing", "", None)
        odd = [pair for pair in zip_longest(before.archives, now.archives, fillvalue=nothing) if pair[0] != pair[1]]
        (was, *_, bytes_then), (given, *_, bytes_now) = odd[0]
        raise Refused(
            f"the scan into {task.folder} was begun with other archives, or they have changed since: {was} "
            f"({bytes_then} bytes) then, {given} ({bytes_now} bytes) now. Name the same ones in the same order, or "
            "scan into another folder"
        )
    raise Refused(
        f"the scan into {task.folder} was begun otherwise ({', '.join(differs)}): give the same options again, or scan "
        "into another folder"
    )


def _finish(
    task: Task, counted: Sequence[VerdictCounts], scheme: Mapping[str, Value], seconds: float
) -> dict[str, Any]:
    """Write everything that is made of the lines."""
    found = summary([*map(ArchiveRef.of, task.new)], counted, scheme, seconds)
    found["not_written"] = _write_unique(task, found) if task.write else 0
    Folder(str(task.folder)).write(SUMMARY, encoded(found))
    return found


def _write_unique(task: Task, found: dict[str, Any]) -> int:
    """How many pages that stay could not be written."""
    sources = [
        JudgedArchive(ref, partial(_itself, archive)) for ref, archive in zip(refs_in(found), task.new, strict=True)
    ]
    columns = VerdictColumns(Folder(str(task.folder)))
    return write_archives(columns, sources, Writing(out=Folder(str(task.folder / UNIQUE)), moved={})).lost


def _itself(archive: Archive) -> Archive:
    return archive
