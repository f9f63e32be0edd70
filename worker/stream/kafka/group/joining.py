"""What rebalances change for a member, and the thread that takes part in them for it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from kafka import ConsumerRebalanceListener, TopicPartition
from kafka.structs import MemberState

from worker.stream.kafka.private import is_at_rest, join_anew

CLOSE_SECONDS: Final = 5.0


class Changes(ConsumerRebalanceListener):  # type: ignore[misc]
    """The changes by rebalances since the last poll, one assignment after the other.

    The client's own thread writes it, the worker's reads it.
    """

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer
        self._lock = threading.Lock()
        self._owned: frozenset[TopicPartition] = frozenset()
        self._told: frozenset[TopicPartition] = frozenset()
        self._interrupted: frozenset[TopicPartition] = frozenset()
        self._generation = -1
        self._since: dict[TopicPartition, int] = {}
        self._assignments: deque[tuple[frozenset[TopicPartition], frozenset[TopicPartition]] | None] = deque()
        """Not reported yet: what is owned since, and what was lost in between; None: all was lost."""

    def assigned(self, partitions: frozenset[TopicPartition], generation: int) -> None:
        """The assignment of a generation came: this is all that is owned from now on.

        Pause the new partitions, and give them a position, so that the client looks for none: the worker says where to
        read.
        """
        with self._lock:
            for partition in partitions - self._owned:
                self._consumer.pause(partition)
                self._consumer.seek(partition, 0)
                self._since[partition] = generation
            self._generation = generation
            self._assignments.append((partitions, self._interrupted | (self._owned - partitions)))
            self._owned, self._interrupted = partitions, frozenset()

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """The assignor has reported it already, with the partitions that the same assignment revoked."""

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        with self._lock:
            gone = self._owned.intersection(revoked)
            self._owned -= gone
            self._interrupted |= gone

    def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        self.on_partitions_revoked(lost)

    def interrupt(self) -> None:
        """The member was evicted, although the client did not say so: all was lost before the pending assignment or,
        without one, before the next."""
        with self._lock:
            if self._assignments:
                self._assignments.appendleft(None)
            else:
                self._interrupted |= self._owned
                self._owned = frozenset()

    def kept(self, partitions: Iterable[TopicPartition], since: int) -> int | None:
        """The generation of the last assignment, if all of these were owned all the time from that of ``since`` on."""
        with self._lock:
            is_so = all(here in self._owned and self._since[here] <= since for here in partitions)
            return self._generation if is_so else None

    @property
    def pending(self) -> bool:
        """Whether something happened that the worker does not know yet."""
        with self._lock:
            return self._pending()

    @contextmanager
    def none_meanwhile(self) -> Iterator[bool]:
        """Nothing happens in this block; whether it begins with nothing pending."""
        with self._lock:
            yield not self._pending()

    def _pending(self) -> bool:
        return bool(self._assignments or self._interrupted) or self._owned != self._told

    def take(self) -> tuple[list[TopicPartition], list[TopicPartition], bool]:
        """The partitions lost and gained since the last call, by one assignment or by none; and whether by one.

        Partitions that were lost and came back are in both.
        """
        with self._lock:
            by_assignment = bool(self._assignments)
            if by_assignment:
                assignment = self._assignments.popleft()
                by_assignment = assignment is not None
                owned, interrupted = assignment or (frozenset[TopicPartition](), frozenset[TopicPartition]())
            else:
                owned, interrupted, self._interrupted = self._owned, self._interrupted, frozenset()
            lost = self._told & (interrupted | (self._told - owned))
            gained = owned - (self._told - lost)
            self._told = owned
            return sorted(lost), sorted(gained), by_assignment


class Joining:
    """Lends a consumer to a thread while its group rebalances, so that only this thread waits for the other members.

    kafka-python takes part in a rebalance only inside ``poll``, and a poll may end while another member has not joined
    yet. A worker that polled its two groups in turn would wait in the first group for another worker, while that worker
    waits for it in the second.

    From ``begin`` until ``ended`` returns true only the thread may use the consumer; other threads may ask for its
    ``group_metadata`` at any time. The thread calls ``poll`` again and again. It gives the consumer back when the group
    is at rest, or earlier if ``news`` says that there is something to report.
    """

    def __init__(self, consumer: Any, name: str, poll: Callable[[], None], news: Callable[[], bool]) -> None:
        self._consumer = consumer
        self._name = name
        self._poll = poll
        self._news = news
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._closing = threading.Event()

    @property
    def under_way(self) -> bool:
        """Whether it was begun and ``ended`` has not returned true yet."""
        return self._thread is not None

    def begin(self) -> None:
        self._thread = threading.Thread(target=self._join, name=self._name, daemon=True)
        self._thread.start()

    def ended(self) -> bool:
        """Whether the consumer is free again; true once for each beginning.

        Raises:
            KafkaError: the error of a poll; the consumer is free then, too.
        """
        if self._thread is None or self._thread.is_alive():
            return False
        self._thread = None
        error, self._error = self._error, None
        if error is not None:
            raise error
        return True

    def close(self) -> None:
        """End the thread, for a few seconds at most: it may be in a poll of a broker that is gone."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)

    def _join(self) -> None:
        try:
            while not (self._closing.is_set() or is_at_rest(self._consumer) or self._news()):
                if self._consumer.group_metadata().state != MemberState.STABLE:
                    # A member that joins because a topic has grown forgets why as soon as it leads the group, and if a
                    # poll ends between that and the end of the rebalance, no later poll would go on with it.
                    join_anew(self._consumer)
                self._poll()
        except BaseException as error:  # for the thread that asks whether this one has ended
            self._error = error
