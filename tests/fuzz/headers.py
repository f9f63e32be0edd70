"""The headers of a page and its URL: unreadable headers are ``UnreadableRecord``, a bad URL is ``ValueError``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from crawler_plugin.wire.errors import PageError, UnreadableRecord
from crawler_plugin.wire.page_headers import PARDON_HEADER, STORE_HEADER, PageMeta, text_headers
from crawler_plugin.wire.urls import canonical_url
from worker.stream.partition.fingerprint_pool import flags_of

NAMES = (*PageMeta.__struct_fields__, "theirs", STORE_HEADER, PARDON_HEADER)


def attack(data: bytes) -> None:
    """Each line is the number of a header's name and a value."""
    headers = [(NAMES[line[0] % len(NAMES)], line[1:]) for line in data.split(b"\n") if line]
    text_headers(headers)
    with suppress(PageError):
        flags_of(headers)
    try:
        meta = PageMeta.from_headers(headers)
    except UnreadableRecord:
        return
    assert PageMeta.from_headers(meta.to_headers()) == meta
    try:
        canonical = canonical_url(meta.url)
    except ValueError:
        return
    canonical.encode()


def seeds() -> Iterator[bytes]:
    """URLs of all kinds, with all other headers and without."""
    for url in (
        b"http://a.example/x?b=2&a=1#c",
        "http://网页.example/你?好".encode(),
        b"http://[::1]:80/",
        b"ftp://%zz@x",
    ):
        yield b"\x00" + url
        yield b"\x00" + url + b"\n\x01200\n\x02text/html\n\x03gbk\n\x0417\n\x05s\n\x06j\n\x07text\n\x09no\n\x0ayes"
