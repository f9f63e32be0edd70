"""Finds hosts, or sections of hosts, that bring little but duplicates, among any number of them, with few numbers
kept."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

Value = TypeVar("Value", bound=Hashable)

NAMED_FROM: Final = 20
"""Score from which a value is named. A lower limit names many that are only unlucky for a while."""
LOSS: Final = 5
"""The cost of a page that is no duplicate, where a duplicate brings 1: scores grow only where more than five pages in
six are duplicates."""
HIGHEST: Final = 10 * NAMED_FROM
"""A score grows no further, so that one that has ceased to be a trap loses its name after forty other pages."""
FORGOTTEN_SECONDS: Final = 3600.0
"""A name without a page for this long is given up if another value wants it."""
REMEMBERED: Final = 20_000
"""This many values have a score; if there are more, the lower half is forgotten."""


class Traps(Generic[Value]):
    """The values whose pages are nearly all duplicates, at most ``most`` at a time.

    Each value has a score that a duplicate raises and any other page lowers, never below 0: a cumulative sum (Page,
    Continuous inspection schemes, Biometrika 1954), which shows a change soonest of all tests with one number each. It
    does not matter how many pages other values bring.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._scores: dict[Value, int] = {}
        self._named: dict[Value, float] = {}

    def names(self, value: Value) -> bool:
        """Whether it is one of them."""
        return value in self._named

    def see(self, value: Value, *, is_duplicate: bool, now: float) -> Value | None:
        """Note a page of this value at ``now``, in seconds; returns which value lost its name, if any did."""
        score = self._scores.get(value, 0)
        if not is_duplicate:
            if score > LOSS:
                self._scores[value] = score - LOSS
            elif score:
                del self._scores[value]
                return value if self._named.pop(value, None) is not None else None
            return None
        self._scores[value] = min(score + 1, HIGHEST)
        if value in self._named:
            self._named[value] = now
        elif score + 1 >= NAMED_FROM:
            return self._name(value, now)
        elif len(self._scores) > REMEMBERED:
            self._forget()
        return None

    def _name(self, value: Value, now: float) -> Value | None:
        loser = None
        if len(self._named) >= self._most:
            loser = min(self._named, key=self._named.__getitem__, default=None)
            if loser is None or self._named[loser] > now - FORGOTTEN_SECONDS:
                return None
            del self._named[loser]
            self._scores.pop(loser, None)
        self._named[value] = now
        return loser

    def _forget(self) -> None:
        kept = heapq.nlargest(REMEMBERED // 2, self._scores.items(), key=lambda known: known[1])
        self._scores = dict(kept) | {value: self._scores[value] for value in self._named if value in self._scores}
