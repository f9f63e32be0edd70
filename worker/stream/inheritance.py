"""What a generation begins with whose index is copied while the generation before works (``operations.live_copy``).

Its workers may be started as soon as the copy has begun. They load what is copied, follow it, and claim nothing. The
last record of the copy holds the consumed offsets, with which they go on: one append, so that they begin with all of
the copy or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.topics import FINGERPRINTS
from worker.stream.log import Committed, NotYet, Readable, Reader
from worker.stream.policy import CONSUMED_HEADER, LIVE_HEADER


def encoded(consumed: Mapping[int, Committed]) -> bytes:
    """The header of the last record."""
    return json.dumps({number: list(committed) for number, committed in consumed.items()}).encode()


def decoded(header: bytes) -> Mapping[int, Committed]:
    """Raises ``Refused`` for what ``encoded`` has not written."""
    try:
        return {int(number): Committed(int(offset), str(note)) for number, (offset, note) in json.loads(header).items()}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise Refused(
            f"the last record of a copy on {FINGERPRINTS} cannot be read ({error}): somebody else may write there. "
            "Take another topics.generation, and copy the index again"
        ) from error


class Inheritance:
    """The consumed offsets that a generation was given, for who finds none in its group."""

    def __init__(self, log: Readable) -> None:
        self._log = log
        self._reader: Reader | None = None
        self._known: Mapping[int, Committed] | None = None

    def consumed(self, partition: int) -> Committed | None:
        """That of a partition of ``pages``; None if it begins with nothing.

        Raises:
            NotYet: the copy goes on.
            Refused: its end cannot be read.
        """
        if self._known is None:
            begin, end = self._log.bounds(FINGERPRINTS, 0)
            if begin == end:
                return None
            self._read_on(begin)
        if self._known is None:
            raise NotYet
        return self._known.get(partition)

    def _read_on(self, begin: int) -> None:
        """To the end of the copy, or to what is no part of one."""
        if self._reader is None:
            self._reader = self._log.reader(FINGERPRINTS, 0, begin)
        for record in self._reader.read():
            headers = dict(record.headers)
            if CONSUMED_HEADER in headers or LIVE_HEADER not in headers:
                self._known = decoded(headers[CONSUMED_HEADER]) if CONSUMED_HEADER in headers else {}
                self.close()
                return

    def close(self) -> None:
        """Read no more."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
