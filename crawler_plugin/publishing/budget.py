"""The bytes of pages that Kafka has not confirmed: how many there may be, and who waits until there is room.

Lives in the event loop's thread alone. Waiting is first come, first served, so that a large page is not passed for ever
by small ones.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from twisted.internet.defer import Deferred

PAGE_COST: Final = 1024
"""Bytes counted for a page besides its own: objects and queue places. Without it a million empty pages were free."""


class Budget:
    """At most ``limit`` bytes at a time. ``most`` is the highest that was ever held."""

    def __init__(self, limit: int) -> None:
        self._limit: float = limit
        self._full = limit
        self._waiting: deque[tuple[int, Deferred[bool]]] = deque()
        self.held = 0
        self.most = 0

    def cost(self, size: int) -> int:
        """What a page of ``size`` bytes is counted as; never more than all there is, or it could never pass."""
        return min(self._full, size + PAGE_COST)

    @property
    def is_waited_for(self) -> bool:
        """Whether anybody waits."""
        return bool(self._waiting)

    def take(self, cost: int) -> bool:
        """Take so much if there is room and nobody came before; says whether it was taken."""
        if self._waiting or self.held + cost > self._limit:
            return False
        self._hold(cost)
        return True

    def wait(self, cost: int) -> Deferred[bool]:
        """Fires with True when it is this one's turn, and so much is taken then; with False after ``send_away``."""
        turn: Deferred[bool] = Deferred()
        self._waiting.append((cost, turn))
        return turn

    def give_back(self, cost: int) -> None:
        """So much is free again; those whose turn it is go on."""
        self.held -= cost
        self._admit()

    def send_away(self) -> None:
        """Those that wait have waited for long enough: they get nothing, and may come again."""
        waiting, self._waiting = self._waiting, deque()
        for _, turn in waiting:
            if not turn.called:
                turn.callback(False)

    def lift(self) -> None:
        """No limit any more: the crawl is closing, no further pages come, and those that wait must not hold it up."""
        self._limit = float("inf")
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.held + self._waiting[0][0] <= self._limit:
            cost, turn = self._waiting.popleft()
            if not turn.called:  # it is where its waiter was cancelled
                self._hold(cost)
                turn.callback(True)

    def _hold(self, cost: int) -> None:
        self.held += cost
        self.most = max(self.most, self.held)
