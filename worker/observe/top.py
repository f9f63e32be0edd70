"""Chooses which values of a label are told apart, where there are more than Prometheus should keep."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

Value = TypeVar("Value", bound=Hashable)

HALF_LIFE_SECONDS: Final = 3600.0
"""A page counts half as much after this time, so that the crawl of today takes the places of the one of yesterday."""
MARGIN: Final = 2.0
"""A value takes the place of another when it weighs so many times as much. With a smaller margin two values of about
the same weight would change places at each scrape, and each change ends a series and begins one."""
REMEMBERED: Final = 20_000
"""For so many values outside of the top the weight is kept; where there are more, the lighter half is forgotten."""

_LARGEST_EXPONENT: Final = 500
"""Weights grow as 2 ** (time / half-life) and begin anew before they leave what a float can hold."""


class TopValues(Generic[Value]):
    """The values that occurred most of late, at most ``most`` at a time.

    A value is told apart from the moment it is one of them. What was counted as ``other`` before stays there: a counter
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
        """Let what is named from here on happen at ``now``, in seconds by a clock that seldom goes back."""
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
        """Take note that it occurred: whether it is one of the top, and which value lost its place to it, if any."""
        weight = self._named.get(value)
        if weight is not None:
            self._named[value] = weight + self._unit
            return True, None
        weight = self._outside.pop(value, 0.0) + self._unit
        if len(self._named) < self._most:
            self._named[value] = weight
            return True, None
        if self._most and weight > MARGIN * self._lightest:
            # Weights only grow, so the least one known is no more than the least one there is.
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
