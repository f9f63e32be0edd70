"""Who is in the groups of the workers, and which workers have stopped: pure functions of the broker's answers.

A worker with a ``kafka.instance_id`` keeps its places in both groups when it ends, until its session ends, so that a
restarted worker finds its partitions and shards again. Commands that must not meet a running worker need to know
whether a place belongs to a running or a stopped one. The broker does not say when it last heard from a member. So a
worker that stops in order says so itself, in its last act as a member: it commits, for what it owns of the group on
``index``, a *note* with its member ids in both groups. A broker gives each member that joins another id, and only a
member can commit under its own id. So a note is about that one life of the worker: a worker that was killed, that hangs
or is cut off has left none, and counts as running until its session ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

NOWHERE: Final = 2**62
"""The offset that carries a note: nothing is consumed in that group. It lies beyond the end of any log, so that a tool
that compares offsets with ends, in order to warn of unread records, finds nothing unread."""
_STOPPED: Final = "stopped"


class Seat(NamedTuple):
    """A place in a group as the broker reports it: ``instance`` is None for a member without a name of its own, and
    ``client`` is its client id and host."""

    group: str
    member: str
    instance: str | None
    client: str


def instances_of(worker: str) -> tuple[str, str]:
    """The names of a worker, by its ``kafka.instance_id``, in the groups on ``pages`` and on ``index``."""
    return f"{worker}-pages", f"{worker}-shards"


def worker_of(instance: str) -> str:
    """The ``kafka.instance_id`` of the worker that is in a group under this name."""
    return instance.rpartition("-")[0]


def note_of_stop(members: Iterable[str]) -> str:
    """The note of a worker at its end; ``members`` are its ids in both groups."""
    return " ".join([_STOPPED, *members])


def have_stopped(notes: Iterable[str]) -> frozenset[str]:
    """The member ids in these notes; metadata that others have committed names none."""
    found = [note.split(" ") for note in notes]
    return frozenset(member for first, *members in found if first == _STOPPED for member in members)


def workers_of(seats: Sequence[Seat]) -> list[str]:
    """The workers that have these places in one group or both, each once.

    A worker without a name of its own is known by its client and host; of several on one host there are as many as have
    places in one group.
    """
    named = {worker_of(seat.instance) for seat in seats if seat.instance is not None}
    places = Counter((seat.client, seat.group) for seat in seats if seat.instance is None)
    unnamed: Counter[str] = Counter()
    for (client, _), count in places.items():
        unnamed[client] = max(unnamed[client], count)
    return [*sorted(named), *sorted(unnamed.elements())]
