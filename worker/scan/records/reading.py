"""Pages in, records out, in their order: what ``fingerprint`` writes, and what a scan judges."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any, Final, TypeAlias

import pyarrow as pa

from crawler_plugin.wire.messages import Claim
from crawler_plugin.wire.topics import OUTPUT_MARGIN_BYTES
from worker.compose import parts
from worker.compose.machine import parsers
from worker.compose.step import fingerprinters
from worker.config import Settings
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.local.in_process import InProcess
from worker.pool.process_pool import PAGES_AHEAD
from worker.scan.inputs.records import ArchivedPage, BrokenRecord
from worker.scan.records.schema import as_batch, pageless_row, row_of, stamped
from worker.stream.partition.fingerprint_pool import FingerprintPool, PageReaders

ROWS: Final = 4096
"""Of a batch, at most."""
_WAIT: Final = 0.05
"""Seconds for which results of the processes gather: to ask for each of them would cost more than what is done with
it."""
_LOOK: Final = 32
"""Pages that are taken between two looks at the processes, which have more than that ahead, or larger ones."""
_AHEAD: Final = 4
"""So many times what the processes hold is read ahead of the records, so that a slow page does not idle the others."""

Found: TypeAlias = ArchivedPage | BrokenRecord


class PageReading:
    """Makes records of what archives hold.

    Args:
        recipe: of the settings, with sketches (``recipe_of``).
        readers: make fingerprints by it, here or in ``processes``.
    """

    def __init__(self, settings: Settings, recipe: Recipe, readers: PageReaders, processes: int = 1) -> None:
        most = settings.topics.max_message_bytes + OUTPUT_MARGIN_BYTES
        self._pool: Final = FingerprintPool(readers, most, scope_of=parts.scope_of(settings, recipe))
        self._most_ahead: Final = _AHEAD * processes * PAGES_AHEAD
        self.scheme: Final = parts.reading(settings, recipe)
        """All that these records depend on."""
        self._stamp: Final = {"scheme": self.scheme.id.hex()}
        self.schema: Final = stamped(self.scheme)
        self._next = 0

    def batches(self, found: Iterable[Found | None]) -> Iterator[pa.RecordBatch]:
        """Records of all that is found, of the schema ``schema.SCHEMA``, in order and as soon as they are there.

        A None says that nothing is found at the moment: records of what came before come out meanwhile. When the
        iteration is given up, so is this.
        """
        coming, ended, due = iter(found), False, 0.0
        waiting: deque[tuple[int, Found]] = deque()
        claims: dict[int, Claim] = {}
        while waiting or not ended:
            full = ended or len(waiting) >= self._most_ahead
            try:
                one = None if full else next(coming)
            except StopIteration:
                one, ended = None, True
            if one is not None:
                waiting.append((self._next, one))
                if isinstance(one, ArchivedPage):
                    self._pool.submit(one.page.record(self._next, one.page.fetched or 0))
                self._next += 1
                if len(waiting) % _LOOK and time.monotonic() < due:
                    continue
            claims |= {claim.offset: claim for claim in self._pool.claims(_WAIT if one is None and waiting else 0.0)}
            due = time.monotonic() + _WAIT
            while rows := [row | self._stamp for row in islice(_taken(waiting, claims), ROWS)]:
                yield as_batch(rows, self.schema)


def recipe_of(settings: Settings) -> Recipe:
    """How pages are read for records: with all that any predicate asks.

    Raises:
        UsageError: a file that the settings name cannot be read.
    """
    return replace(parts.recipe(settings), sketched=True)


@contextmanager
def reading_by_processes(settings: Settings) -> Iterator[PageReading]:
    """In ``page.processes`` processes: a page that crashes its process, or exceeds ``page.timeout_seconds`` or
    ``page.memory_mb``, is dead."""
    recipe, processes = recipe_of(settings), parsers(settings)
    with fingerprinters(settings, recipe, processes) as pool:
        yield PageReading(settings, recipe, pool, processes)


def reading_here(settings: Settings) -> PageReading:
    """In this process: nothing bounds the time and memory that a page takes but its length."""
    recipe = recipe_of(settings)
    return PageReading(settings, recipe, InProcess(Fingerprinter(recipe)))


def _taken(waiting: deque[tuple[int, Found]], claims: dict[int, Claim]) -> Iterator[dict[str, Any]]:
    """Takes out what can be written next."""
    while waiting:
        number, one = waiting[0]
        if isinstance(one, BrokenRecord):
            row = pageless_row(one)
        elif (claim := claims.pop(number, None)) is not None:
            row = row_of(one, claim)
        else:
            return
        waiting.popleft()
        yield row
