"""Takes part in a rebalance of a consumer group, in a thread of its own while it lasts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from kafka.structs import MemberState

from worker.stream.kafka.private import is_at_rest, join_anew

SLICE_MS: Final = 100
"""How long the thread polls at a time. kafka-python throws away what it agreed on with the broker between two polls and
joins anew: with shorter polls that happens more often. A poll goes on to its end although the group has come to rest,
so with longer ones the worker hears later of what it has lost and gained."""
CLOSE_SECONDS: Final = 5.0


class Joining:
    """Lends a consumer to a thread while its group rebalances, so that nobody else waits for the other members.

    kafka-python takes part in a rebalance only inside ``poll``, and a poll may end while another member has not joined
    yet. One who has two groups and polls them in turn waits in the one for a member that waits for it in the other.

    From ``begin`` until ``ended`` says so the consumer is the thread's alone; its ``group_metadata`` can be asked for
    at any time. Its partitions must be paused: what a poll delivered would be lost. The thread gives it back when the
    group is at rest, or before if there is ``news`` to be heard.
    """

    def __init__(self, consumer: Any, name: str, news: Callable[[], bool]) -> None:
        self._consumer = consumer
        self._name = name
        self._news = news
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._closing = threading.Event()

    @property
    def under_way(self) -> bool:
        """Whether it was begun and nobody has been told yet that it has ended."""
        return self._thread is not None

    def begin(self) -> None:
        """Lend the consumer to a new thread."""
        self._thread = threading.Thread(target=self._join, name=self._name, daemon=True)
        self._thread.start()

    def ended(self) -> bool:
        """Whether the consumer is free again; true once for each beginning.

        Raises:
            KafkaError: what a poll raised; the consumer is free then, too.
        """
        if self._thread is None or self._thread.is_alive():
            return False
        self._thread = None
        error, self._error = self._error, None
        if error is not None:
            raise error
        return True

    def close(self) -> None:
        """End the thread, for a few seconds at most: it may stand in a poll of a broker that is gone."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)

    def _join(self) -> None:
        try:
            while not (self._closing.is_set() or is_at_rest(self._consumer) or self._news()):
                if self._consumer.group_metadata().state != MemberState.STABLE:
                    # One that joins because a topic has grown forgets why as soon as it leads the group, and if a poll
                    # ends between that and the end of the rebalance, no later one would go on with it.
                    join_anew(self._consumer)
                self._consumer.poll(timeout_ms=SLICE_MS)
        except BaseException as error:  # for the thread that asks whether this one has ended
            self._error = error
