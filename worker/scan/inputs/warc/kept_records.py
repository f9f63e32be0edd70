"""Decides which records of a file stay when some of its pages go."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from worker.scan.inputs.warc.record_search import FoundRecord
from worker.scan.inputs.warc.web_record import WebRecord

_HELD_BACK: Final = 64 * 1024 * 1024
"""Bytes of requests and metadata that wait for the page that they belong to."""


class KeptRecords:
    """Which records of a file stay: those that belong to a page wait until it is decided.

    ``write`` gets each record once that is known.
    """

    def __init__(self, write: Callable[[FoundRecord, bool], None]) -> None:
        self._write: Final = write
        self._stays: Final[dict[str, bool]] = {}
        self._waiting: Final[OrderedDict[str, list[FoundRecord]]] = OrderedDict()
        self._bytes = 0

    def hold(self, found: FoundRecord, record: WebRecord) -> None:
        """Take a record that belongs to a page: the page that it names, or one that names it."""
        known = [self._stays[other] for other in record.others if other in self._stays]
        if known:
            self._write(found, any(known))
            return
        self._waiting.setdefault(record.others[0] if record.others else record.id, []).append(found)
        self._bytes += len(found.content)
        while self._bytes > _HELD_BACK:
            self._let_go(next(iter(self._waiting)), True)

    def decide(self, record: WebRecord, stays: bool) -> None:
        """Decide whether the records of this page stay."""
        for name in filter(None, (record.id, *record.others)):
            self._stays[name] = stays
            self._let_go(name, stays)

    def finish(self) -> None:
        """Records that belong to no page of this file stay."""
        for name in list(self._waiting):
            self._let_go(name, True)

    def _let_go(self, name: str, stays: bool) -> None:
        for found in self._waiting.pop(name, ()):
            self._bytes -= len(found.content)
            self._write(found, stays)
