"""What a new generation begins with if its index is copied while the old one works (``operations.live_copy``).

The new generation's workers may start as soon as the copy has begun. They load the copied part, follow the rest, and
claim nothing. The last record of the copy holds the consumed offsets from which they go on: it is one append, so they
begin with all of the copy or not at all.
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
    """Raises ``Refused`` for bytes that ``encoded`` has not written."""
    try:
        return {int(number): Committed(int(offset), str(note)) for number, (offset, note) in json.loads(header).items()}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise Refused(
            f"the last record of a copy on {FINGERPRINTS} cannot be read ({error}): somebody else may write there. "
            "Take another topics.generation, and copy the index again"
        ) from error


class Inheritance:
    """The consumed offsets that a generation was given, for a worker that finds none in its group."""

    def __init__(self, log: Readable) -> None:
        self._log = log
        self._reader: Reader | None = None
        self._known: Mapping[int, Committed] | None = None

    def consumed(self, partition: int) -> Committed | None:
        """The consumed offset of a partition of ``pages``; None if it begins with nothing.

        Raises:
            NotYet: the copy is not finished.
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
        """Read to the end of the copy, or to the first record that is no part of one."""
        if self._reader is None:
            self._reader = self._log.reader(FINGERPRINTS, 0, begin)
        for record in self._reader.read():
            headers = dict(record.headers)
            if CONSUMED_HEADER in headers or LIVE_HEADER not in headers:
                self._known = decoded(headers[CONSUMED_HEADER]) if CONSUMED_HEADER in headers else {}
                self.close()
                return

    def close(self) -> None:
        """Stop reading."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
