"""The log's clock: no verdict depends on a worker's own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from worker.messages import Claim
from worker.topics import DAY_MS

NO_WATERMARK: Final = -1
"""W before the first claim."""


def bounded_clock(fetched: int | None, broker_time: int) -> int:
    """The time that a claim carries, in milliseconds since 1970 UTC.

    The crawler's fetch time, but at most a day after the broker received the page: else one page dated 2099 would
    expire the whole index. Without a fetch time the broker's.
    """
    return broker_time if fetched is None else min(fetched, broker_time + DAY_MS)


def watermark_after(watermark: int, claims: Iterable[Claim]) -> int:
    """W after a batch: the largest clock so far. Void and dead claims move it as well."""
    return max(watermark, max((claim.clock for claim in claims), default=NO_WATERMARK))
