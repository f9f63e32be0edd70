"""Puts pages on ``pages`` without a crawl: for benchmarks, archives and tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kafka import KafkaProducer

from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.topics import PAGES, topic_name
from crawler_plugin.wire.urls import canonical_url, without_userinfo
from worker.stream.kafka.connection import Options, reaching

OUTSTANDING: Final = 2000
"""Pages that may wait for the broker at a time: kafka-python's own buffer has no bound."""


def publish_pages(
    options: Options, prefix: str, pages: Iterable[tuple[PageMeta, bytes]], *, max_bytes: int = 8 << 20
) -> int:
    """Publish pages in order and wait until the broker has them all; returns how many.

    Raises:
        Unavailable: no broker.
        kafka.errors.KafkaError: the broker did not take a page.
    """
    with reaching(options):
        producer = KafkaProducer(
            **options,
            acks="all",
            enable_idempotence=True,
            linger_ms=20,
            batch_size=1 << 20,
            max_request_size=max_bytes,
        )
        try:
            sent = []
            count = 0
            for meta, body in pages:
                key = canonical_url(meta.url).encode()
                headers = meta.at(without_userinfo(meta.url)).to_headers()
                sent.append(producer.send(topic_name(prefix, PAGES), key=key, value=body, headers=headers))
                count += 1
                if len(sent) >= OUTSTANDING:
                    sent.pop(0).get(timeout=60)
            for future in sent:
                future.get(timeout=60)
            return count
        finally:
            producer.close(timeout=10)
