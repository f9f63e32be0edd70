"""Pages in, records out, in their order: the records that ``fingerprint`` writes, and that a scan judges."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import pyarrow as pa

from crawler_plugin.wire.errors import PageError
from crawler_plugin.wire.page_headers import SCOPE_HEADER, Headers, PageMeta
from crawler_plugin.wire.topics import OUTPUT_MARGIN_BYTES
from worker.compose import parts
from worker.compose.machine import parsers
from worker.compose.step import fingerprinters
from worker.config import Settings
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.local.in_process_fingerprints import InProcess
from worker.local.page import FetchedPage
from worker.pool.process_pool import PAGES_AHEAD
from worker.scan.inputs.records import ArchivedPage, BrokenRecord
from worker.scan.records.schema import RecordRow, as_records, pageless_row, row_of, stamped
from worker.stream.log import Record
from worker.stream.partition.commit import OVERSIZE
from worker.stream.partition.fingerprint_pool import NO_BODY, UNREADABLE, PageReaders, Source, identity
from worker.stream.partition.record_sizes import LEAST_BYTES, largest_output

ROWS: Final = 4096
"""Rows of a batch, at most."""
_TOGETHER: Final = 1.0
"""Seconds for which rows gather to be a batch: the work on a batch takes milliseconds, however few rows it has."""
_LOOK: Final = 0.05
"""Seconds for which results of the processes gather: asking for each of them would cost more than the work on it."""
_AHEAD: Final = 4
"""How many times the content of the processes is read ahead of the records, so that a slow page does not idle the
others."""

Found: TypeAlias = ArchivedPage | BrokenRecord


@dataclass(eq=False, slots=True)
class _Begun:
    """A row on its way: the page, until its result is there."""

    page: ArchivedPage | None
    row: RecordRow | None


class PageReading:
    """Makes records of the pages in archives.

    Args:
        recipe: of the settings, with all that records have (``recipe_of``).
        readers: make fingerprints by it, here or in ``processes``.
    """

    def __init__(self, settings: Settings, recipe: Recipe, readers: PageReaders, processes: int = 1) -> None:
        self._readers: Final = readers
        self._most_bytes: Final = settings.topics.max_message_bytes + OUTPUT_MARGIN_BYTES
        self._surely_taken: Final = self._most_bytes - LEAST_BYTES
        """Bytes of a body, with its metadata spelled out, that need no closer look."""
        self._scope_of: Final = parts.scope_of(settings, recipe)
        self._by_header: Final = settings.near.scope.startswith("header:")
        self._most_ahead: Final = _AHEAD * processes * PAGES_AHEAD
        self.scheme: Final = parts.reading(settings, recipe)
        """All that these records depend on."""
        self._id: Final = self.scheme.id.hex()
        self.schema: Final = stamped(self.scheme)
        self._line: Final[deque[tuple[Source, bytes, PageMeta]]] = deque()
        """Pages that the readers have no room for yet."""
        self._under_way: Final[dict[int, _Begun]] = {}
        """Pages in line and those that the readers have, by number."""
        self._next = 0

    def batches(self, found: Iterable[Found]) -> Iterator[pa.RecordBatch]:
        """Records of everything that is found, of the schema ``schema.SCHEMA``, in order and soon after they are there.

        If the caller gives up the iteration, this object cannot be used any more.
        """
        coming, ended = iter(found), False
        begun: deque[_Begun] = deque()
        rows: list[RecordRow] = []
        look, due = 0.0, time.monotonic() + _TOGETHER
        while begun or rows or not ended:
            one = None
            if has_room := not ended and len(begun) < self._most_ahead:
                one = next(coming, None)
                ended = one is None
            if one is not None:
                begun.append(self._begin(one))
                if time.monotonic() < look:
                    continue
            self._collect(0.0 if has_room else _LOOK)
            while begun and (row := begun[0].row) is not None and len(rows) < ROWS:
                rows.append(row)
                begun.popleft()
            now = time.monotonic()
            if rows and (len(rows) == ROWS or now >= due or (ended and not begun)):
                yield as_records(rows, self.schema)
                rows, due = [], time.monotonic() + _TOGETHER
            look = now + _LOOK

    def _begin(self, one: Found) -> _Begun:
        if isinstance(one, BrokenRecord):
            return _Begun(None, pageless_row(one, self._id))
        number, self._next = self._next, self._next + 1
        try:
            source, body, meta = self._asked(number, one.page)
        except PageError as error:
            return _Begun(None, row_of(one, self._id, Source(0, number, 0, ""), error))
        begun = self._under_way[number] = _Begun(one, None)
        self._line.append((source, body, meta))
        self._feed()
        return begun

    def _collect(self, wait: float) -> None:
        """Make rows of the results; with pages under way, gathers for this many seconds."""
        until = time.monotonic() + wait
        while True:
            for source, result in self._readers.results(max(0.0, until - time.monotonic())):
                begun = self._under_way.pop(source.offset)
                assert begun.page is not None
                begun.row = row_of(begun.page, self._id, source, result)
                begun.page = None  # its body takes memory
            self._feed()
            if time.monotonic() >= until or not self._readers.outstanding:
                return

    def _feed(self) -> None:
        while self._line and self._readers.capacity:
            self._readers.submit(*self._line.popleft())

    def _asked(self, number: int, page: FetchedPage) -> tuple[Source, bytes, PageMeta]:
        """The arguments of the readers for a page.

        Raises:
            PageError: the page cannot be read.
        """
        body = page.text if page.body is None else page.body
        if isinstance(body, str):
            body = body.encode(errors="replace")
        said = "".join((page.url, page.content_type or "", page.encoding or "", *page.headers.values()))
        headers: Headers = ()
        by_header = self._by_header or SCOPE_HEADER in page.headers
        if body is None or by_header or not said.isascii() or len(body) + 4 * len(said) > self._surely_taken:
            body, headers = self._looked_at(page.record(number, 0))
        url = identity(page.url)
        meta = PageMeta(
            url=url,
            content_type=page.content_type,
            encoding="utf-8" if isinstance(page.body, str) else page.encoding,
            form="text" if page.body is None else "bytes",
        )
        return Source(0, number, 0, url, self._scope_of(url, headers)), body, meta

    def _looked_at(self, record: Record) -> tuple[bytes, Headers]:
        """The body and headers of a record, checked as workers check each record."""
        if record.unreadable is not None:
            raise PageError(UNREADABLE, record.unreadable)
        if (size := largest_output(record.key, record.value, record.headers)) > self._most_bytes:
            raise PageError(
                OVERSIZE,
                f"{len(record.value or b'')} bytes, {size} with key, headers and the largest verdict: at most "
                f"{self._most_bytes} can be passed on",
            )
        if record.value is None:
            raise PageError(NO_BODY, "the record has no value")
        return record.value, record.headers


def recipe_of(settings: Settings) -> Recipe:
    """How pages are read for records: with all data that any predicate reads, and the URLs that pages name as own.

    Raises:
        UsageError: a file that the settings name cannot be read.
    """
    return replace(parts.recipe(settings), sketched=True, addressed=True)


@contextmanager
def reading_by_processes(settings: Settings) -> Iterator[PageReading]:
    """In ``page.processes`` processes: a page that crashes its process, or exceeds ``page.timeout_seconds`` or
    ``page.memory_mb``, is dead."""
    recipe, processes = recipe_of(settings), parsers(settings)
    with fingerprinters(settings, recipe, processes) as pool:
        yield PageReading(settings, recipe, pool, processes)


def reading_here(settings: Settings) -> PageReading:
    """In this process: only a page's length bounds its time and memory."""
    recipe = recipe_of(settings)
    return PageReading(settings, recipe, InProcess(Fingerprinter(recipe)))
