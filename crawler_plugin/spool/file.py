"""The spool's file: who may use it, what is in it, what was sent.

Pages are appended and never moved. They leave in two steps, so that at no moment a page is neither on Kafka nor here:

1. *sent*: Kafka has confirmed it, and one byte of its record says so;
2. *emptied*: all of the file is sent, and it is cut to nothing; when the spool is closed empty, the file is removed.

========================================  =============================================================================
killed                                    what becomes of the page
========================================  =============================================================================
while it is appended                      its record is torn: it is passed over and named by whoever opens the file next
after that, before Kafka has confirmed    it is sent by the next crawl or command
after Kafka has confirmed, before step 1  it is sent again; the later one is a refetch to the workers
after step 1                              nothing is sent twice
========================================  =============================================================================

Before the pages of each crawl stands where they are to go (``Destination``): a crawl that publishes elsewhere cannot
open the file.

Beside the pages lie marks, which say how many pages of a job a run has put on Kafka, where that could not be told there
any more. They go with the last page: who opens the file is given them, and who leaves pages in it writes them again.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import threading
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from crawler_plugin.record import PageRecord
from crawler_plugin.spool.records import (
    MAGIC,
    SENT,
    STATE_OFFSET,
    Damage,
    Destination,
    decode,
    decode_destination,
    encode,
    encode_destination,
    encode_mark,
    scan,
)
from crawler_plugin.wire.errors import Refused, Unavailable, UnreadableRecord, UsageError
from crawler_plugin.wire.outcomes import JobMark

OWNER_ONLY: Final = 0o600
"""Pages may be nobody else's business."""


class Elsewhere(Refused):
    """The pages of a spool are to go to another topic, or to other brokers."""


class Appended(NamedTuple):
    """How many pages, from the first one on, are on the disk now, and why the others are not."""

    pages: int
    trouble: str | None


class Stored(NamedTuple):
    """A page that was read from the spool; ``place`` is what ``mark_sent`` wants to know."""

    place: int
    page: PageRecord


