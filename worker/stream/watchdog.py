"""Notices what no single step can: a broker that is gone, sends that fail for good, a position that does not move."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, PAGES
from worker.stream.log import Bounds, Log
from worker.stream.worker import Worker

EVERY_SECONDS: Final = 5.0
LOGS: Final = (FINGERPRINTS, ANSWERS)

_log = logging.getLogger(__name__)


@dataclass
class Watch:
    """Asks the broker every few seconds where the logs and the owned pages end.

    ``patience`` is in seconds: how long the broker may be away, or a reader may stand still while its log grows. For a
    reader it is counted from the broker's answer that first shows it behind: before, its log may have ended where the
    reader stands, and while the broker is away no reader can move.
    ``lags`` holds, by page partition, the pages that are not committed, and ``logs`` where both logs begin and end, for
    metrics; ``failing`` names the sends that keep failing.
    """

    log: Log
    worker: Worker
    patience: float
    lags: dict[int, int] = field(default_factory=dict)
    logs: dict[str, Bounds] = field(default_factory=dict)
    failing: Sequence[str] = ()
    _asked: float = float("-inf")
    _answered: float | None = None
    _away: bool = False
    _behind: dict[str, tuple[int, float]] = field(default_factory=dict)

    def check(self, now: float) -> None:
        """Look at the sends, and ask the broker if it is time to.

        Raises:
            Stop: the broker refuses a send for good.
            Unavailable: patience is over.
        """
        self.failing = self.log.failing()
        if now - self._asked < EVERY_SECONDS:
            return
        self._asked = now
        self._answered = now if self._answered is None else self._answered
        try:
            ours = list(self.worker.partitions)
            bounds = self.log.all_bounds([*((topic, 0) for topic in LOGS), *((PAGES, number) for number in ours)])
            ends = dict(zip(LOGS, bounds, strict=False))
            owned = dict(zip(ours, bounds[len(LOGS) :], strict=True))
        except Unavailable as error:
            if now - self._answered > self.patience:
                raise
            if not self._away:
                _log.warning("%s. Waiting for it, for kafka.patience_seconds=%g", error, self.patience)
            self._away = True
            self._behind.clear()
            return
        if self._away:
            _log.info("the broker answers again")
        self._away = False
        self._answered = now
        self.worker.observer.heard()
        self.logs = ends
        self.lags = {
            number: max(0, bounds.end - self.worker.partitions[number].committed_offset)
            for number, bounds in owned.items()
            if self.worker.partitions[number].committed_offset >= 0
        }
        self._check_readers(ends, now)

    def _check_readers(self, ends: dict[str, Bounds], now: float) -> None:
        behind = {}
        for number, follower in enumerate(self.worker.followers):
            for topic, reader in ((FINGERPRINTS, follower.fingerprints), (ANSWERS, follower.answers_reader)):
                if reader.position >= ends[topic].end:
                    continue
                name = f"{topic} {number}"
                position, since = self._behind.get(name, (-1, now))
                if reader.position != position:
                    since = now
                if now - since > self.patience:
                    raise Unavailable(
                        f"reading {topic} stands still at offset {reader.position} although the topic goes on to "
                        f"{ends[topic].end}. Start the worker again; if it stops at the same offset, the record there "
                        "cannot be read: look at the broker's log for that partition"
                    )
                behind[name] = (reader.position, since)
        self._behind = behind
