"""Crawls for tests of faults: pages with every kind of verdict among them, published while everything goes on."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from types import TracebackType
from typing import Any, Final, Self

from kafka import KafkaProducer
from msgspec import structs

from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.topics import PAGES
from crawler_plugin.wire.urls import canonical_url
from worker.stream.kafka.connection import Options

Page = tuple[PageMeta, bytes]
HTML: Final = "text/html; charset=utf-8"
JOB: Final = "invented"
WORDS: Final = 300
"""Words of a made page; a change of one word in 300 moves its fingerprint by about one bit."""
MINUTE_MS: Final = 60_000
DELIVERY_SECONDS: Final = 120
"""How long a page may wait for a broker that is away."""


def invented(seed: int) -> Iterator[Page]:
    """An endless series of pages of made words: new ones, copies and edited copies under new URLs, refetches, some not
    text."""
    chance = random.Random(seed)
    syllables = [consonant + vowel for consonant in "bcdfghklmnprst" for vowel in "aeiou"]
    vocabulary = ["".join(chance.choices(syllables, k=chance.randint(2, 4))) for _ in range(3000)]
    seen: list[tuple[str, list[str]]] = []
    for number in count():
        url, words = f"http://{seed}.example/{number}", chance.choices(vocabulary, k=WORDS)
        body, kind = None, HTML
        lot = chance.random()
        if seen and lot < 0.35:
            words = _edited(chance.choice(seen)[1], chance, vocabulary)
        elif seen and lot < 0.45:
            url, words = chance.choice(seen)
            words = _edited(words, chance, vocabulary)
        elif lot < 0.48:
            body, kind = b"%PDF-1.7", "application/pdf"
        elif lot < 0.51:
            words = [chance.choice(vocabulary[:5])]
        if body is None:
            seen.append((url, words))
            body = _html(words)
        yield PageMeta(url=url, status=200, content_type=kind, job=JOB), body


def a_minute_apart(pages: Iterable[Page], since: int) -> Iterator[Page]:
    """The same pages, each fetched a minute after the one before it, the first at ``since`` (ms since 1970)."""
    for number, (meta, body) in enumerate(pages):
        yield structs.replace(meta, fetched=since + number * MINUTE_MS), body


def revisited(pages: Sequence[Page], seed: int) -> Iterator[Page]:
    """The given pages in endless laps: each lap in another order, some under their own URL again, most under a new
    one."""
    chance = random.Random(seed)
    lap = 0
    while True:
        for meta, body in chance.sample(pages, len(pages)):
            url = meta.url if lap == 0 or chance.random() < 0.1 else f"{meta.url}?lap={lap}"
            yield PageMeta(url=url, status=200, content_type=meta.content_type), body
        lap += 1


def _edited(words: Sequence[str], chance: random.Random, vocabulary: Sequence[str]) -> list[str]:
    """The same words, with none to eight of them replaced: the text is near to the old one, or just not near any
    more."""
    edited = list(words)
    for place in chance.sample(range(len(words)), min(len(words), chance.choice((0, 0, 1, 2, 4, 8)))):
        edited[place] = chance.choice(vocabulary)
    return edited


def _html(words: Sequence[str]) -> bytes:
    paragraphs = "".join(f"<p>{' '.join(words[start : start + 40])}.</p>" for start in range(0, len(words), 40))
    return f"<html><head><title>A page</title></head><body><article>{paragraphs}</article></body></html>".encode()


class Crawler(threading.Thread):
    """Publishes pages at a pace from a thread of its own, whatever happens to the broker.

    As a context manager: leaving the block waits until all pages are out (after ``stop``: the pages so far) and the
    broker has them. ``sent`` counts them.
    """

    def __init__(self, options: Options, prefix: str, pages: Iterable[Page], *, a_second: float) -> None:
        super().__init__(name="crawler", daemon=True)
        self.sent = 0
        self._error: Exception | None = None
        self._topic = prefix + PAGES
        self._pages = iter(pages)
        self._pause = 1 / a_second
        self._over = threading.Event()
        self._producer: Any = KafkaProducer(
            **options,
            acks="all",
            enable_idempotence=True,
            delivery_timeout_ms=DELIVERY_SECONDS * 1000,
            max_block_ms=DELIVERY_SECONDS * 1000,
            max_request_size=8 << 20,
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            self.stop()
        self.join()
        self._producer.flush(timeout=DELIVERY_SECONDS)
        self._producer.close(timeout=10)
        if error is None and self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Publish nothing more."""
        self._over.set()

    def run(self) -> None:
        """Publish until all pages are out or the crawler is stopped."""
        begun = time.monotonic()
        try:
            for meta, body in self._pages:
                due = begun + self.sent * self._pause
                if self._over.wait(max(0.0, due - time.monotonic())):
                    return
                key = canonical_url(meta.url).encode()
                self._producer.send(self._topic, key=key, value=body, headers=meta.to_headers())
                self.sent += 1
        except Exception as error:
            self._error = error
