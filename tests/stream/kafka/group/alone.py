"""Members of groups over a real broker, each in a group on the test's own topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from crawler_plugin.wire.topics import PAGES
from tests.waiting import wait_for
from worker.stream.kafka.group.membership import KafkaPages

PARTITIONS: Final = 4
SHARDS: Final = 8
TIMING: Final[dict[str, Any]] = {"session_timeout_ms": 10_000, "heartbeat_interval_ms": 300}


def until(what: str, condition: Callable[[], object]) -> None:
    wait_for(condition, what, pause=0.01)


MOST_BYTES: Final = 1 << 20


class Alone:
    """A member of a group on ``pages``, and the results of its polls."""

    def __init__(self, options: dict[str, Any], prefix: str, **timing: Any) -> None:
        self.pages = KafkaPages(options, prefix + PAGES, f"{prefix}group", MOST_BYTES, 10, **(timing or TIMING))
        self.owned: set[int] = set()
        self.ever_lost: set[int] = set()
        self.delivered: set[int] = set()

    def poll(self) -> None:
        polled = self.pages.poll()
        self.owned.difference_update(polled.lost)
        self.ever_lost.update(polled.lost)
        self.owned.update(polled.gained)
        self.delivered.update(record.partition for record in polled.records)

    def owns(self, count: int) -> bool:
        """After one more poll."""
        self.poll()
        return len(self.owned) == count and not self.pages.membership().evicted

    def is_joining(self) -> bool:
        """After one more poll."""
        self.poll()
        return self.pages.rebalancing
