"""Pages to Kafka from a thread of their own, each at least once, whatever the broker does meanwhile.

The only place of the plugin that knows kafka-python. A producer's life, in this order:

1. *connect*: its constructor blocks for seconds where no broker is, which is why there is a thread;
2. *send* what the outbox gives: that bounds what is under way, since ``KafkaProducer.send`` takes pages without bound
   while the broker is away;
3. *confirm*: kafka-python's own thread says what became of each page;
4. *replace* after any error: the producer is cut off, and what it has not confirmed is sent again by a new one. A page
   may so arrive twice, which is harmless, since the later one is a refetch. The old producer is not asked to go on: one
   that has met a refusal refuses everything after it.
"""

from __future__ import annotations

import importlib
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from kafka import KafkaProducer, codec, errors

from crawler_plugin.outbox import Notice, Outbox, Report
from crawler_plugin.record import Page
from worker.errors import UsageError

BATCH_BYTES: Final = 512 * 1024
"""kafka-python sends one batch a partition at a time, so its default of 16 KiB makes one round trip a page."""
BLOCK_MS: Final = 10_000
"""How long connecting or waiting for metadata may take in one go; nothing else is noticed meanwhile."""
DELIVERY_MS: Final = 120_000
"""After so long without an answer kafka-python gives a page back as failed."""
REQUEST_MS: Final = 30_000
LINGER_MS: Final = 10
STALL_MARGIN_S: Final = 15.0
"""After the delivery timeout and so much more, it owes news that it will never give: its thread is stuck."""
FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 5.0
"""Between two producers; doubles while nothing is confirmed."""
SILENCE_S: Final = 10.0
"""Without a confirmation for so long it is said that the broker does not take pages."""
REPEAT_S: Final = 60.0
"""Between two such sayings."""
TICK_S: Final = 0.5
CLOSE_S: Final = 5.0

_CODECS: Final[Mapping[str, Callable[[], bool]]] = {
    "gzip": codec.has_gzip,
    "snappy": codec.has_snappy,
    "lz4": codec.has_lz4,
    "zstd": codec.has_zstd,
}


def codec_is_installed(name: str) -> bool:
    """Whether kafka-python can compress with it here."""
    return bool(_CODECS[name]())


def require_crc32c() -> None:
    """Refuse kafka-python's checksum in pure Python, with which pages of 20 kB go 38 times slower.

    Raises:
        UsageError: the crc32c wheel is not installed.
    """
    try:
        importlib.import_module("crc32c")
    except ImportError as error:
        raise UsageError(
            "the crc32c wheel is missing, and without it Kafka records are written many times slower: "
            "pip install 'kafka-python[crc32c]'"
        ) from error


def producer_options(
    *, bootstrap_servers: tuple[str, ...], max_page_bytes: int, compression: str | None, connection: Mapping[str, Any]
) -> dict[str, Any]:
    """Keyword arguments of ``KafkaProducer`` with which a page is delivered or its failure is told.

    ``connection`` is the user's part; it cannot change what delivery rests on.
    """
    return {
        "client_id": "crawl-dedup-scrapy",
        "delivery_timeout_ms": DELIVERY_MS,
        "request_timeout_ms": REQUEST_MS,
        **connection,
        "bootstrap_servers": list(bootstrap_servers),
        "acks": "all",
        "enable_idempotence": True,
        "compression_type": compression,
        "batch_size": min(BATCH_BYTES, max_page_bytes),  # a batch must fit where the largest page does
        "linger_ms": LINGER_MS,
        "max_request_size": max(1024 * 1024, max_page_bytes + 4096),
        "max_block_ms": BLOCK_MS,
        "bootstrap_timeout_ms": BLOCK_MS,
        "reconnect_backoff_max_ms": 1_000,  # it doubles up to 30 s by default: a broker that is back goes unseen
        "allow_auto_create_topics": False,  # a topic that the broker makes by itself has the wrong partitions
        "metrics_enabled": False,
    }


