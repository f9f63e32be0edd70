"""A crawl's items beside the verdicts on their pages."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from worker.errors import UsageError
from worker.jobs.rows import JobRow
from worker.urls import canonical_url

FIELD: Final = "dedup"
"""Of an item, as where the crawl itself tells it the verdict (``DEDUP_MODE=local``)."""
TOLD: Final = ("verdict", "duplicate_of", "distance", "similarity", "reason")


class Joined(NamedTuple):
    """How many items there were, how many of them have a verdict, and how many are nested too deep to be read."""

    items: int
    told: int
    too_deep: int


def join(items: Path, on: str, rows: Iterable[JobRow], out: BinaryIO) -> Joined:
    """Write the items in their order, each with the verdict on its page, or null, in the field ``dedup``.

    ``items`` are JSON lines, and ``on`` is the field that holds the page's URL, in whatever spelling. Of a page that
    was fetched several times the items get the verdicts in the order in which it was; further ones get the last. An
    item that Python does not read, nested too deep or with a number too long, is written as it came.

    Raises:
        UsageError: the file cannot be read, or a line is no item that has such a field.
    """
    found: dict[str, deque[JobRow]] = defaultdict(deque)
    for row in sorted(rows, key=lambda row: (row.partition, row.offset)):
        found[_url_of(row.url_as_given or row.url)].append(row)
    count = told = too_deep = 0
    try:
        with items.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                count += 1
                verdict = None
                try:
                    item = _item(items, number, line, on)
                    verdict = _next(found.get(_url_of(item[on])))
                    item[FIELD] = None if verdict is None else {name: getattr(verdict, name) for name in TOLD}
                    written = json.dumps(item, ensure_ascii=False)
                except (RecursionError, ValueError):
                    written = line.strip()
                    too_deep += 1
                # Half of a surrogate pair, which JSON may hold as an escape, is written as that again.
                out.write(written.encode(errors="backslashreplace") + b"\n")
                told += verdict is not None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{items} cannot be read as lines of JSON ({error}): give --join the crawl's feed") from error
    return Joined(count, told, too_deep)


def _item(items: Path, number: int, line: str, on: str) -> dict[str, Any]:
    try:
        item = json.loads(line)
    except json.JSONDecodeError as error:  # another ValueError is about a number of thousands of digits
        raise UsageError(f"{items}, line {number} is no JSON ({error}): write the feed as .jsonl") from error
    if not isinstance(item, dict) or on not in item:
        raise UsageError(f"{items}, line {number} has no field {on!r}: name the one with the page's URL with --on")
    return item


def _url_of(value: object) -> str:
    url = str(value)
    with suppress(ValueError):
        url = canonical_url(url)
    return url


def _next(rows: deque[JobRow] | None) -> JobRow | None:
    if not rows:
        return None
    return rows.popleft() if len(rows) > 1 else rows[0]
