"""WARC records that are written differently from how they were read: with marks, or as revisits of pages that stay.

A page that is near to another one is no revisit by the profiles of the standard, whose payloads or servers say that
both are the same. So it has a profile of its own, and no digest of a missing payload; replay programs use
``WARC-Refers-To-Target-URI`` and ``-Date``. The record keeps its id, by which other records of its file name it.

Source: the WARC format 1.1 (ISO 28500:2017), sections 5 (``extension-field``) and 6.7 (``revisit``).
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, NamedTuple

from worker.scan.inputs.header_lines import headers_at
from worker.scan.inputs.records import MARKS, Fate, Original, marks_of
from worker.scan.inputs.warc.http_response import http_response

PROFILE: Final = "urn:x-crawl-dedup:revisit:near-duplicate"
"""``WARC-Profile`` of pages that are near to the page that they refer to."""
FIELDS: Final = tuple("-".join(word.capitalize() for word in mark.split("_")) for mark in MARKS)
"""``MARKS`` as fields of a record's header."""
_OF_BLOCK: Final = frozenset(
    (
        "warc-type",
        "warc-profile",
        "warc-refers-to",
        "warc-refers-to-target-uri",
        "warc-refers-to-date",
        "warc-block-digest",
        "warc-payload-digest",
        "warc-truncated",
        "content-length",
    )
)
_ID: Final = re.compile(r"[a-z][a-z0-9+.-]*:[^\s<>]+", re.IGNORECASE)
_UNPRINTED: Final = re.compile(r"[\x00-\x20\x7f]")


class _Parts(NamedTuple):
    """A record: its first line, its fields by name in lower case, each as it stands, and its block."""

    version: bytes
    fields: list[tuple[str, bytes]]
    block: bytes


def marked(content: bytes, fate: Fate) -> bytes:
    """The record with ``FIELDS`` for a verdict, in the place of those of an earlier run."""
    version, fields, block = _parts_of(content)
    own = {name.lower() for name in FIELDS}
    lines = [line for name, line in fields if name not in own]
    lines += [_line(name, value) for name, value in zip(FIELDS, marks_of(fate), strict=True) if value is not None]
    return version + b"".join(lines) + b"\r\n" + block


def revisit(content: bytes, original: Original) -> bytes:
    """The record as a revisit that names the page that stays: with its own HTTP header, and without announced
    content."""
    version, fields, block = _parts_of(content)
    response = http_response(block) if _is_response(fields) else None
    head = block[: len(block) - len(response.body)] if response is not None else b""
    dropped = _OF_BLOCK if head else _OF_BLOCK | {"content-type"}
    lines = [_line("WARC-Type", "revisit"), *(line for name, line in fields if name not in dropped)]
    lines.append(_line("WARC-Profile", PROFILE))
    if original.id is not None and original.id != original.url and _ID.fullmatch(original.id):
        lines.append(_line("WARC-Refers-To", f"<{original.id}>"))
    lines.append(_line("WARC-Refers-To-Target-URI", original.url))
    if original.fetched is not None:
        with suppress(ValueError, OverflowError, OSError):  # a year that does not exist
            lines.append(_line("WARC-Refers-To-Date", _date(original.fetched, b"1.0" in version)))
    if head:
        lines.append(_line("WARC-Truncated", "length"))
    lines.append(_line("Content-Length", str(len(head))))
    return version + b"".join(lines) + b"\r\n" + head


def _parts_of(content: bytes) -> _Parts:
    begin = content.find(b"\n") + 1
    _, end = headers_at(content, begin)
    fields: list[tuple[str, bytes]] = []
    for line in content[begin:end].splitlines(keepends=True):
        if line[:1] in (b" ", b"\t") and fields:
            fields[-1] = (fields[-1][0], fields[-1][1] + line)
        elif line.strip():
            fields.append((line.partition(b":")[0].strip().lower().decode("latin-1"), line))
    return _Parts(content[:begin], fields, b"" if end is None else content[end:])


def _is_response(fields: list[tuple[str, bytes]]) -> bool:
    return any(name == "warc-type" and b"response" in line.lower() for name, line in fields)


def _line(name: str, value: str) -> bytes:
    """A field; characters that would end its line are spelled as in URLs."""
    value = _UNPRINTED.sub(lambda found: f"%{ord(found[0]):02X}", value)
    return f"{name}: {value}\r\n".encode(errors="replace")


def _date(milliseconds: int, in_seconds: bool) -> str:
    """In the form of ``WARC-Date``: version 1.0 has no fractions."""
    time = datetime.fromtimestamp(milliseconds / 1000, UTC)
    fraction = "" if in_seconds or not milliseconds % 1000 else f".{milliseconds % 1000:03d}"
    return f"{time:%Y-%m-%dT%H:%M:%S}{fraction}Z"
