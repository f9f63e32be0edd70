"""The log's clock: no verdict depends on a worker's own clock."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawler_plugin.wire.topics import DAY_MS
from worker.verdict.claims import Claims

NO_WATERMARK: Final = -1
"""The watermark before the first claim."""


def most_ahead(ttl: int | None) -> int:
    """How far a claim's time may be beyond the broker's, in milliseconds: a day, but at most a tenth of ``ttl``.

    At worst entries live that much shorter than ``ttl``, whatever the pages' fetch times are.
    """
    return DAY_MS if ttl is None else min(DAY_MS, ttl // 10)


def bounded_clock(fetched: int | None, broker_time: int, ttl: int | None) -> int:
    """The time that a claim carries, in milliseconds since 1970 UTC.

    It is the crawler's fetch time, but not far beyond the time when the broker received the page: otherwise one page
    dated 2099 would expire the whole index. Without a fetch time it is the broker's time.
    """
    return broker_time if fetched is None else min(fetched, broker_time + most_ahead(ttl))


def clock_by_log(clock: int, watermark: int, ttl: int | None) -> int:
    """The time that a claim carries where no broker dates pages: not far beyond the largest time before it, which is
    the log's own time. So one page moves the log's time on by a day at most, and the machine's clock does not move it
    at all; the first time after 1970 counts unchanged.
    """
    return clock if watermark <= 0 else min(clock, watermark + most_ahead(ttl))


def clocks_by_log(clock: NDArray[np.int64], watermark: int, ttl: int | None) -> NDArray[np.int64]:
    """``clock_by_log`` of each of n claims in order: int64 (n,)."""
    before = np.maximum.accumulate(np.append(np.int64(watermark), clock))[:-1]
    far = (before > 0) & (clock > before) & (clock - before > most_ahead(ttl))
    if not far.any():
        return clock
    # From the first bounded time on, the watermark is not the largest of the given times.
    first = int(far.argmax())
    watermark, bounded = int(before[first]), clock.copy()
    for place, given in enumerate(clock[first:].tolist(), first):
        bounded[place] = clock_by_log(given, watermark, ttl)
        watermark = max(watermark, int(bounded[place]))
    return bounded


def watermark_after(watermark: int, claims: Claims) -> int:
    """The watermark after a batch: the largest clock so far. Void and dead claims move it, too."""
    return max(watermark, int(claims.clock.max(initial=NO_WATERMARK)))
