"""Counts sends that fail: reports them while they are repeated, and ends the worker where repeating is useless."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from kafka import errors

from crawler_plugin.wire.errors import Stop, Unavailable
from worker.stream.kafka.errors import REFUSALS, as_stop

LEAST_FAILURES: Final = 3
"""How many in a row must fail before patience counts: now and then one fails in a rebalance or an election."""


@dataclass
class Failures:
    """The sends of one kind that failed since the last success.

    One thread writes, any thread asks. ``kind`` is for people; ``since`` is by the monotonic clock.
    """

    kind: str
    count: int = 0
    since: float | None = None
    why: str | None = None
    refusal: Stop | None = None
    """Set where the broker would refuse the same again, however often it is sent."""

    def add(self, error: Exception, about: str) -> bool:
        """Count a send that failed; ``about`` names its record, topic or group. True if the reason is a new one."""
        why = f"{about}: {type(error).__name__}: {error}"
        is_news = why != self.why
        self.count, self.since, self.why = self.count + 1, self.since or time.monotonic(), why
        if self.refusal is None and isinstance(error, REFUSALS):
            assert isinstance(error, errors.KafkaError)
            self.refusal = as_stop(error, about)
        return is_news

    def clear(self) -> None:
        """Begin anew: a send has succeeded."""
        self.count, self.since, self.why = 0, None, None

    def told(self) -> list[str]:
        """A message for people while sends fail; none while they do not."""
        since, why = self.since, self.why
        if since is None or why is None:
            return []
        return [f"{self.kind} keep failing, {self.count} in {time.monotonic() - since:.0f} s ({why})"]

    def check(self, patience: float) -> None:
        """Check that it makes sense to go on.

        Raises:
            Stop: the broker would refuse a send again, or the last ones have all failed for longer than ``patience``.
        """
        if self.refusal is not None:
            raise self.refusal
        since = self.since
        if since is not None and self.count >= LEAST_FAILURES and time.monotonic() - since > patience:
            raise Unavailable(
                f"the last {self.count} {self.kind} failed, the last one with {self.why}. Start the worker again; if "
                "they go on failing, look at the broker's log, and at the topics with `python -m worker topics check`"
            )
