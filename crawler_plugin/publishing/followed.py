"""Verdicts of workers on their way back to the crawl that published the pages: for items that wait (``DEDUP_AWAIT``),
for a crawl that learns (``DEDUP_FEEDBACK``) and for listeners (``crawler_plugin.signals``).

A thread of its own reads ``verdicts`` and ``dead-letters``, committed records only and in no group, so that it disturbs
no other reader. For a page, these steps follow each other:

1. the reader is *placed* at the end of both topics; the crawl's first page is sent only then, so that no verdict on the
   crawl's pages lies before that place;
2. the page *arrives*: Kafka says at which partition and offset of ``pages`` it is. That pair tells its verdict from all
   others, including those on an earlier fetch of the same URL;
3. its verdict is *heard*, and handed to everything that waits for it. If the verdict comes before Kafka's word on the
   page, it is kept.

A crawl that only learns from its verdicts, or listens to them, does not wait: it hears all verdicts of its job,
including those on pages of other processes.

After an error, or when the topics get more partitions, a new reader goes on where the last one stood. It is no error
when workers die and come back: their verdicts come later.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

from crawler_plugin.publishing.connection import follow, partitions_of, quiet
from crawler_plugin.record import Origin
from crawler_plugin.running import Call
from crawler_plugin.waiting_items import TOLD, TOO_LARGE, ComingVerdict, Told
from crawler_plugin.wire.errors import Unavailable, UnreadableRecord
from crawler_plugin.wire.kafka_client.connection import Complaints
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.page_headers import text_headers

Place: TypeAlias = tuple[int, int]
"""A page's partition and offset in ``pages``."""

MOST_EARLY: Final = 10_000
"""The most verdicts of the job that are kept while nothing waits for them yet, or any more; some 5 MB. Verdicts for
other processes of the same job are among them, so the oldest ones are dropped."""
PLACED_S: Final = 10.0
"""How long pages wait for the reader. Where no verdicts can be read, the pages go out all the same."""
POLL_MS: Final = 200
PAUSE_S: Final = 1.0


class HeardVerdict(NamedTuple):
    """A verdict on a page of the job and spider, with the object that waits for it, if one does."""

    verdict: Verdict
    coming: ComingVerdict | None


class FollowedVerdicts:
    """The verdicts on the pages of one crawl. ``options`` come from ``producer_options``; nothing runs before
    ``start``.

    These are called in the event loop's thread, through ``call``: ``listen`` with each verdict on a page of the job and
    spider; then ``hear`` with each verdict that something waits for, where items wait at all; ``complain`` with the
    error that keeps verdicts from being read.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        verdicts: str,
        dead_letters: str,
        origin: Origin,
        *,
        call: Call,
        hear: Callable[[ComingVerdict, Told], None] | None,
        listen: Callable[[HeardVerdict], None] = lambda heard: None,
        complain: Callable[[Exception], None],
    ) -> None:
        self._options = options
        self._verdicts = verdicts
        self._dead_letters = dead_letters
        self._whose = [None if name is None else name.encode() for name in (origin.job, origin.spider)]
        self._call = call
        self._hear = hear
        self._listen = listen
        self._complain = complain
        self._lock = threading.Lock()
        self._awaited: WeakValueDictionary[Place, ComingVerdict] = WeakValueDictionary()
        self._early: OrderedDict[Place, Told] = OrderedDict()
        self._positions: dict[Any, int] = {}
        self._placed = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dedup-verdicts", daemon=True)

    def start(self) -> None:
        """Begin to connect."""
        self._thread.start()

    def wait_until_placed(self) -> None:
        """Call this before pages are sent; it blocks, for ``PLACED_S`` at most."""
        self._placed.wait(PLACED_S)

    def arrive(self, coming: ComingVerdict, place: Place | None) -> None:
        """Note that Kafka has the page at this place, or has refused it as too large. From any thread."""
        if place is None:
            self._call(lambda: coming.miss(TOO_LARGE))
            return
        with self._lock:
            told = self._early.pop(place, None)
            if told is None:
                self._awaited[place] = coming
        if told is not None:
            self._call(lambda: self._tell([(coming, told)]))

    def finish(self) -> None:
        """End the reading: nothing waits for verdicts any more."""
        self._over.set()

    def _run(self) -> None:
        with quiet(Complaints()):
            while not self._over.is_set():
                try:
                    self._follow()
                except Exception as error:  # whatever kafka-python raises
                    if isinstance(error, Unavailable):  # there is a broker, and no topic: nothing to wait for
                        self._placed.set()
                    self._call(lambda error=error: self._complain(error))  # type: ignore[misc]
                    self._over.wait(PAUSE_S)

    def _follow(self) -> None:
        topics = (self._verdicts, self._dead_letters)
        consumer = follow(self._options, topics, self._positions)
        try:
            self._placed.set()
            while not self._over.is_set() and partitions_of(consumer, topics) <= consumer.assignment():
                for partition, records in consumer.poll(timeout_ms=POLL_MS).items():
                    self.take(records)
                    self._positions[partition] = records[-1].offset + 1
        finally:
            consumer.close(autocommit=False, timeout_ms=1000)

    def take(self, records: list[Any]) -> None:
        """Take in records of both topics, in their order."""
        heard: list[HeardVerdict] = []
        for record in records:
            headers = dict(record.headers)
            if [headers.get("job"), headers.get("spider")] != self._whose:
                continue
            try:
                verdict = _read(record, is_dead=record.topic == self._dead_letters)
            except (UnreadableRecord, KeyError, ValueError):  # not written by a worker
                continue
            heard.append(HeardVerdict(verdict, None if self._hear is None else self._waiting_for(verdict)))
        if heard:
            self._call(lambda: self._spread(heard))

    def _waiting_for(self, verdict: Verdict) -> ComingVerdict | None:
        with self._lock:
            coming = self._awaited.pop(verdict.source, None)
            if coming is None:
                self._early[verdict.source] = _told(verdict)
                if len(self._early) > MOST_EARLY:
                    self._early.popitem(last=False)
            return coming

    def _spread(self, heard: list[HeardVerdict]) -> None:
        for each in heard:
            self._listen(each)
        self._tell([(each.coming, _told(each.verdict)) for each in heard if each.coming is not None])

    def _tell(self, awaited: list[tuple[ComingVerdict, Told]]) -> None:
        for coming, told in awaited:
            assert self._hear is not None
            self._hear(coming, told)


def _read(record: Any, *, is_dead: bool) -> Verdict:
    return Verdict.of_dead_letter(text_headers(record.headers)) if is_dead else Verdict.decode(record.value)


def _told(verdict: Verdict) -> Told:
    return verdict.row(TOLD)
