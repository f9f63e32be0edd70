"""What a consumer has asked the broker for, looked at without a poll."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Final

from worker.stream.kafka.private import fetches_under_way, has_records

ASK_SECONDS: Final = 0.1
"""A consumer is polled this often at least, whatever it shows: only then does it look at its group and its positions,
and ask anew where nothing is under way."""


class Fetches:
    """The answers that a consumer waits for.

    A poll hands two to four coroutines to the client's own thread and waits for each, although no answer has come and
    none can be asked for: .1 ms each on a core of one's own, milliseconds on one that others need. And a poll that
    waits misses the answer that comes between its two looks, and sleeps on for as long as it may. So polls that wait
    for nothing are made when they can bring something, and the waiting is done here.
    """

    def __init__(self, consumer: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self._consumer = consumer
        self._clock = clock
        self._ask_at = 0.0

    def worth_a_poll(self) -> bool:
        """An answer has come, or none is under way, or the consumer was not polled for a while: it is to be now."""
        now = self._clock()
        under_way = self._under_way()
        pending = under_way and not any(fetch.is_done for fetch in under_way)
        worth = now >= self._ask_at or self._has_come() or not pending
        if worth:
            self._ask_at = now + ASK_SECONDS
        return worth

    def wait(self, seconds: float) -> None:
        """Until an answer has come or the consumer is to be polled anyway, so many seconds at most."""
        came = threading.Event()
        for fetch in self._under_way():
            fetch.add_both(lambda _: came.set())
        if not self._has_come():
            came.wait(min(seconds, ASK_SECONDS))

    def _under_way(self) -> list[Any]:
        return fetches_under_way(self._consumer)

    def _has_come(self) -> bool:
        return has_records(self._consumer)
