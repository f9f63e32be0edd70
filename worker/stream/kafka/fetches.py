"""Looks, without a poll, at a consumer's open requests to the broker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Final

from worker.stream.kafka.private import fetches_under_way, has_records

ASK_SECONDS: Final = 0.1
"""A consumer is polled at least this often, whatever it shows: only in a poll does it look at its group and its
positions, and send new requests where none is under way."""


class Fetches:
    """The answers that a consumer waits for.

    A poll hands two to four coroutines to the client's own thread and waits for each, although no answer has come and
    none can be asked for: that takes .1 ms on an idle core, milliseconds on a core that others need. And a poll that
    waits misses the answer that comes between its two looks, and sleeps on for as long as it may. So the consumer is
    polled, without waiting, only when a poll can bring something, and this class does the waiting.
    """

    def __init__(self, consumer: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self._consumer = consumer
        self._clock = clock
        self._ask_at = 0.0

    def worth_a_poll(self) -> bool:
        """Whether to poll the consumer: an answer has come, no request is under way, or the last poll is long ago."""
        now = self._clock()
        under_way = fetches_under_way(self._consumer)
        pending = under_way and not any(fetch.is_done for fetch in under_way)
        worth = now >= self._ask_at or has_records(self._consumer) or not pending
        if worth:
            self._ask_at = now + ASK_SECONDS
        return worth

    def wait(self, seconds: float) -> None:
        """Return when an answer has come or the consumer is due for a poll, after this many seconds at most."""
        came = threading.Event()
        for fetch in fetches_under_way(self._consumer):
            fetch.add_both(lambda _: came.set())
        if not has_records(self._consumer):
            came.wait(min(seconds, ASK_SECONDS))
