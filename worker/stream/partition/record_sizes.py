"""How many bytes a record takes, and how many a page's outputs may take: measured before the page is claimed.

After the claim, other verdicts may name the page, and an output that the broker does not accept could not be left out.
"""

from __future__ import annotations

from typing import Final

from crawler_plugin.wire.outcomes import NO_PAGE_HEADER, Verdict, dead_letter_headers
from crawler_plugin.wire.page_headers import Headers, PageMeta
from worker.stream.policy import MAX_URL_BYTES

MAX_DETAIL: Final = 300
"""Characters of a dead letter's detail, four bytes each at most."""
MAX_REASON: Final = 64
LEAST_BYTES: Final = 128 * 1024
"""What each topic must accept: a verdict with three of the longest URLs or a dead letter without body takes less."""

_FRAMING: Final = 61 + 21
"""Bytes of a batch with one record, and of the record, at most (KIP-98); the client measures in the same way."""
_COUNT: Final = 5
"""Bytes by which the number of headers may grow, with our headers, and the header ``url`` without a user's name."""
_KEPT_HEADER: Final = 1024
"""Bytes of the kept part of what the crawler said of a page, apart from its URL."""
_LONGEST_URL: Final = "u" * MAX_URL_BYTES
_LONGEST_KEY: Final = _LONGEST_URL.encode()


def record_bytes(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """Bytes of a batch with this one record on a topic, uncompressed; never too few, a dozen too many."""
    size = _FRAMING + _varint(len(headers)) + _length(key) + _length(value)
    for name, content in headers:
        size += _length(name if name.isascii() else name.encode()) + _length(content)
    return size


def _length(content: bytes | str | None) -> int:
    count = len(content) if content is not None else 0
    return _varint(count) + count


def _varint(number: int) -> int:
    """Bytes of a number as Kafka writes it: seven bits of twice its value in each."""
    return 1 + (number >= 1 << 6) + (number >= 1 << 13) + (number >= 1 << 20) + (number >= 1 << 27)


def _of_headers(headers: Headers) -> int:
    return record_bytes(None, None, headers) - record_bytes(None, None, ())


_OURS: Final = max(
    _of_headers(
        [
            *Verdict(
                url="",
                verdict="duplicate",
                duplicate_of=_LONGEST_URL,
                distance=1 << 62,
                reason="r" * MAX_REASON,
                suspect=True,
            ).to_headers(),
            NO_PAGE_HEADER,
        ]
    ),
    _of_headers(dead_letter_headers("r" * MAX_REASON, "\U0001f600" * MAX_DETAIL, (1 << 62, 1 << 62))),
)
"""The largest headers that a worker adds to a page."""


def largest_output(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """The size of this record's page on an output topic, whatever its outcome, verdict or dead letter, and however its
    key is spelled there."""
    return record_bytes(key and max(key, _LONGEST_KEY, key=len), value, headers) + _OURS + _COUNT


def reference(key: bytes | None, headers: Headers) -> tuple[bytes | None, list[tuple[str, bytes]]]:
    """The rest of a page that is too large to be passed on: its key, cut where it is longer than the longest that is
    kept, and a short form of what the crawler said of it. It always fits."""
    return None if key is None else key[:MAX_URL_BYTES], in_short(headers)


def in_short(headers: Headers) -> list[tuple[str, bytes]]:
    """What the crawler said of a page, in short: its URL, cut where it is longer than is kept, and the short headers.

    Of a name that occurs several times the last value counts.
    """
    known = {name: value for name, value in headers if name in PageMeta.__struct_fields__ and value is not None}
    kept = []
    for name, value in known.items():
        if name == "url" and len(value) > MAX_URL_BYTES:
            kept.append((name, value[:MAX_URL_BYTES].decode(errors="ignore").encode()))
        elif name == "url" or len(value) <= _KEPT_HEADER:
            kept.append((name, value))
    return kept
