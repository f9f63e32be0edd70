"""A crawl's items next to the verdicts on their pages."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.urls import canonical_url

FIELD: Final = "dedup"
"""The field of an item, the same as where the crawl itself writes the verdict (``DEDUP_MODE=local``)."""
TOLD: Final = ("verdict", "duplicate_of", "distance", "similarity", "reason")


class Joined(NamedTuple):
    """How many items there were, how many of them have a verdict, and how many are written unchanged."""

    items: int
    told: int
    as_it_came: int


def join(items: Path, on: str, verdicts: Iterable[Verdict], out: BinaryIO) -> Joined:
    """Write the items in their order, each with the verdict on its page, or null, in the field ``dedup``.

    ``items`` are JSON lines, and ``on`` is the field that holds the page's URL, in any spelling. For a page that was
    fetched several times the items get the verdicts in the order in which it was fetched; further items get the last.
    The field goes after the others, whose bytes stay as they came; an item that has such a field already is written
    anew. An item that Python cannot read, or cannot write anew (nested too deep, a number of thousands of digits), is
    written unchanged.

    Raises:
        UsageError: the file cannot be read, or a line is no item with such a field.
    """
    found: dict[str, deque[Verdict]] = defaultdict(deque)
    for each in sorted(verdicts, key=lambda each: each.source):
        found[_url_of(each.url_as_given or each.url)].append(each)
    count = told = as_it_came = 0
    try:
        with items.open("rb") as lines:
            for number, line in enumerate(map(bytes.strip, lines), 1):
                if not line:
                    continue
                count += 1
                try:
                    item = _item(items, number, line, on)
                    verdict = _next(found.get(_url_of(item[on])))
                    line = _with_verdict(line, item, verdict)
                except (RecursionError, ValueError):  # the latter of a number of thousands of digits
                    verdict = None
                    as_it_came += 1
                out.write(line + b"\n")
                told += verdict is not None
    except OSError as error:
        raise UsageError(f"{items} cannot be read as lines of JSON ({error}): give --join the crawl's feed") from error
    return Joined(count, told, as_it_came)


def _with_verdict(line: bytes, item: dict[str, Any], verdict: Verdict | None) -> bytes:
    told = None if verdict is None else verdict.row(TOLD)
    if FIELD not in item:
        return line[:-1] + b", " + json.dumps({FIELD: told}, ensure_ascii=False)[1:].encode()
    anew = json.dumps(json.loads(_text(line)) | {FIELD: told}, ensure_ascii=False)
    return anew.encode(errors="backslashreplace")  # half of a surrogate pair becomes the same escape again


def _text(line: bytes) -> str:
    """Bytes that are not UTF-8 become halves of surrogate pairs: they cost no item its verdict."""
    return line.decode("utf-8-sig", errors="surrogateescape")


def _item(items: Path, number: int, line: bytes, on: str) -> dict[str, Any]:
    try:
        item = json.loads(_text(line), parse_int=str)  # Python converts no number of thousands of digits
    except json.JSONDecodeError as error:
        raise UsageError(f"{items}, line {number} is no JSON ({error}): write the feed as .jsonl") from error
    if not isinstance(item, dict) or on not in item:
        raise UsageError(f"{items}, line {number} has no field {on!r}: give the field of the page's URL by --on")
    return item


def _url_of(value: object) -> str:
    url = str(value)
    with suppress(ValueError):
        url = canonical_url(url)
    return url


def _next(rows: deque[Verdict] | None) -> Verdict | None:
    if not rows:
        return None
    return rows.popleft() if len(rows) > 1 else rows[0]
