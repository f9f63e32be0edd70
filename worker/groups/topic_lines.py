"""The topic ``verdicts`` as a file of verdicts, in the order in which pages were judged."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

import numpy as np

from crawler_plugin.wire.outcomes import VerdictRecord
from crawler_plugin.wire.topics import PAGES
from worker.scan.rows import VerdictRow


def write_topic(records: Iterable[VerdictRecord], out: Path) -> int:
    """Write a line a record to ``out``; how many there are.

    Partitions are read one after the other, and the order of pages goes across them: the records are kept in a file
    beside ``out`` meanwhile, and in memory 32 bytes of each. A page's id and place are those in ``pages``.
    """
    batches, places, begins = array("q"), array("q"), array("q", [0])
    with tempfile.TemporaryFile(dir=out.parent) as unsorted:
        for record in records:
            line = _row(record).encode()
            unsorted.write(line)
            batches.append(record.order[0])
            places.append(record.order[1])
            begins.append(begins[-1] + len(line))
        with out.open("wb") as file:
            for number in np.lexsort((np.array(places), np.array(batches))).tolist():
                unsorted.seek(begins[number])
                file.write(unsorted.read(begins[number + 1] - begins[number]))
    return len(batches)


def fetched_within(
    records: Iterable[VerdictRecord], since: datetime | None, until: datetime | None
) -> Iterator[VerdictRecord]:
    """Those whose pages were fetched from ``since`` on and before ``until``; with either, none without a fetch time."""
    for record in records:
        time = record.fetched
        if since is not None and (time is None or time < since.timestamp() * 1000):
            continue
        if until is not None and (time is None or time >= until.timestamp() * 1000):
            continue
        yield record


def _row(record: VerdictRecord) -> VerdictRow:
    partition, offset = record.source
    return VerdictRow(
        file=f"{PAGES}[{partition}]",
        offset=offset,
        id=f"{partition}:{offset}",
        url=record.url,
        verdict=record.verdict,
        duplicate_of=record.duplicate_of,
        distance=record.distance,
        similarity=record.similarity,
        reason=record.reason,
        language=record.language,
        tokens=record.tokens,
        fetched=record.fetched,
        spider=record.spider,
        fingerprint=record.fingerprint,
        suspect=record.suspect,
    )
