"""The spool's file: its lock, its pages, and which of them were sent.

Pages are appended and never moved. They leave in two steps, so that a page is always on Kafka or here:

1. *sent*: Kafka has confirmed it, and one byte of its record says so;
2. *emptied*: all pages of the file are sent, and the file is cut to zero bytes; when the spool is closed empty, the
   file is removed.

========================================  =============================================================================
killed                                    what happens to the page
========================================  =============================================================================
while it is appended                      its record is torn: it is passed over and named when the file is opened next
after that, before Kafka has confirmed    it is sent by the next crawl or command
after Kafka has confirmed, before step 1  it is sent again; the later one is a refetch to the workers
after step 1                              nothing is sent twice
========================================  =============================================================================

A record before the pages of each crawl says where they are to go (``Destination``): a crawl that publishes elsewhere
cannot open the file.

Next to the pages lie marks, which say how many pages of a job a run has put on Kafka, where the run could not report
that to Kafka any more. They are removed with the last page: a process that opens the file gets the marks, and a process
that leaves pages in it writes them again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import sys
import threading
from array import array
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from crawler_plugin.record import PageRecord
from crawler_plugin.spool.records import (
    MAGIC,
    SENT,
    STATE_OFFSET,
    Damage,
    Destination,
    encode,
    encode_destination,
    encode_mark,
    record_at,
    scan,
)
from crawler_plugin.wire.errors import Refused, Unavailable, UnreadableRecord, UsageError
from crawler_plugin.wire.files import HeldFile, write_all
from crawler_plugin.wire.outcomes import JobMark


class Elsewhere(Refused):
    """The pages of a spool belong on another topic, or on other brokers."""


class Appended(NamedTuple):
    """How many pages, counted from the first, are on the disk now, and why the others are not."""

    pages: int
    trouble: str | None


class Stored(NamedTuple):
    """A page that was read from the spool; ``place`` is the argument for ``mark_sent``."""

    place: int
    page: PageRecord


class Spool:
    """A file that this process alone uses. May be used from any thread; each call blocks on the disk.

    ``damaged`` names the bytes that were passed over when the file was opened; ``marks`` holds the marks that lay in it
    then, and ``destinations`` says where its pages are to go.
    """

    def __init__(self, path: Path, limit: int, held: HeldFile, to: Destination | None = None) -> None:
        self.path = path
        self.damaged: list[Damage] = []
        self.marks: list[JobMark] = []
        self.destinations: list[Destination] = []
        self._to = to
        self._limit = limit
        self._held = held
        self._lock = threading.RLock()
        self._places = array("Q")
        """The offsets of the pages that were not sent when the file was opened."""
        self._read = 0
        self._left = 0
        self._end = 0
        self._is_closed = False

    @classmethod
    def open(cls, path: Path, limit: int, to: Destination | None = None) -> Spool:
        """Hold the file, which is made if it is not there, and read its records. ``limit`` is the largest size that it
        may grow to.

        ``to`` is the destination of pages that are appended; None: not known.

        Raises:
            Unavailable: another process uses the file.
            Elsewhere: its pages have another destination.
            Refused: the file holds a record of a later version.
            UsageError: the file is not a spool.
            OSError: the file cannot be opened, made or read.
        """
        path = path.absolute()
        try:
            spool = cls(path, limit, HeldFile(path), to)
        except BlockingIOError as error:
            raise Unavailable(
                f"{path} is in use by another crawl or command; give each crawl a file of its own in DEDUP_SPOOL "
                "(%(job)s stands for its job), leave that setting out, or wait until the other one has ended"
            ) from error
        try:
            spool._look_through()
            spool._see_that_it_goes_there()
        except BaseException:
            spool._held.close()
            raise
        return spool

    def absorb(self, other: Spool) -> str | None:
        """Take over the pages of another spool with the same destination; returns the reason if that was not possible.

        The other spool is emptied when all its pages are on the disk here, whatever the limit is. If the process is
        killed in between, both spools hold the pages, which are then sent twice.
        """
        with self._lock, other._lock:
            begun = self._end
            new = [each for each in other.destinations if each not in self.destinations]
            beside = [*map(encode_destination, new), *map(encode_mark, other.marks)]
            places, trouble = self._write(chain(beside, map(other._record_at, other._places)), sys.maxsize)
            if trouble is not None:
                self._cut_to(begun)
                return trouble
            self.destinations += new
            self.marks += other.marks
            self._places.extend(places[len(beside) :])
            self._left += other._left
            other._left = 0
            other._empty()
            return None

    @property
    def left(self) -> int:
        """The number of pages in the file that Kafka has not confirmed."""
        with self._lock:
            return self._left

    @property
    def has_unread(self) -> bool:
        """Whether ``take`` has another page."""
        with self._lock:
            return not self._is_closed and self._read < len(self._places)

    @property
    def size(self) -> int:
        """The file's size in bytes."""
        with self._lock:
            return self._end

    def append(self, pages: Sequence[PageRecord]) -> Appended:
        """Write pages behind the others and wait until the disk has them. Pages that do not fit leave no trace."""
        with self._lock:
            if self._is_closed:
                return Appended(0, f"{self.path} is closed")
            new = [self._to] if pages and self._to is not None and self._to not in self.destinations else []
            places, trouble = self._write(chain(map(encode_destination, new), map(encode, pages)), self._limit)
            self.destinations += new[: len(places)]
            begun = places[len(new) :]
            self._places.extend(begun)
            self._left += len(begun)
            return Appended(len(begun), trouble)

    def keep_marks(self, marks: Sequence[JobMark]) -> bool:
        """Write marks behind the pages, if the spool has pages; returns whether the marks are on the disk."""
        with self._lock:
            if self._is_closed or not self._left:
                return False
            return self._write(map(encode_mark, marks), sys.maxsize)[1] is None

    def take(self) -> Stored | None:
        """The next page that was not taken before, or None.

        Raises:
            OSError: the disk does not give it.
        """
        with self._lock:
            while self.has_unread:
                place = self._places[self._read]
                record = record_at(self._read_at, place)
                self._read += 1
                with contextlib.suppress(UnreadableRecord):  # it was whole when the file was opened
                    if record is not None:
                        return Stored(place, record.page())
                self.damaged.append(Damage(place, self._places[self._read] if self.has_unread else self._end, ()))
                self._left -= 1
            return None

    def mark_sent(self, place: int) -> None:
        """Note that Kafka has confirmed the page at this place."""
        with self._lock:
            if self._is_closed:
                return
            with contextlib.suppress(OSError):  # then the page is sent twice
                os.pwrite(self._held.file, bytes([SENT]), place + STATE_OFFSET)
            self._left -= 1
            if self._left == 0 and not self.has_unread:
                self._empty()

    def close(self) -> None:
        """Release the file, and remove it if nothing is left in it."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            if self._left == 0:
                with contextlib.suppress(OSError):
                    self.path.unlink()
            self._held.close()

    def _write(self, records: Iterable[bytes], limit: int) -> tuple[list[int], str | None]:
        """Write records behind the others and wait until the disk has them.

        Returns the offset of each record that is there now, and why the others are not.
        """
        places: list[int] = []
        end, trouble = self._end, None
        try:
            for record in records:
                if end + len(record) > limit:
                    trouble = f"{self.path} has {end} bytes and may have no more than DEDUP_SPOOL_BYTES={limit}"
                    break
                try:
                    behind = write_all(self._held.file, record, end)
                except OSError as error:  # those before it may be kept
                    trouble = f"{self.path}: {error.strerror}"
                    break
                places.append(end)
                end = behind
            os.fsync(self._held.file)
        except OSError as error:  # none of them is known to be on the disk
            places, end, trouble = [], self._end, f"{self.path}: {error.strerror}"
        self._end = end
        if trouble is not None:
            self._cut_to(end)
        return places, trouble

    def _look_through(self) -> None:
        self._end = os.fstat(self._held.file).st_size
        self._refuse_other_files()
        try:
            for found in scan(self._read_at, self._end):
                if isinstance(found, Damage):
                    self.damaged.append(found)
                elif found.is_mark:
                    self.marks.append(JobMark.decode(found.page().value))
                elif found.is_destination:
                    self.destinations.append(found.destination())
                elif not found.is_sent:
                    self._places.append(found.offset)
        except (Refused, UnreadableRecord) as refused:
            raise Refused(f"{self.path}: {refused}, or name another file in DEDUP_SPOOL") from refused
        self._left = len(self._places)
        if self._end and not self._left:
            self._empty()

    def _see_that_it_goes_there(self) -> None:
        other = [found for found in self.destinations if self._to is not None and not found.is_that_of(self._to)]
        if other:
            raise Elsewhere(
                f"the pages in {self.path} are to go to {other[0]}, and this crawl publishes to "
                f"{self._to}; send them ({sending(self.path)}), or name another file in DEDUP_SPOOL"
            )

    def _refuse_other_files(self) -> None:
        start = self._read_at(0, len(MAGIC))
        if start != MAGIC[: len(start)]:
            raise UsageError(f"{self.path} is not a spool; name another file in DEDUP_SPOOL, or move this one away")

    def _read_at(self, offset: int, size: int) -> bytes:
        found = os.pread(self._held.file, size, offset)
        while 0 < len(found) < size:
            more = os.pread(self._held.file, size - len(found), offset + len(found))
            if not more:
                break
            found += more
        return found

    def _record_at(self, place: int) -> bytes:
        record = record_at(self._read_at, place)
        if record is None:  # it was whole when the file was opened
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return record.content

    def _empty(self) -> None:
        self._cut_to(0)
        del self._places[:], self.destinations[:]
        self._read = 0

    def _cut_to(self, size: int) -> None:
        """Cut the file. Bytes that cannot be cut off are torn records, which the next reader of the file passes
        over."""
        self._end = size
        with contextlib.suppress(OSError):
            os.ftruncate(self._held.file, size)
            os.fsync(self._held.file)


def named(damaged: Sequence[Damage], path: Path) -> list[str]:
    """A sentence for each damage."""
    return [
        f"{path}: bytes {each.start} to {each.end} are torn or damaged and passed over"
        + (f"; there was {', '.join(each.keys)}: crawl that again" if each.keys else "; no URL can be read there")
        for each in damaged
    ]


def sending(path: Path) -> str:
    """The command that sends the pages in the file."""
    return f"python -m crawler_plugin.spool {shlex.quote(str(path))}"
