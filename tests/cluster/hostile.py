"""Hostile records on our topics: bombs, endless headers, hostile strings, bytes that are not records of ours."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from confluent_kafka import Producer

from benchmarks.worst_pages import PAGES as KINDS
from benchmarks.worst_pages import pumped
from crawler_plugin.wire.messages import Claim, encode
from crawler_plugin.wire.page_headers import Headers, PageMeta
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, INDEX, PAGES
from crawler_plugin.wire.urls import canonical_url
from tests.cluster.crawl import HTML, Page
from tests.columns import answer_of, batch_of

CODECS: Final = ("gzip", "snappy", "lz4", "zstd")
BOMB_BYTES: Final = 64 * 1024 * 1024
"""Eight times the limit of any topic; compressed it is 64 kB."""
HEADER_BYTES: Final = 2 * 1024 * 1024
BODY_BYTES: Final = 7 * 1024 * 1024
STRING_BYTES: Final = 64 * 1024
"""The size of a page of hostile strings: there are dozens, and parsers should finish before the next fault."""
COPIES: Final = 12
"""The size of a text under hostile URLs: enough for the check whether it is a page at all."""
DELIVERY_SECONDS: Final = 120
"""How long a record may wait for a broker that is away."""


class Sent(NamedTuple):
    """A record as it is to be written; ``topic`` is without prefix."""

    topic: str
    partition: int
    key: bytes
    value: bytes
    headers: Headers = ()


@contextmanager
def stranger(bootstrap: str, prefix: str, codec: str = "gzip") -> Iterator[Producer]:
    """A librdkafka producer, which compresses records that kafka-python would refuse by their size; records sent inside
    the block travel together.

    Raises:
        AssertionError: the broker did not take all of it.
    """
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": codec,
            "linger.ms": 200,
            "message.max.bytes": 1_000_000_000,
            "delivery.timeout.ms": DELIVERY_SECONDS * 1000,
            "log_level": 0,
        }
    )
    yield producer
    assert producer.flush(DELIVERY_SECONDS) == 0, f"records for {prefix} were not delivered"


def send(bootstrap: str, prefix: str, records: Sequence[Sent], codec: str = "gzip") -> None:
    """Write the records in this order, those of a partition in one batch where the broker's limit allows it."""
    refused: list[str] = []
    with stranger(bootstrap, prefix, codec) as producer:
        for record in records:
            producer.produce(
                prefix + record.topic,
                value=record.value,
                key=record.key,
                headers=list(record.headers),
                partition=record.partition,
                on_delivery=lambda error, _: refused.append(str(error)) if error else None,
            )
    assert not refused, refused


def page(partition: int, given: Page) -> Sent:
    """A page as a crawl writes it."""
    meta, body = given
    return Sent(PAGES, partition, canonical_url(meta.url).encode(), body, meta.to_headers())


def bomb(partition: int, number: int) -> Sent:
    """64 MiB of one letter as the body of a page."""
    url = f"http://bomb.example/{number}"
    return Sent(PAGES, partition, url.encode(), b"x" * BOMB_BYTES, _headers(url))


def wide(partition: int, number: int) -> Sent:
    """A page that fits the topic ``pages`` when compressed, but no output topic: 7 MiB of body, 2 MiB of headers."""
    url = f"http://wide.example/{number}"
    headers = (*_headers(url), ("remark", b"x" * HEADER_BYTES))
    return Sent(PAGES, partition, url.encode(), os.urandom(BODY_BYTES), headers)


def odd_urls(count: int, site: str = "urls.example") -> Iterator[Page]:
    """Tiny pages of one text on one host, whose URLs kept a pattern with a repetition in a repetition busy for ever."""
    for number in range(count):
        path = "a" + "%20" * (20 + 4 * number) + "-"
        url = f"http://{site}/{number}/{path}?{path}={path}"
        yield PageMeta(url=url, status=200, content_type=HTML), b"<p>not found nothing here try another page"


def strings(partition: int, number: int) -> list[Sent]:
    """Pages with such URLs, and pages full of marks, entities, words of a title, and of every other costly kind."""
    found = [page(partition, one) for one in odd_urls(COPIES, f"urls-{number}.example")]
    for kind, runs in enumerate(KINDS.values()):
        meta = PageMeta(url=f"http://strings-{number}.example/{kind}", status=200, content_type=HTML)
        found.append(page(partition, (meta, pumped(runs, STRING_BYTES))))
    return found


def foreign(chance: random.Random) -> list[Sent]:
    """Records that none of our versions wrote, and whole ones of another scheme: a worker passes all of them over."""
    claim = Claim(partition=0, offset=chance.randrange(10**6), clock=0, url="http://foreign.example/", text_hash=7)
    batch = batch_of([claim], b"foreign!", b"stranger")
    answer = answer_of(scheme=b"foreign!", writer=b"stranger", batch=chance.randrange(1000))
    whole = encode(batch)
    flipped = bytearray(whole)
    flipped[chance.randrange(12, len(whole))] ^= 1 << chance.randrange(8)
    key = chance.randbytes(16)
    return [
        Sent(FINGERPRINTS, 0, key, chance.randbytes(chance.randrange(200))),
        Sent(FINGERPRINTS, 0, key, whole[: chance.randrange(len(whole))]),
        Sent(FINGERPRINTS, 0, key, bytes(flipped)),
        Sent(FINGERPRINTS, 0, key, whole),
        Sent(ANSWERS, 0, key, chance.randbytes(chance.randrange(200))),
        Sent(ANSWERS, 0, key, encode(answer)),
        Sent(INDEX, 0, key, chance.randbytes(chance.randrange(200))),
    ]


def _headers(url: str) -> Headers:
    return (("url", url.encode()), ("content_type", HTML.encode()))
