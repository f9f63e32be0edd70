"""Verdicts as rows: lines of ``verdicts.jsonl`` and ``dead-letters.jsonl`` of a scan, and the rows of a crawl."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from crawler_plugin.wire.errors import UnreadableRecord
from crawler_plugin.wire.outcomes import Verdict
from worker.verdict.decide import DEAD, DUPLICATE, REFETCH, UNIQUE

VERDICTS: Final = "verdicts.jsonl"
DEAD_LETTERS: Final = "dead-letters.jsonl"
"""The names of the files in the folder that a scan writes to."""

OUTCOMES: Final = (UNIQUE, DUPLICATE, REFETCH, DEAD)
_FATE: Final = ("url", "verdict", "duplicate_of", "distance", "similarity", "reason", "detail", "language", "tokens")
OF_SCAN: Final = (
    "file",
    "offset",
    "id",
    *_FATE[:3],
    "duplicate_of_id",
    *_FATE[3:],
    "fetched",
    "spider",
    "fingerprint",
    "text_hash",
    "sketch",
    "bands",
    "canonical",
    "previous",
    "changed",
    "suspect",
    "title_hash",
)
"""The fields of a line of ``verdicts.jsonl``, and the columns of ``verdicts.parquet``."""
OF_JOB: Final = (
    *_FATE,
    "previous",
    "changed",
    "suspect",
    "status",
    "fetched",
    "spider",
    "job",
    "url_as_given",
    "fingerprint",
    "partition",
    "offset",
)
"""The fields of a row of a crawl: a verdict without the fields that only workers need, and the page's place in
``pages``."""
OF_SERVED: Final = (
    "id",
    *_FATE[:3],
    "duplicate_of_id",
    *_FATE[3:],
    "fetched",
    "spider",
    "fingerprint",
    "previous",
    "changed",
    "suspect",
)
COUNTS: Final = ("published", *OUTCOMES, "bytes", "duplicate_bytes")
OF_JOBS: Final = ("job", "spider", *COUNTS, "reasons")
"""The fields of a row of all crawls: pages that were published, and by their outcome; sizes of bodies as they came; and
pages by ``verdict: reason``."""
_OF_DEAD_LETTER: Final = ("file", "offset", "id", "url", "reason", "detail")


def scan_row(verdict: Verdict) -> dict[str, Any]:
    """The row of a page of a scan."""
    return verdict.row(OF_SCAN)


def served_row(verdict: Verdict) -> dict[str, Any]:
    """The row of a page that was asked for over HTTP."""
    return verdict.row(OF_SERVED)


def job_row(verdict: Verdict) -> dict[str, Any]:
    """The row of a page of a crawl."""
    return verdict.row(OF_JOB[:-2]) | dict(zip(OF_JOB[-2:], verdict.source, strict=True))


def line_of(row: dict[str, Any]) -> bytes:
    """The row as a line of JSON, with its end."""
    return msgspec.json.encode(row) + b"\n"


def scan_line(verdict: Verdict) -> bytes:
    """The line of ``verdicts.jsonl`` of a page of a scan."""
    return line_of(scan_row(verdict))


def dead_letter_line(verdict: Verdict, *, pageless: bool = False) -> bytes:
    """The line of ``dead-letters.jsonl`` of a dead page, or of a record that no page could be read from: such a
    record's URL is null."""
    return line_of(verdict.row(_OF_DEAD_LETTER) | ({"url": None} if pageless else {}))


def read_line(line: bytes) -> Verdict:
    """The verdict in a line of ``verdicts.jsonl``.

    Raises:
        UnreadableRecord: the line is no verdict.
    """
    try:
        verdict = msgspec.json.decode(line, type=Verdict)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableRecord(f"not a verdict on a page: {error}") from error
    if not verdict.file or verdict.id is None:
        raise UnreadableRecord("not a verdict on a page: it has no file or no id")
    return verdict


def pageless_records(lines: Iterable[bytes]) -> Iterator[Verdict]:
    """From the lines of ``dead-letters.jsonl`` those of records that no page could be read from; the other lines are
    pages, which have their verdicts. The URL of these records is empty.

    Raises:
        UnreadableRecord: a line is no dead letter.
    """
    for line in lines:
        try:
            row = msgspec.json.decode(line, type=dict[str, Any])
            letter = msgspec.convert(row | {"url": row["url"] or "", "verdict": DEAD}, Verdict)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError) as error:
            raise UnreadableRecord(f"not a dead letter: {error}") from error
        if row["url"] is None:
            yield letter
