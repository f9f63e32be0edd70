"""Sends pages to Kafka from a thread of its own, each at least once, whatever the broker does.

A producer's life, in this order:

1. *look*: whether the topic is there and may be written, and how large its records may be;
2. *connect*: a producer's constructor blocks for seconds where no broker is, hence the thread;
3. *send* the pages of the outbox and of the spool: the outbox bounds the pages under way, since ``KafkaProducer.send``
   takes pages without bound while the broker is away. A page that is larger than the topic's limit is cut off or left
   out here;
4. *confirm*: kafka-python's own thread reports the outcome of each page; the topic ``jobs`` gets a mark at the
   beginning that there is a crawl, and at the end, when no more confirmations are awaited, how many pages it had;
5. *replace* after any error: the producer is cut off, and a new one sends the unconfirmed pages again. So a page may
   arrive twice, which is harmless, since the later one is a refetch. The old producer cannot go on: after one refusal
   it refuses everything.

Where the topic's limit may not be read, a refusal tells it: kafka-python splits a batch that is too large into ever
smaller ones, so the first page that fails for its size was alone in its batch. From then on no page of that size or
larger is sent, so that not every large page costs a producer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from crawler_plugin.publishing.connection import connect, is_there, is_too_large, look_at, quiet
from crawler_plugin.publishing.job_marks import JobMarks
from crawler_plugin.publishing.outbox import WINDOW_BYTES, Arrival, Notice, Outbox, Report, Sending
from crawler_plugin.record import PageRecord, cut_to
from crawler_plugin.spool.file import Spool
from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.errors import Stop
from crawler_plugin.wire.kafka_client.connection import Complaints
from crawler_plugin.wire.kafka_client.private import cut_off, sent_together

STALL_MARGIN_S: Final = 15.0
"""A producer without news for this time after the delivery timeout will never give any: its thread is stuck."""
FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 5.0
"""The pause between two producers; doubles while nothing is confirmed."""
SILENCE_S: Final = 10.0
"""After this time without a confirmation, the log says that the broker does not take pages."""
REPEAT_S: Final = 60.0
"""The time between two such log lines."""
TICK_S: Final = 0.5
GATHER_S: Final = 0.2
"""How long pages gather before they go out together: each hand-over between threads costs the crawl's own thread time,
and each request costs the broker time. If this were longer, items that wait for verdicts would wait longer."""
LONGEST_BLOCK_S: Final = 30.0
"""The time for connecting twice and closing, each as long as it may take."""
MARK_S: Final = 1.0
"""How long the end of a crawl waits until the topic ``jobs`` has its number of pages."""
READ_AHEAD_BYTES: Final = 4 * 1024 * 1024
"""The most pages of the spool in memory at a time: enough to keep a fast broker busy while the disk is read."""


class Publisher:
    """Takes pages from the event loop without ever blocking it; ``wake`` is called from other threads on news.

    ``options`` come from ``producer_options``. ``cuts`` says whether the beginning of a page that is too large for the
    topic is sent, or nothing of it. Pages in the ``spool`` are sent too. ``jobs`` is the topic that gets the number of
    pages of each job. ``before_pages`` is called in the thread, and may block, each time before pages go out. Pages go
    out when ``gathered_bytes`` of them have come, at the latest ``GATHER_S`` after the previous ones. Nothing runs
    before ``start``.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        topic: str,
        wake: Callable[[], None],
        *,
        cuts: bool = False,
        spool: Spool | None = None,
        jobs: str | None = None,
        before_pages: Callable[[], None] = lambda: None,
        gathered_bytes: int = WINDOW_BYTES,
    ) -> None:
        self._before_pages = before_pages
        self._options = dict(options)
        self._topic = topic
        self._wake = wake
        self._cuts = cuts
        self._spool = spool
        self._jobs = jobs
        self.marks = JobMarks()
        if spool is not None:
            self.marks.inherit(spool.marks)
        self._outbox = Outbox(wake, marks=self.marks, gathered_bytes=gathered_bytes)
        self._thread = threading.Thread(target=self._run, name="dedup-publisher", daemon=True)
        self._deadline: float | None = None
        self._ended = threading.Event()
        self._said_at: float | None = None
        self._heard = Complaints()
        self._confirmed_when_said = 0
        self._limit: int | None = None
        self._misread_limit: int | None = None
        self._least_refused: int | None = None
        self.has_looked = False
        """Whether the first look at broker and topic is over."""
        self.found_wanting: Exception | None = None
        """The missing part at the last look: broker, topic or rights."""

    def start(self) -> None:
        """Begin to connect."""
        self._thread.start()

    def submit(self, page: PageRecord, cost: int, arrived: Arrival | None = None) -> None:
        """Take a page over; ``cost`` comes back in a report when the page is done with, and ``arrived`` gets its
        place."""
        self._outbox.add(page, cost, arrived=arrived)

    def collect(self) -> Report:
        """Everything that happened since the last call."""
        return self._outbox.collect()

    def finish(self, timeout: float) -> None:
        """No page comes any more: deliver the rest, for at most ``timeout`` seconds, and end.

        kafka-python cannot be interrupted while it connects, so the end may come up to ten seconds later.
        """
        self._deadline = time.monotonic() + timeout
        self._outbox.stir()
        if not self._thread.is_alive():
            self._ended.set()
            self._wake()

    def give_up(self) -> None:
        """Stop sending: pages that are not confirmed now stay unconfirmed."""
        self._outbox.give_up()

    @property
    def has_ended(self) -> bool:
        """Whether all pages are delivered or given up."""
        return self._ended.is_set()

    def wait_for_end(self) -> None:
        """Wait until the thread has ended, for as long as kafka-python may block."""
        self._ended.wait(LONGEST_BLOCK_S)

    @property
    def has_work(self) -> bool:
        """Whether a page waits for Kafka, here or in the spool."""
        return not self._outbox.is_empty or self._has_unread

    @property
    def unconfirmed(self) -> int:
        """How many pages here have no outcome yet, including those that were read from the spool."""
        return self._outbox.count

    @property
    def unspooled(self) -> list[PageRecord]:
        """Pages whose outcome is open and which are in memory alone."""
        return self._outbox.unspooled

    @property
    def silence(self) -> float:
        """Seconds without news of any page; 0 without pages."""
        return self._outbox.silence

    def mark_sent(self) -> None:
        """Mark the finished pages in the spool; blocks on the disk."""
        for place in self._outbox.done_places():
            assert self._spool is not None
            self._spool.mark_sent(place)

    @property
    def last_heard(self) -> str | None:
        """kafka-python's last complaint, for a reader."""
        return self._heard.why

    @property
    def _has_unread(self) -> bool:
        return self._spool is not None and self._spool.has_unread

    def _is_over(self) -> bool:
        deadline = self._deadline
        return deadline is not None and (not self.has_work or time.monotonic() >= deadline)

    def _run(self) -> None:
        pause = FIRST_PAUSE_S
        try:
            with quiet(self._heard):
                while not self._is_over():
                    before = self._outbox.confirmed
                    try:
                        self._live()
                    except _RefusedForSize:
                        continue
                    except Exception as error:  # not only KafkaError: ValueError, RuntimeError, OSError, …
                        self._say_trouble(str(error) if isinstance(error, Stop) else f"{type(error).__name__}: {error}")
                    pause = FIRST_PAUSE_S if self._outbox.confirmed > before else min(2 * pause, LONGEST_PAUSE_S)
                    self._rest(pause)
        finally:
            self._ended.set()
            self._wake()

    def _live(self) -> None:
        """Run one producer until all pages are done with, or an error ends it."""
        self._look()
        producer = connect(self._options, self._limit)
        self._before_pages()
        began = time.monotonic()
        try:
            producer.partitions_for(self._topic)  # inside ``sent_together`` the metadata could not be fetched
            self._mark(producer, at_the_end=False)
            while not self._is_over():
                self._read_spool()
                if (sending := self._outbox.next(TICK_S)) is not None:
                    with sent_together(producer):
                        while sending is not None:
                            self._send(producer, sending)
                            sending = self._outbox.next(0)
                self.mark_sent()
                self._watch(min(self._outbox.silence, time.monotonic() - began))
                if not self._has_unread and self._deadline is None:
                    self._outbox.gather(GATHER_S)
            self._settle(producer)
            self._mark(producer, at_the_end=True)
        finally:
            self._outbox.take_back()
            cut_off(producer)
            self.mark_sent()

    def _settle(self, producer: Any) -> None:
        """Wait a moment for confirmations of pages under way; later confirmations are ignored.

        So the number that the topic ``jobs`` gets next is final.
        """
        if not self._outbox.is_empty:
            with suppress(Exception):
                producer.flush(timeout=MARK_S)
        self.give_up()

    def _mark(self, producer: Any, *, at_the_end: bool) -> None:
        """Send the topic ``jobs`` the marks that it lacks, if it exists; wait for the topic only at the end."""
        marks = self.marks.due(at_the_end=at_the_end)
        if not marks or self._jobs is None or not is_there(self._options, self._jobs):
            return
        futures = []
        for mark in marks:
            future = producer.send(self._jobs, key=mark.key, value=mark.encode(), headers=mark.to_headers())
            future.add_callback(lambda _, mark=mark: self.marks.told(mark))
            futures.append(future)
        until = time.monotonic() + MARK_S
        for future in futures if at_the_end else ():
            with suppress(Exception):  # marks that the topic has not taken stay due
                future.get(timeout=max(0.0, until - time.monotonic()))

    def _look(self) -> None:
        try:
            limit = look_at(self._options, self._topic, self._heard)
            self._limit = None if limit == self._misread_limit else limit
            self.found_wanting = None
        except Exception as error:
            self.found_wanting = error
            raise
        finally:
            if not self.has_looked:
                self.has_looked = True
                self._wake()

    def _read_spool(self) -> None:
        while self._has_unread and self._outbox.spooled_bytes < READ_AHEAD_BYTES:
            assert self._spool is not None
            if (stored := self._spool.take()) is not None:
                self._outbox.add(stored.page, 0, stored.place)

    def _send(self, producer: Any, sending: Sending) -> None:
        number, began = sending.number, time.monotonic()
        page = self._fit(sending.page)
        if page is None:
            self._outbox.refuse(number)
            return

        def failed(error: Exception) -> None:
            # An older batch may have failed as a whole, before it was tried in smaller ones.
            is_alone = time.monotonic() - began < self._options["delivery_timeout_ms"] / 1000
            self._fail(number, page, error, is_alone=is_alone)

        try:
            future = producer.send(self._topic, key=page.key, value=page.value, headers=list(page.headers))
        except Exception as error:
            failed(error)
        else:
            future.add_callback(lambda sent: self._outbox.confirm(number, (sent.partition, sent.offset)))
            future.add_errback(failed)

    def _fit(self, page: PageRecord) -> PageRecord | None:
        """As much of the page as the topic takes, or None."""
        if self._least_refused is not None and self._limit is None and page.size >= self._least_refused:
            return None
        if self._limit is None or page.size <= self._limit:
            return page
        fitting = cut_to(page, self._limit) if self._cuts else None
        if fitting is not None:
            self._outbox.cut(page)
        return fitting

    def _fail(self, number: int, page: PageRecord, error: Exception, *, is_alone: bool) -> None:
        if not is_too_large(error) or not is_alone:
            self._outbox.fail(number, error)
            return
        if self._outbox.fail(number, _RefusedForSize()):
            if self._limit is not None:  # the limit was changed: read it again, and measure this page by it
                self._misread_limit = self._limit
            else:
                self._least_refused = min(page.size, self._least_refused or page.size)
                self._outbox.refuse(number)

    def _watch(self, silence: float) -> None:
        """Log when the broker takes no pages, and when it takes pages again; ``silence`` is the time without news.

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
        heard = self._heard.why
        why = what if heard is None or heard in what else f"{what}; {heard}"
        self._outbox.note(
            Notice(
                True,
                f"Kafka takes no pages ({self._where()}; {why}). "
                f"{counted(self._outbox.count, 'page is held', 'pages are held')}, and sent once it does; "
                "DEDUP_ON_FULL says what happens when DEDUP_BUFFER_BYTES are held. Start the broker, make the "
                "topic (python -m worker topics create), or correct DEDUP_BOOTSTRAP_SERVERS, DEDUP_TOPIC_PREFIX or "
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
    """The broker found a page too large: the broker works, but the producer cannot be used any more."""
