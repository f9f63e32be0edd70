"""The spool of a crawl: every byte of a file belongs to a record or to damage; a record of a later version is
``Refused``."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from crawler_plugin.record import PageRecord
from crawler_plugin.spool.records import HEADER_BYTES, Damage, ReadAt, encode, record_at, scan, with_header
from crawler_plugin.wire.errors import Refused, UnreadableRecord

PAGE = PageRecord("http://a/", b"http://a/", b"<p>text</p>", (("url", b"http://a/"), ("form", b"bytes")), is_text=False)


def attack(data: bytes) -> None:
    """Read the data as a file, and as the key and the payload of a record with correct checksums."""
    key, _, plain = data.partition(b"\n")
    payload = zlib.compress(plain, 1)
    for content in (
        data,
        with_header(key, plain, len(plain)),
        with_header(key, payload, len(plain)) + data,
    ):
        _read(content)


def _read(content: bytes) -> None:
    reached = 0
    try:
        for found in scan(_reader(content), len(content)):
            if isinstance(found, Damage):
                assert found.start == reached < found.end
                reached = found.end
                continue
            assert found.offset == reached
            reached += found.size
            try:
                page = found.page()
            except UnreadableRecord:
                continue
            written = record_at(_reader(encode(page)), 0)
            assert written is not None
            again = written.page()
            assert (again.key, again.headers, again.value) == (page.key, page.headers, page.value)
    except Refused:
        return
    assert reached == len(content)


def _reader(content: bytes) -> ReadAt:
    return lambda offset, length: content[offset : offset + length]


def seeds() -> Iterator[bytes]:
    """A file of two records, and the content of one record."""
    record = encode(PAGE)
    plain = zlib.decompress(record[HEADER_BYTES + len(PAGE.key) :])
    yield record + record
    yield PAGE.key + b"\n" + plain
    yield PAGE.key + b"\n" + plain[:1] + b"\x91" * 5000
