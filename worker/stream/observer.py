"""The events that the worker's step reports; metrics and logs listen."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Final, Protocol, TypeVar, cast

from crawler_plugin.wire.forgetting import ForgetCondition
from crawler_plugin.wire.messages import Claim
from crawler_plugin.wire.outcomes import SurvivorFinding
from worker.stream.log import Record
from worker.stream.states import PartitionState, ShardState
from worker.verdict.decide import Decision

_log = logging.getLogger(__name__)


class Observer:
    """Override the methods for the events that you want; no method does anything here.

    The methods are called in the worker's own thread, through ``contained``, and must be quick.
    """

    def failed(self, method: str) -> None:
        """This method of the observer raised."""

    def shard_state(self, shard: int, state: ShardState) -> None:
        """A shard of this worker is in another state."""

    def partition_state(self, partition: int, state: PartitionState) -> None:
        """A partition of ``pages`` is in another state with this worker."""

    def restored(self, shard: int, entries: int, blocks: int, damaged: int) -> None:
        """A shard was rebuilt from its blocks; ``damaged`` of them lay above the cover and were dropped."""

    def unreadable(self, topic: str, offset: int, why: str) -> None:
        """A record that none of our versions wrote was passed over."""

    def foreign_scheme(self, offset: int, scheme: bytes) -> None:
        """A batch of another scheme was passed over; it is void as a whole."""

    def claimed(self, claims: Sequence[Claim], again: bool) -> None:
        """A batch of claims was sent; ``again`` after a send error."""

    def own_decided(self) -> None:
        """The batch of claims that was in flight is decided."""

    def answered(self, shard: int, claims: int) -> None:
        """A shard answered a batch."""

    def stood_in(self, shard: int) -> None:
        """A shard is about to answer a batch although it is not the active holder, which has been silent."""

    def decided(self, batches: int) -> None:
        """This many batches were decided, by all shards together: rounds of the protocol."""

    def stage(self, name: str, seconds: float) -> None:
        """CPU time that the worker's own thread spent in one step of its loop."""

    def heard(self) -> None:
        """The broker answered the worker's question of every few seconds."""

    def committed(self, pages: Sequence[tuple[Record, Decision]]) -> None:
        """Pages and their decisions became visible outside the worker."""

    def commit_failed(self, pages: int) -> None:
        """A transaction ended with an unknown outcome; its partitions start again from the committed offset."""

    def found(self, kind: str) -> None:
        """A finding about a survivor was made; it goes to the topic ``findings``."""

    def suspect(self, finding: SurvivorFinding) -> None:
        """This page made a survivor suspect."""

    def hints_skipped(self, reason: str, pages: int) -> None:
        """The hints skipped this many pages; they run after verdicts (``worker.stream.shard.hints``)."""

    def flushed(self, shard: int, entries: int, again: bool) -> None:
        """A block of survivors was acknowledged (``again`` false) or is sent once more after an error."""

    def forgotten(self, shard: int, condition: ForgetCondition, offset: int, entries: int | None) -> None:
        """Because of the record at this offset of ``fingerprints``, a shard forgot this many entries; None where blocks
        cannot name more conditions than they name already, so that the record is void."""

    def expired(self, shard: int, entries: int) -> None:
        """Entries were removed from a shard in memory."""


class _Teller:
    """Has every method that a caller asks for: the result of ``make`` for the name, made at the first request."""

    def __init__(self, make: Callable[[str], Callable[..., None]]) -> None:
        self._make: Final = make

    def __getattr__(self, name: str) -> Callable[..., None]:
        method = self._make(name)
        setattr(self, name, method)
        return method


def together(*observers: Observer) -> Observer:
    """An observer that calls each of these, in their order, even where one before it raises; the first exception comes
    out."""

    def make(name: str) -> Callable[..., None]:
        methods = [getattr(observer, name) for observer in reversed(observers)]

        def tell(*what: Any, **named: Any) -> None:
            with ExitStack() as stack:
                for method in methods:
                    stack.callback(method, *what, **named)

        return tell

    return cast(Observer, _Teller(make))


class _Fallible(Protocol):
    def failed(self, method: str) -> None:
        """One of its methods raised."""


Told = TypeVar("Told", bound=_Fallible)


class ContainedErrors:
    """Exceptions in code that only observes, which must not be able to end a worker.

    ``failed`` gets the name of the method that raised, each time; the log gets the first of each type and name.
    """

    def __init__(self, failed: Callable[[str], None]) -> None:
        self._failed: Final = failed
        self._logged: Final[set[tuple[str, type[Exception]]]] = set()

    def note(self, name: str, error: Exception) -> None:
        """Count it, and log it if it is new."""
        try:
            self._failed(name)
        except Exception as another:
            error = another
        if (kind := (name, type(error))) in self._logged:
            return
        self._logged.add(kind)
        _log.error(
            "metrics, log lines or hints of %s are wrong from here on; the worker goes on. Look at "
            "dedup_observer_errors_total, and report this",
            name,
            exc_info=error,
            extra={"event": "observer-failed", "method": name},
        )


def contained(told: Told) -> Told:
    """The same observer, but no exception leaves its methods, all of which return None.

    The observer gets exceptions through ``failed``; see ``ContainedErrors``.
    """
    errors = ContainedErrors(told.failed)

    def make(name: str) -> Callable[..., None]:
        method = getattr(told, name)

        def tell(*what: Any, **named: Any) -> None:
            try:
                method(*what, **named)
            except Exception as error:
                errors.note(name, error)

        return tell

    return cast(Told, _Teller(make))