class Spool:
    """A file that this process alone uses. May be used from any thread; each call blocks on the disk.

    ``damaged`` names what was passed over when the file was opened; ``marks`` are those that lay in it then, and
    ``destinations`` where its pages are to go.
    """

    def __init__(self, path: Path, limit: int, descriptor: int, to: Destination | None = None) -> None:
        self.path = path
        self.damaged: list[Damage] = []
        self.marks: list[JobMark] = []
        self.destinations: list[Destination] = []
        self._to = to
        self._limit = limit
        self._descriptor = descriptor
        self._lock = threading.RLock()
        self._places = array("Q")
        self._sizes = array("Q")
        self._read = 0
        self._left = 0
        self._end = 0
        self._is_closed = False

    @classmethod
    def open(cls, path: Path, limit: int, to: Destination | None = None) -> Spool:
        """Lock the file, made if it is not there, and see what is in it. ``limit`` is the largest that it may grow to.

        ``to`` is where pages that are appended are to go; None: that is not known.

        Raises:
            Unavailable: another process uses it.
            Elsewhere: its pages are to go elsewhere.
            Refused: it holds a record of a later version.
            UsageError: it is a file of something else.
            OSError: it cannot be opened, made or read.
        """
        path = path.absolute()
        spool = cls(path, limit, _locked(path), to)
        try:
            spool._look_through()
            spool._see_that_it_goes_there()
        except BaseException:
            os.close(spool._descriptor)
            raise
        return spool

    def absorb(self, other: Spool) -> str | None:
        """Take over what is in another spool that goes to the same place; why not, if it could not.

        The other one is emptied when all of it is on the disk here, whatever the limit is. A process that is killed
        between has it in both, and it is sent twice.
        """
        with self._lock, other._lock:
            begun, begun_end, begun_to = len(self._places), self._end, len(self.destinations)
            trouble = None
            try:
                self._copy(other)
                os.fsync(self._descriptor)
            except OSError as error:
                trouble = f"{self.path}: {error.strerror}"
                del self._places[begun:], self._sizes[begun:], self.destinations[begun_to:]
                self._end = begun_end
                self._cut_to(begun_end)
            else:
                self._left += other._left
                self.marks += other.marks
                other._left = 0
                other._empty()
            return trouble

    def _copy(self, other: Spool) -> None:
        new = [each for each in other.destinations if each not in self.destinations]
        for record in (*map(encode_destination, new), *map(encode_mark, other.marks)):
            _write(self._descriptor, record, self._end)
            self._end += len(record)
        self.destinations += new
        for place, size in zip(other._places, other._sizes, strict=True):
            _write(self._descriptor, other._read_at(place, size), self._end)
            self._places.append(self._end)
            self._sizes.append(size)
            self._end += size

    @property
    def left(self) -> int:
        """Pages in it that Kafka has not confirmed."""
        with self._lock:
            return self._left

    @property
    def has_unread(self) -> bool:
        """Whether ``take`` has something to give."""
        with self._lock:
            return not self._is_closed and self._read < len(self._places)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        with self._lock:
            return self._end

    def append(self, pages: Sequence[PageRecord]) -> Appended:
        """Write pages behind the others and wait until the disk has them. What does not fit leaves no trace."""
        with self._lock:
            if self._is_closed:
                return Appended(0, f"{self.path} is closed")
            begun, begun_end, begun_to = len(self._places), self._end, len(self.destinations)
            trouble = None
            try:
                trouble = self._write_destination() if pages else None
                trouble = trouble or self._write(pages)
                os.fsync(self._descriptor)
            except OSError as error:  # none of them is known to be on the disk
                trouble = f"{self.path}: {error.strerror}"
                del self._places[begun:], self._sizes[begun:], self.destinations[begun_to:]
                self._end = begun_end
            if trouble is not None:
                self._cut_to(self._end)
            written = len(self._places) - begun
            self._left += written
            return Appended(written, trouble)

    def keep_marks(self, marks: Sequence[JobMark]) -> bool:
        """Write marks behind the pages, if there are any; whether they are on the disk."""
        with self._lock:
            if self._is_closed or not self._left:
                return False
            try:
                for mark in marks:
                    record = encode_mark(mark)
                    _write(self._descriptor, record, self._end)
                    self._end += len(record)
                os.fsync(self._descriptor)
            except OSError:  # what is torn is passed over by who reads the file next
                return False
            return True

    def take(self) -> Stored | None:
        """The next page that was not taken before, or None.

        Raises:
            OSError: the disk does not give it.
        """
        with self._lock:
            while self.has_unread:
                place, size = self._places[self._read], self._sizes[self._read]
                record = self._read_at(place, size)
                self._read += 1
                try:
                    return Stored(place, decode(record))
                except UnreadableRecord:  # it was whole when the file was opened
                    self.damaged.append(Damage(place, place + size, ()))
                    self._left -= 1
            return None

    def mark_sent(self, place: int) -> None:
        """Kafka has confirmed the page of this place."""
        with self._lock:
            if self._is_closed:
                return
            with contextlib.suppress(OSError):  # then it is sent twice
                os.pwrite(self._descriptor, bytes([SENT]), place + STATE_OFFSET)
            self._left -= 1
            if self._left == 0 and not self.has_unread:
                self._empty()

    def close(self) -> None:
        """Give the file free, and remove it if there is nothing left in it."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            if self._left == 0:
                with contextlib.suppress(OSError):
                    self.path.unlink()
            os.close(self._descriptor)

    def _write_destination(self) -> str | None:
        """Write where this crawl's pages are to go, if it does not stand there yet; why not, if it could not."""
        if self._to is None or self._to in self.destinations:
            return None
        trouble = self._write_record(encode_destination(self._to))
        if trouble is None:
            self.destinations.append(self._to)
        return trouble

    def _write(self, pages: Sequence[PageRecord]) -> str | None:
        """Write one page after the other; why it ended before the last, if it did."""
        for page in pages:
            begins = self._end
            trouble = self._write_record(encode(page))
            if trouble is not None:
                return trouble
            self._places.append(begins)
            self._sizes.append(self._end - begins)
        return None

    def _write_record(self, record: bytes) -> str | None:
        """Write it behind the others; why not, if it could not."""
        if self._end + len(record) > self._limit:
            return f"{self.path} has {self._end} bytes and may have no more than DEDUP_SPOOL_BYTES={self._limit}"
        try:
            _write(self._descriptor, record, self._end)
        except OSError as error:
            return f"{self.path}: {error.strerror}"
        self._end += len(record)
        return None

    def _look_through(self) -> None:
        self._end = os.fstat(self._descriptor).st_size
        self._refuse_other_files()
        try:
            for found in scan(self._read_at, self._end):
                if isinstance(found, Damage):
                    self.damaged.append(found)
                elif found.is_mark:
                    self.marks.append(JobMark.decode(decode(self._read_at(found.offset, found.size)).value))
                elif found.is_destination:
                    self.destinations.append(decode_destination(self._read_at(found.offset, found.size)))
                elif not found.is_sent:
                    self._places.append(found.offset)
                    self._sizes.append(found.size)
        except (Refused, UnreadableRecord) as refused:
            raise Refused(f"{self.path}: {refused}, or name another file in DEDUP_SPOOL") from refused
        self._left = len(self._places)
        if self._end and not self._left:
            self._empty()

    def _see_that_it_goes_there(self) -> None:
        other = [found for found in self.destinations if self._to is not None and not found.is_that_of(self._to)]
        if other:
            raise Elsewhere(
                f"the {self._left} pages in {self.path} are to go to {other[0]}, and this crawl publishes to "
                f"{self._to}; send them ({sending(self.path)}), or name another file in DEDUP_SPOOL"
            )

    def _refuse_other_files(self) -> None:
        start = self._read_at(0, len(MAGIC))
        if start != MAGIC[: len(start)]:
            raise UsageError(f"{self.path} is not a spool; name another file in DEDUP_SPOOL, or move this one away")

    def _read_at(self, offset: int, size: int) -> bytes:
        found = os.pread(self._descriptor, size, offset)
        while 0 < len(found) < size:
            more = os.pread(self._descriptor, size - len(found), offset + len(found))
            if not more:
                break
            found += more
        return found

    def _empty(self) -> None:
        self._cut_to(0)
        del self._places[:], self._sizes[:], self.destinations[:]
        self._read = self._end = 0

    def _cut_to(self, size: int) -> None:
        """What is not cut off is torn, and passed over by who reads the file next."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._descriptor, size)
            os.fsync(self._descriptor)


def named(damaged: Sequence[Damage], path: Path) -> list[str]:
    """A sentence for each damage."""
    return [
        f"{path}: bytes {each.start} to {each.end} are torn or damaged and passed over"
        + (f"; there was {', '.join(each.keys)}: crawl that again" if each.keys else "; no URL can be read there")
        for each in damaged
    ]


def sending(path: Path) -> str:
    """The command that sends what is in the file."""
    return f"python -m crawler_plugin.spool {shlex.quote(str(path))}"


def _locked(path: Path) -> int:
    """A descriptor of the file that is at this path now, with its lock.

    Whoever closes an empty spool removes it, so the file that was opened may be gone when its lock is had.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, OWNER_ONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise Unavailable(
                f"{path} is in use by another crawl or command; give each crawl a file of its own in DEDUP_SPOOL "
                "(%(job)s stands for its job), leave that setting out, or wait until the other one has ended"
            ) from error
        except OSError:
            os.close(descriptor)
            raise
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                _keep_name(path)
                return descriptor
        os.close(descriptor)


def _keep_name(path: Path) -> None:
    """A file that was just made outlives a failure of power only once its folder is on the disk, too."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _write(descriptor: int, record: bytes, offset: int) -> None:
    view = memoryview(record)
    while view:
        count = os.pwrite(descriptor, view, offset)
        view, offset = view[count:], offset + count
