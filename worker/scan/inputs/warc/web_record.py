"""The header data of a WARC or ARC record, and the two forms that such a record has."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple

from worker.scan.inputs.fields import milliseconds
from worker.scan.inputs.header_lines import headers_at

_MOST_HEADER: Final = 64 * 1024
"""Bytes of a WARC record's own header."""
_MOST_LINE: Final = 4096
"""Bytes of the line that is an ARC record's own header."""
_KINDS: Final = frozenset(
    ("warcinfo", "response", "resource", "request", "metadata", "revisit", "conversion", "continuation")
)
_HEADER_END: Final = re.compile(rb"\r?\n\r?\n")
_LENGTH: Final = re.compile(
    rb"^content-length[ \t]*:(?:\r?\n[ \t])?[ \t]*\+?(\d{1,64})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE
)
_WARC_START: Final = re.compile(rb"WARC/[01]\.\d{1,2}[ \t]{0,8}\r?\n(?=(?i:WARC-|Content-)[a-zA-Z-]{1,64}[ \t]{0,8}:)")
_WARC_LINE: Final = re.compile(rb"WARC/\d{1,2}\.\d{1,2}[ \t]{0,8}\r?\n")
_ARC_START: Final = re.compile(
    rb"(?<=\n)[a-zA-Z][a-zA-Z0-9+.-]{0,20}:[^\s]{1,2048} [0-9a-fA-F.:-]{1,45} \d{14} [^\s]{1,128} "
    rb"(?:[^\s]{1,128} [^\s]{1,128} [^\s]{1,1024} [^\s]{1,19} [^\s]{1,512} )?\d{1,19}\r?\n"
)
_SCHEME: Final = re.compile(rb"[a-zA-Z][a-zA-Z0-9+.-]{0,20}:")
_ADDRESS: Final = re.compile(rb"[0-9a-fA-F.:-]{1,45}")
_DATE: Final = re.compile(rb"\d{8,17}")
_ARC_FIELDS: Final = 16
"""The fields after the URL, in which there may be blanks; version 2 has eight."""


@dataclass(frozen=True, slots=True)
class WebRecord:
    """A record: ``kind`` is its ``WARC-Type``, and ``block`` everything after its own header.

    ``id`` and ``others``, the records that it says it belongs to, are empty if it has none, as in an ARC. A segment
    holds a part of a block; records of the kind ``continuation`` hold the other parts.
    """

    kind: str
    url: str
    block: bytes
    content_type: str | None = None
    id: str = ""
    others: tuple[str, ...] = ()
    fetched: int | None = None
    is_segment: bool = False


class RecordForm(NamedTuple):
    """How records of a form are recognised and read.

    ``start`` finds a record after damage: ``longest`` bytes show it. ``begins`` says whether one begins at a place,
    however oddly it is written. ``size`` gets the bytes from a record's first one on and how many of them may be looked
    at; it returns the record's bytes in all, or None if they do not say it. ``ends`` may stand after a record whatever
    follows; the first one is written.
    """

    name: Literal["warc", "arc"]
    start: re.Pattern[bytes]
    longest: int
    begins: Callable[[bytes | bytearray, int], bool]
    most_header: int
    size: Callable[[bytes | bytearray, int], int | None]
    ends: tuple[bytes, ...]
    read: Callable[[bytes], WebRecord]


def _warc_begins(content: bytes | bytearray, at: int) -> bool:
    return bool(_WARC_LINE.match(content, at))


def _warc_size(content: bytes | bytearray, reach: int) -> int | None:
    if other := _WARC_START.search(content, 1, reach):
        reach = other.start()
    end = _HEADER_END.search(content, 0, reach)
    length = _LENGTH.search(content, 0, end.end()) if end else None
    return end.end() + int(length[1]) if end and length else None


def _read_warc(content: bytes) -> WebRecord:
    headers, end = headers_at(content, content.find(b"\n") + 1)

    def named(name: str) -> str:
        return (headers.get(name) or "").strip("<> ")

    kind = (headers.get("WARC-Type") or "").lower()
    others = [*headers.all("WARC-Concurrent-To"), *headers.all("WARC-Refers-To")]
    return WebRecord(
        kind=kind if kind in _KINDS else "unknown",
        url=named("WARC-Target-URI"),
        block=b"" if end is None else content[end:],
        content_type=headers.get("Content-Type"),
        id=named("WARC-Record-ID"),
        others=tuple(other.strip("<> ") for other in others),
        fetched=milliseconds(headers.get("WARC-Date")),
        is_segment=headers.get("WARC-Segment-Number") is not None,
    )


class _ArcLine(NamedTuple):
    url: bytes
    date: bytes
    content_type: bytes
    size: int
    """Bytes of the line and the block."""
    end: int


def _arc_line(content: bytes | bytearray, at: int = 0) -> _ArcLine | None:
    """The line that begins there: ``URL IP-address date type length``; version 2 has more fields before the length."""
    end = content.find(b"\n", at, at + _MOST_LINE) + 1
    if not end or not _SCHEME.match(content, at, end):
        return None
    parts = bytes(content[at:end]).rstrip().split(b" ")
    if not parts[-1].isdigit() or len(parts[-1]) > 64:
        return None
    for date in range(len(parts) - 2, max(1, len(parts) - _ARC_FIELDS), -1):
        if _DATE.fullmatch(parts[date]) and _ADDRESS.fullmatch(parts[date - 1]):
            content_type = parts[date + 1] if date + 2 < len(parts) else b""
            return _ArcLine(b" ".join(parts[: date - 1]), parts[date], content_type, end - at + int(parts[-1]), end)
    return None


def _arc_begins(content: bytes | bytearray, at: int) -> bool:
    return _arc_line(content, at) is not None


def _arc_size(content: bytes | bytearray, reach: int) -> int | None:
    line = _arc_line(content)
    return line.size if line and line.end <= reach else None


def _read_arc(content: bytes) -> WebRecord:
    line = _arc_line(content)
    assert line is not None, "records are told apart by it"
    url = line.url.decode(errors="replace").strip()
    scheme = url.partition(":")[0].lower()
    kind = "warcinfo" if scheme == "filedesc" else "response" if scheme in ("http", "https") else "resource"
    return WebRecord(
        kind=kind,
        url=url,
        block=content[line.end :],
        content_type=None if kind == "response" else line.content_type.decode(errors="replace"),
        fetched=_arc_date(line.date.decode()),
    )


def _arc_date(digits: str) -> int | None:
    try:
        time = datetime.strptime(digits[:14].ljust(14, "0"), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return milliseconds(time)


WARC: Final = RecordForm(
    name="warc",
    start=_WARC_START,
    longest=128,
    begins=_warc_begins,
    most_header=_MOST_HEADER,
    size=_warc_size,
    ends=(b"\r\n\r\n", b"\n\n"),
    read=_read_warc,
)
ARC: Final = RecordForm(
    name="arc",
    start=_ARC_START,
    longest=_MOST_LINE,
    begins=_arc_begins,
    most_header=_MOST_LINE,
    size=_arc_size,
    ends=(b"\n", b"\r\n"),
    read=_read_arc,
)
