"""Chooses which values of a label get numbers of their own, if there are more than Prometheus should keep."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

Value = TypeVar("Value", bound=Hashable)

HALF_LIFE_SECONDS: Final = 3600.0
"""A page counts half as much after this time, so that today's crawl takes the places of yesterday's."""
MARGIN: Final = 2.0
"""A value takes the place of another when it weighs this many times as much. With a smaller margin two values of about
the same weight would change places at each scrape, and each change ends a series and begins one."""
REMEMBERED: Final = 20_000
"""The number of values outside the top whose weight is kept; if there are more, the lighter half is forgotten."""

_LARGEST_EXPONENT: Final = 500
"""Weights grow as 2 ** (time / half-life) and begin anew before they exceed a float."""


class TopValues(Generic[Value]):
    """The values that occurred most of late, at most ``most`` at a time.

    A value has its own numbers from the moment it is one of them. Counts as ``other`` from before stay there: a counter
    of ``other`` that went down would look to Prometheus like a restart.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._named: dict[Value, float] = {}
        self._outside: dict[Value, float] = {}
        self._begun = 0.0
        self._unit = 1.0
        self._lightest = 0.0

    def at(self, now: float) -> None:
        """Everything that is named from here on happens at ``now``, in seconds by a clock that seldom goes back."""
        exponent = (now - self._begun) / HALF_LIFE_SECONDS
        if exponent > _LARGEST_EXPONENT:
            shrink = 2.0 ** -min(exponent, 1000.0)
            self._named = {value: weight * shrink for value, weight in self._named.items()}
            self._outside = {value: weight * shrink for value, weight in self._outside.items()}
            self._lightest *= shrink
            self._begun, exponent = now, 0.0
        self._unit = 2.0 ** max(exponent, 0.0)

    def names(self, value: Value) -> bool:
        """Whether it is one of the top."""
        return value in self._named

    def name(self, value: Value) -> tuple[bool, Value | None]:
        """Note that it occurred; returns whether it is one of the top, and which value lost its place to it, if any."""
        weight = self._named.get(value)
        if weight is not None:
            self._named[value] = weight + self._unit
            return True, None
        weight = self._outside.pop(value, 0.0) + self._unit
        if len(self._named) < self._most:
            self._named[value] = weight
            return True, None
        if self._most and weight > MARGIN * self._lightest:
            # Weights only grow, so the smallest known weight is no more than the smallest one there is.
            loser = min(self._named, key=self._named.__getitem__)
            self._lightest = self._named[loser]
            if weight > MARGIN * self._lightest:
                self._remember(loser, self._named.pop(loser))
                self._named[value] = weight
                return True, loser
        self._remember(value, weight)
        return False, None

    def _remember(self, value: Value, weight: float) -> None:
        if not self._most:
            return
        self._outside[value] = weight
        if len(self._outside) > REMEMBERED:
            self._outside = dict(heapq.nlargest(REMEMBERED // 2, self._outside.items(), key=lambda known: known[1]))
