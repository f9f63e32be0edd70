"""The budget for bytes of pages that Kafka has not confirmed, and the queue of pages that wait for room.

Used in the event loop's thread alone. Waiting is first come, first served, so that small pages do not overtake a large
one for ever.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from twisted.internet.defer import Deferred

PAGE_COST: Final = 1024
"""Bytes counted for a page in addition to its own, for objects and queue places. Without them a million empty pages
would cost nothing."""


class Budget:
    """At most ``limit`` bytes at a time. ``most`` is the peak so far."""

    def __init__(self, limit: int) -> None:
        self._limit: float = limit
        self._full = limit
        self._waiting: deque[tuple[int, Deferred[bool]]] = deque()
        self.held = 0
        self.most = 0

    def cost(self, size: int) -> int:
        """The bytes counted for a page of ``size`` bytes; never more than the limit, or the page could never pass."""
        return min(self._full, size + PAGE_COST)

    @property
    def is_waited_for(self) -> bool:
        """Whether a page waits."""
        return bool(self._waiting)

    def take(self, cost: int) -> bool:
        """Take this many bytes if there is room and no earlier page waits; says whether they were taken."""
        if self._waiting or self.held + cost > self._limit:
            return False
        self._hold(cost)
        return True

    def wait(self, cost: int) -> Deferred[bool]:
        """Fires with True when it is the caller's turn, with the bytes taken; with False after ``send_away``."""
        turn: Deferred[bool] = Deferred()
        self._waiting.append((cost, turn))
        return turn

    def give_back(self, cost: int) -> None:
        """Free this many bytes; the waiters whose turn it is go on."""
        self.held -= cost
        self._admit()

    def send_away(self) -> None:
        """End the waiting of all that wait: they get nothing, and may come again."""
        waiting, self._waiting = self._waiting, deque()
        for _, turn in waiting:
            if not turn.called:
                turn.callback(False)

    def lift(self) -> None:
        """Lift the limit: the crawl is closing, no further pages come, and waiting pages must not delay the end."""
        self._limit = float("inf")
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.held + self._waiting[0][0] <= self._limit:
            cost, turn = self._waiting.popleft()
            if not turn.called:  # it was called where its waiter was cancelled
                self._hold(cost)
                turn.callback(True)

    def _hold(self, cost: int) -> None:
        self.held += cost
        self.most = max(self.most, self.held)
