"""The topic ``verdicts`` as a file of verdicts, in the order in which pages were judged."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

import numpy as np

from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.topics import PAGES
from worker.results.rows import scan_line


def write_topic(records: Iterable[Verdict], out: Path) -> int:
    """Write a line for each record to ``out``; returns how many there are.

    Partitions are read one after the other, and the order of pages goes across them: while it reads, the records are in
    a file next to ``out``, and 32 bytes of each in memory. A page's id and place are those in ``pages``.
    """
    batches, places, begins = array("q"), array("q"), array("q", [0])
    with tempfile.TemporaryFile(dir=out.parent) as unsorted:
        for record in records:
            partition, offset = record.source
            line = scan_line(record.having(file=f"{PAGES}[{partition}]", offset=offset, id=f"{partition}:{offset}"))
            unsorted.write(line)
            batches.append(record.order[0])
            places.append(record.order[1])
            begins.append(begins[-1] + len(line))
        with out.open("wb") as file:
            for number in np.lexsort((np.array(places), np.array(batches))).tolist():
                unsorted.seek(begins[number])
                file.write(unsorted.read(begins[number + 1] - begins[number]))
    return len(batches)


def fetched_within(records: Iterable[Verdict], since: datetime | None, until: datetime | None) -> Iterator[Verdict]:
    """The records whose pages were fetched from ``since`` on and before ``until``; with either, none without a fetch
    time."""
    for record in records:
        time = record.fetched
        if since is not None and (time is None or time < since.timestamp() * 1000):
            continue
        if until is not None and (time is None or time >= until.timestamp() * 1000):
            continue
        yield record