class Publisher:
    """Takes pages from the event loop without ever blocking it; ``wake`` is called from other threads on news.

    ``options`` are those of ``producer_options``. Nothing runs before ``start``.
    """

    def __init__(self, options: Mapping[str, Any], topic: str, wake: Callable[[], None]) -> None:
        self._options = dict(options)
        self._topic = topic
        self._wake = wake
        self._outbox = Outbox(wake)
        self._thread = threading.Thread(target=self._run, name="dedup-publisher", daemon=True)
        self._deadline: float | None = None
        self._ended = threading.Event()
        self._said_at: float | None = None
        self._heard: list[str] = []
        self._confirmed_when_said = 0

    def start(self) -> None:
        """Begin to connect."""
        self._thread.start()

    def submit(self, page: Page, cost: int) -> None:
        """Take a page over; ``cost`` comes back in a report when it is done with."""
        self._outbox.add(page, cost)

    def collect(self) -> Report:
        """What happened since the last call."""
        return self._outbox.collect()

    def finish(self, timeout: float) -> None:
        """No page comes any more: deliver what there is, for at most ``timeout`` seconds, and end.

        kafka-python cannot be interrupted while it connects, so the end may come up to ten seconds later.
        """
        self._deadline = time.monotonic() + timeout
        self._outbox.stir()
        if not self._thread.is_alive():
            self._ended.set()
            self._wake()

    @property
    def has_ended(self) -> bool:
        """Whether all is delivered or given up."""
        return self._ended.is_set()

    @property
    def unconfirmed(self) -> list[Page]:
        """Pages whose fate is open."""
        return self._outbox.pages

    @property
    def last_heard(self) -> str | None:
        """kafka-python's last complaint, for people."""
        return self._heard[-1] if self._heard else None

    def _is_over(self) -> bool:
        deadline = self._deadline
        return deadline is not None and (self._outbox.is_empty or time.monotonic() >= deadline)

    def _run(self) -> None:
        pause = FIRST_PAUSE_S
        try:
            with _complaints(self._heard):
                while not self._is_over():
                    before = self._outbox.confirmed
                    try:
                        self._live()
                    except _RefusedForSize:
                        continue
                    except Exception as error:  # not only KafkaError: ValueError, RuntimeError, OSError, …
                        self._say_trouble(f"{type(error).__name__}: {error}")
                    pause = FIRST_PAUSE_S if self._outbox.confirmed > before else min(2 * pause, LONGEST_PAUSE_S)
                    self._rest(pause)
        finally:
            self._ended.set()
            self._wake()

    def _live(self) -> None:
        """One producer's life: until all is over, or an error ends it."""
        producer = KafkaProducer(**self._options)
        began = time.monotonic()
        try:
            while not self._is_over():
                sending = self._outbox.next(TICK_S)
                if sending is not None:
                    self._send(producer, sending.number, sending.page)
                self._watch(min(self._outbox.silence, time.monotonic() - began))
        finally:
            self._outbox.take_back()
            _let_go(producer, in_order=self._outbox.is_empty)

    def _send(self, producer: Any, number: int, page: Page) -> None:
        try:
            future = producer.send(self._topic, key=page.key, value=page.value, headers=list(page.headers))
        except Exception as error:
            self._fail(number, error)
        else:
            future.add_callback(lambda _: self._outbox.confirm(number))
            future.add_errback(lambda error: self._fail(number, error))

    def _fail(self, number: int, error: Exception) -> None:
        is_too_large = isinstance(error, errors.MessageSizeTooLargeError | errors.RecordListTooLargeError)
        self._outbox.fail(number, _RefusedForSize() if is_too_large else error, is_too_large=is_too_large)

    def _watch(self, silence: float) -> None:
        """Say when the broker takes nothing, and when it does again; ``silence`` is how long it has been without news.

        Raises:
            TimeoutError: kafka-python has given no news of any page for longer than it may.
        """
        if self._said_at is not None and self._outbox.confirmed > self._confirmed_when_said:
            self._said_at = None
            self._outbox.note(Notice(False, f"Kafka takes pages again ({self._where()})"))
        if silence > self._options["delivery_timeout_ms"] / 1000 + STALL_MARGIN_S:
            raise TimeoutError(f"no news of any page for {silence:.0f} s")
        if silence > SILENCE_S:
            self._say_trouble(f"no page confirmed for {silence:.0f} s")

    def _say_trouble(self, what: str) -> None:
        now = time.monotonic()
        if self._said_at is not None and now - self._said_at < REPEAT_S:
            return
        self._said_at = now
        self._confirmed_when_said = self._outbox.confirmed
        why = "; ".join([what, *self._heard])
        self._outbox.note(
            Notice(
                True,
                f"Kafka takes no pages ({self._where()}; {why}). {len(self._outbox.pages)} pages are held and sent "
                "when it does; the crawl waits when DEDUP_BUFFER_BYTES are held. Start the broker, make the topic "
                "(python -m worker topics create), or correct DEDUP_BOOTSTRAP_SERVERS, DEDUP_TOPIC_PREFIX or "
                "DEDUP_KAFKA_OPTIONS",
            )
        )

    def _where(self) -> str:
        return f"topic {self._topic} at {','.join(self._options['bootstrap_servers'])}"

    def _rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._is_over() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, TICK_S / 5))


class _RefusedForSize(Exception):
    """The broker found a page too large: no trouble, but the producer is of no use any more."""


def _let_go(producer: Any, *, in_order: bool) -> None:
    """Close, and cut off what is not delivered.

    ``close`` flushes first, and where that times out it raises before it gets to stop the network thread, which then
    runs for ever, and sends the pages late. So that thread is told to stop by itself; kafka-python has no public way.
    """
    if not in_order:
        producer._sender.force_close()
    with suppress(Exception):
        producer.close(timeout=CLOSE_S)


_LOGGER: Final = logging.getLogger("kafka")
_listening: Final = threading.Lock()
_listeners: Final[list[list[str]]] = []


class _Listener(logging.Handler):
    """Keeps the last error of kafka-python's network layer: its exceptions do not say why a broker was not reached."""

    def emit(self, record: logging.LogRecord) -> None:
        message = re.sub(r"^<[^>]*>: | \(backoff .*\)$", "", record.getMessage())
        if record.levelno >= logging.ERROR and not message.startswith("Bootstrap failed"):
            for heard in _listeners:
                heard[:] = [message]


_listener: Final = _Listener()


@contextmanager
def _complaints(heard: list[str]) -> Iterator[None]:
    """Meanwhile ``heard`` holds kafka-python's last complaint, and what it logs does not fill the crawl's log.

    While a broker is away it writes ten lines a second, and at the level DEBUG, which is Scrapy's default, it writes
    every page as a whole. Where the user has given the logger ``kafka`` a level, it is left as it is.
    """
    with _listening:
        is_ours = bool(_listeners) or _LOGGER.level == logging.NOTSET
        if is_ours:
            _LOGGER.setLevel(logging.WARNING)
            _LOGGER.propagate = False
            _LOGGER.addHandler(_listener)
            _listeners.append(heard)
    try:
        yield
    finally:
        with _listening:
            _listeners[:] = [listener for listener in _listeners if listener is not heard]
            if is_ours and not _listeners:
                _LOGGER.removeHandler(_listener)
                _LOGGER.propagate = True
                _LOGGER.setLevel(logging.NOTSET)
