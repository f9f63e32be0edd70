"""A scan from its beginning, or from where it was interrupted, to its last file.

::

    archives ─► judging ─► verdicts.jsonl, dead-letters.jsonl ─► verdicts.parquet, summary.json, unique/
                  ▲ │
                  │ └────► .scan/  (the state, its ids)  ─► the state that was named
    progress.json ┘

Everything behind the lines is made of them and of the archives when all pages are judged. A process that is killed then
does it again when it is started with ``--resume``.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from crawler_plugin.wire.errors import Refused, Unavailable, UsageError
from crawler_plugin.wire.files import replaced
from worker.config import Settings
from worker.local import Deduplicator
from worker.places import Folder
from worker.results.formats import write_parquet
from worker.results.rows import OF_SCAN, VERDICTS, read_line, scan_row
from worker.scan.base_state import BaseState
from worker.scan.checkpoint import ArchiveEnd, Checkpoint, ScanPlan
from worker.scan.ids import Ids
from worker.scan.inputs.opening import printable
from worker.scan.inputs.records import Archive
from worker.scan.judging import Done, Judging
from worker.scan.summary import FILE as SUMMARY
from worker.scan.summary import refs_in, summary, write_summary
from worker.scan.writing.verdict_columns import FILE as PARQUET
from worker.scan.writing.verdict_columns import VerdictColumns
from worker.scan.writing.write import JudgedArchive, Writing, refuse_unwritable, write_archives

UNIQUE: Final = "unique"
WORK: Final = ".scan"
"""The folder in which a scan keeps what it has seen until it has ended."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is scanned, and what becomes of it.

    ``old`` and ``new`` are archives; old pages get no verdict, and new ones are compared with them, too. ``base`` is a
    state to begin with; with ``keeps`` it holds the pages of this scan, too, in the end. ``fields`` are the names that
    were given for columns. ``write`` says whether survivors are written in their own form.
    """

    folder: Path
    old: Sequence[Archive]
    new: Sequence[Archive]
    fields: dict[str, str | None]
    base: Path | None = None
    keeps: bool = False
    write: bool = False

    @property
    def archives(self) -> list[Archive]:
        """All of them, in the order in which they are judged."""
        return [*self.old, *self.new]

    def plan(self, base_digest: str, clock: float) -> ScanPlan:
        """To be compared with that of whoever resumes."""
        return ScanPlan(
            archives=[(each.name, each.form, each.bytes_in_all) for each in self.archives],
            against=len(self.old),
            fields=self.fields,
            base=None if self.base is None else printable(str(self.base)),
            base_digest=base_digest,
            keeps=self.keeps,
            clock=clock,
        )


def begun(folder: Path, resume: bool) -> Checkpoint | None:
    """Where a scan in this folder goes on, None where none was begun.

    Raises:
        UsageError: another scan is there, interrupted or complete.
        Refused: nobody can say how far it is.
    """
    checkpoint = Checkpoint.read(folder)
    if checkpoint is not None and not resume:
        raise UsageError(
            f"a scan into {folder} was interrupted: add --resume to go on with it, or name another folder with --out"
        )
    if checkpoint is None and (folder / SUMMARY).exists():
        raise UsageError(f"{folder} holds a complete scan: name another folder with --out")
    if checkpoint is None and (folder / VERDICTS).exists():
        raise UsageError(f"{folder} holds a {VERDICTS} of another program: name another folder with --out")
    return checkpoint


def scan(
    task: Task,
    settings: Settings,
    checkpoint: Checkpoint | None,
    asked_to_stop: Callable[[], bool],
    tell: Callable[[Done], None],
    all_judged: Callable[[], None] = lambda: None,
) -> dict[str, Any] | None:
    """Scan, and return the summary; None if it was asked to stop before all pages were judged.

    Args:
        checkpoint: what ``begun`` found.
        tell: is told after each page how far the scan is.
        all_judged: is called when all pages are. From then on nobody is asked whether to stop: whoever wants that
            raises, at any place.

    Raises:
        UsageError: a folder cannot be used, or an archive cannot be opened.
        Refused: a state is damaged, of other settings, open elsewhere or not the one of before, or other archives are
            named than when the scan was begun; or the index may not grow any more.
        Unavailable: the disk is full, or something cannot be read on.
    """
    try:
        return _scan(task, settings, checkpoint, asked_to_stop, tell, all_judged)
    except OSError as error:
        raise Unavailable(
            f"the scan into {task.folder} cannot go on ({error.strerror or error}): make room on the disk, or see that "
            "the folder can be written to, then run the same command with --resume"
        ) from error


def _scan(
    task: Task,
    settings: Settings,
    checkpoint: Checkpoint | None,
    asked_to_stop: Callable[[], bool],
    tell: Callable[[Done], None],
    all_judged: Callable[[], None],
) -> dict[str, Any] | None:
    if task.write:
        refuse_unwritable(task.new, Folder(str(task.folder / UNIQUE)))
    with ExitStack() as stack:
        base = None if task.base is None else stack.enter_context(BaseState(task.base))
        if checkpoint is None:
            checkpoint = Checkpoint(plan=_begin(task, base))
            back_to = None
        else:
            _refuse_another(task, checkpoint.plan)
            back_to = checkpoint.judged
        work, plan = task.folder / WORK, checkpoint.plan
        local = stack.enter_context(Deduplicator(work, settings, clock=lambda: plan.clock, back_to=back_to))
        ids = stack.enter_context(closing(Ids(work, local.judged)))
        if back_to is None:
            checkpoint = Checkpoint(plan=plan, judged=local.judged)
            checkpoint.write(task.folder)
        with closing(Judging(task.folder, task.archives, checkpoint, local, ids)) as judging:
            if not judging.run(asked_to_stop, tell):
                return None
            ends, seconds = judging.ends[len(task.old) :], judging.seconds
        scheme = local.scheme
        local.close()
        all_judged()
        found = _finish(task, ends, dict(scheme.entries), seconds)
        if base is not None and task.keeps:
            base.replace_by(work, plan.base_digest)
        Checkpoint.remove(task.folder)
    shutil.rmtree(work)
    return found


def _begin(task: Task, base: BaseState | None) -> ScanPlan:
    """A folder in which nothing of a scan is, but for a copy of the state that it begins with."""
    shutil.rmtree(task.folder / WORK, ignore_errors=True)
    if base is not None:
        base.copy_to(task.folder / WORK)
    return task.plan("" if base is None else base.digest, time.time())


def _refuse_another(task: Task, before: ScanPlan) -> None:
    """Raises ``Refused`` unless the task is the one that was begun."""
    now = task.plan(before.base_digest, before.clock)
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


def _finish(task: Task, ends: Sequence[ArchiveEnd], scheme: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Everything that is made of the lines."""
    verdicts = task.folder / VERDICTS
    with verdicts.open("rb") as lines, replaced(task.folder / PARQUET) as beside:
        write_parquet(map(scan_row, map(read_line, lines)), OF_SCAN, beside)
    found = summary(task.folder, task.new, ends, scheme, seconds)
    found["not_written"] = _write_unique(task, found) if task.write else 0
    write_summary(found, task.folder / SUMMARY)
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
