"""The first half of a scan, on any number of machines: reads archives and writes a file of records for each of them, in
a folder or at a URL.

No page is compared with another one, so more pages take no more memory. A file gets its name when it is whole, and
names its archive: when the same command runs again, it leaves whole files as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from crawler_plugin.wire.errors import Refused
from worker.config import Settings
from worker.places import Folder
from worker.scan.inputs.archive_ref import ArchiveRef
from worker.scan.inputs.records import Archive
from worker.scan.records.files import RecordWriter, about_records, of_archive
from worker.scan.records.reading import Found, PageReading, reading_by_processes
from worker.scan.writing.copy_paths import targets

SUFFIX: Final = ".parquet"


class ReadSoFar(NamedTuple):
    """Progress of ``fingerprint``: files that it has written, and those that were whole already; records written, and
    among them those of dead pages and of places without a page; bytes of the archives read."""

    files: int = 0
    whole: int = 0
    records: int = 0
    dead: int = 0
    bytes: int = 0


class _Stopped(Exception):
    """The file that was begun must not be kept."""


def fingerprint(
    archives: Sequence[Archive],
    settings: Settings,
    target: Folder,
    asked_to_stop: Callable[[], bool],
    tell: Callable[[ReadSoFar], None],
) -> ReadSoFar | None:
    """Write the records of each archive; None if asked to stop before all are written.

    Raises:
        Refused: a file of that name is of another archive, or was made with other settings.
        UsageError: an archive cannot be opened.
        Unavailable: the disk, or the network, fails.
    """
    writing = _Writing(target, asked_to_stop, tell)
    with reading_by_processes(settings) as reading, suppress(_Stopped):
        refs = [*map(ArchiveRef.of, archives)]
        for archive, about, name in zip(archives, refs, targets(refs), strict=True):
            writing.write(archive, about, f"{name}{SUFFIX}", reading)
        return writing.done
    return None


class _Writing:
    def __init__(self, target: Folder, asked_to_stop: Callable[[], bool], tell: Callable[[ReadSoFar], None]) -> None:
        self.done = ReadSoFar()
        self._target: Final = target
        self._asked_to_stop: Final = asked_to_stop
        self._tell: Final = tell

    def write(self, archive: Archive, about: ArchiveRef, name: str, reading: PageReading) -> None:
        if self._target.size(name) is not None:
            _refuse_another(self._target, name, about, reading)
            self.done = self.done._replace(whole=self.done.whole + 1)
            return
        before = self.done.bytes
        with self._target.replaced(name) as beside:
            writer = RecordWriter(beside, reading.schema)
            for batch in reading.batches(self._found(archive)):
                writer.write(batch)
                dead = len(batch) - batch.column("dead").null_count
                done = self.done._replace(records=self.done.records + len(batch), dead=self.done.dead + dead)
                self.done = done._replace(bytes=before + archive.bytes_read)
                self._tell(self.done)
            writer.close(of_archive(about, archive.passed_over))
        self.done = self.done._replace(files=self.done.files + 1)

    def _found(self, archive: Archive) -> Iterator[Found]:
        for record in archive.records():
            if self._asked_to_stop():
                raise _Stopped
            yield record


def _refuse_another(target: Folder, name: str, about: ArchiveRef, reading: PageReading) -> None:
    """Raises ``Refused`` unless the file holds what would be written."""
    found = about_records(target.path(name), target.open(name))
    if found.scheme == reading.scheme and found.archive == about:
        return
    what = "the same archive, read with other settings" if found.archive == about else "another archive"
    raise Refused(
        f"{target.path(name)} holds records of {what}: name another folder with --out, or delete the file to have it "
        "made anew"
    )
