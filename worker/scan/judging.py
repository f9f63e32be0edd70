"""The scan itself: pages out of archives in, a line each out, and checkpoints from which it goes on."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from worker.local import Deduplicator, FetchedPage, Verdict
from worker.page.canonical import canonical_link
from worker.results.rows import DEAD_LETTERS, VERDICTS, dead_letter_line, scan_line
from worker.scan.checkpoint import ArchiveEnd, Checkpoint
from worker.scan.ids import Ids
from worker.scan.inputs.records import Archive, ArchivedPage, BrokenRecord
from worker.scan.line_file import LineFile
from worker.verdict.decide import DEAD

CHECKPOINT_SECONDS: Final = 10.0
"""So much work is done again at most when a scan was killed."""
_AHEAD: Final = 1000
"""Records without a page that are read ahead of a page's verdict; from there on they wait for it."""


class Done(NamedTuple):
    """How far a scan is: pages judged, of them those that are not unique, records that no page could be read from, and
    bytes of the archives read."""

    pages: int = 0
    copies: int = 0
    broken: int = 0
    bytes: int = 0


class _End(NamedTuple):
    """Stands behind the last record of an archive."""

    passed_over: dict[str, int]


class Judging:
    """Judges all pages of the archives, from a checkpoint on.

    Args:
        folder: where lines and checkpoints are written.
        archives: in order; those of ``checkpoint.plan.against`` come first, and their pages get no line.
        checkpoint: what is done already; ``deduplicator`` stands there.
        deduplicator: its state is in ``folder``.
        ids: of its pages.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        folder: Path,
        archives: Sequence[Archive],
        checkpoint: Checkpoint,
        deduplicator: Deduplicator,
        ids: Ids,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder: Final = folder
        self._archives: Final = archives
        self._checkpoint = checkpoint
        self._deduplicator: Final = deduplicator
        self._ids: Final = ids
        self._clock: Final = clock
        self._files: Final = {
            name: LineFile(folder / name, checkpoint.lengths.get(name, 0)) for name in (VERDICTS, DEAD_LETTERS)
        }
        self._taken: deque[ArchivedPage | BrokenRecord | _End] = deque()
        self.ends: Final = list(checkpoint.ends)
        """Of each archive that was read to its end."""
        self._begun: Final = clock()
        self._before: Final = checkpoint.seconds
        self._archive, self._records = checkpoint.archive, checkpoint.records
        self._judged = checkpoint.judged
        self._bytes_before = sum(archive.bytes_in_all or 0 for archive in archives[: checkpoint.archive])
        self.done = Done(bytes=self._bytes_before)
        """As of the last line, since this began."""
        self._due = 0.0
        self._is_stopped = False

    def run(self, asked_to_stop: Callable[[], bool], tell: Callable[[Done], None]) -> bool:
        """Go on to the end, or until asked to stop; whether the end was reached. Either way there is a checkpoint.

        Raises:
            OverMemoryLimit: the index may not grow any more.
            Unavailable: the disk is full, or an archive cannot be read on.
        """
        self._due = self._clock() + CHECKPOINT_SECONDS
        for _, verdict in self._deduplicator.judge_found(self._pages(asked_to_stop)):
            self._write_up_to(verdict)
            tell(self.done)
            # Several pages are judged together: state and lines are at the same place only behind the last of them.
            if self._judged == self._deduplicator.judged and self._stops(asked_to_stop):
                return False
        if self._is_stopped:
            return False
        self._write_pageless()
        self._keep()
        tell(self.done)
        return True

    @property
    def seconds(self) -> float:
        """How long all of it took, before it was gone on with, too."""
        return self._before + self._clock() - self._begun

    def close(self) -> None:
        """Let go of the files."""
        for file in self._files.values():
            file.close()

    def _pages(self, asked_to_stop: Callable[[], bool]) -> Iterator[FetchedPage | None]:
        """All from the checkpoint on, and None where records without a page have to wait for the verdicts of others.

        There may be hours of reading without a page, so it stops and makes checkpoints there, too.
        """
        skipped = self._records
        for archive in self._archives[self._archive :]:
            for number, record in enumerate(archive.records()):
                if number < skipped:
                    self._is_stopped = asked_to_stop()
                elif isinstance(record, ArchivedPage):
                    self._taken.append(record)
                    yield record.page
                else:
                    self._taken.append(record)
                    self._write_pageless()
                    if len(self._taken) > _AHEAD:
                        yield None
                    self._is_stopped = not self._taken and self._stops(asked_to_stop)
                if self._is_stopped:
                    return
            self._taken.append(_End(dict(archive.passed_over)))
            skipped = 0

    def _stops(self, asked_to_stop: Callable[[], bool]) -> bool:
        """Whether to stop here, where state and lines are at the same place; before that, or when it is due, there is a
        checkpoint."""
        stops = asked_to_stop()
        if stops or self._clock() >= self._due:
            self._keep()
            self._due = self._clock() + CHECKPOINT_SECONDS
        return stops

    def _write_pageless(self) -> None:
        """Everything up to the next page that waits for its verdict."""
        while self._taken and not isinstance(self._taken[0], ArchivedPage):
            self._write(self._taken.popleft())

    def _write_up_to(self, verdict: Verdict) -> None:
        self._write_pageless()
        record = self._taken.popleft()
        assert isinstance(record, ArchivedPage)
        self._ids.append(record.id)
        self._judged += 1
        self._records += 1
        if self._archive >= self._checkpoint.plan.against:
            page, original = record.page, verdict.duplicate_of_number
            placed = verdict.having(
                file=record.place.file,
                offset=record.place.offset,
                id=record.id,
                duplicate_of_id=None if original is None else self._ids[original],
                canonical=canonical_link(page.body, page.url) if page.body else None,
            )
            self._files[VERDICTS].write(scan_line(placed))
            if verdict.verdict == DEAD:
                self._files[DEAD_LETTERS].write(dead_letter_line(placed))
        self.done = self.done._replace(
            pages=self.done.pages + 1,
            copies=self.done.copies + (verdict.duplicate_of is not None),
            bytes=self._bytes_before + self._archives[self._archive].bytes_read,
        )

    def _write(self, record: ArchivedPage | BrokenRecord | _End) -> None:
        """What is no page."""
        if isinstance(record, _End):
            self._bytes_before += self._archives[self._archive].bytes_in_all or 0
            lengths = {name: file.length for name, file in self._files.items()}
            self.ends.append(ArchiveEnd(lengths=lengths, passed_over=record.passed_over))
            self._archive, self._records = self._archive + 1, 0
            return
        assert isinstance(record, BrokenRecord)
        self._records += 1
        self.done = self.done._replace(broken=self.done.broken + 1)
        if self._archive >= self._checkpoint.plan.against:
            file, offset = record.place
            letter = Verdict(
                url="",
                verdict=DEAD,
                file=file,
                offset=offset,
                id=record.id,
                reason=record.reason,
                detail=record.detail,
            )
            self._files[DEAD_LETTERS].write(dead_letter_line(letter, pageless=True))

    def _keep(self) -> None:
        """A checkpoint here."""
        self._deduplicator.flush()
        self._ids.flush()
        self._checkpoint = Checkpoint(
            plan=self._checkpoint.plan,
            archive=self._archive,
            records=self._records,
            judged=self._judged,
            lengths={name: file.sync() for name, file in self._files.items()},
            ends=list(self.ends),
            seconds=self.seconds,
        )
        self._checkpoint.write(self._folder)
