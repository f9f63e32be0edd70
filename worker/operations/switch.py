"""Passes the outputs from one generation to another, so that in both together each page stands in them once.

Every generation judges every page on its own, and keeps its verdicts. Only one at a time writes pages and dead letters
to its outputs. The note with the consumed offset of each partition of ``pages`` (``policy.Note``) says which one does;
it is committed together with the outputs: so the note survives crashes and rebalances, and no setting of a worker can
contradict it. A worker that would leave pages out, or write them twice, refuses to begin.

1. The workers of both have stopped, and no transaction is pending. The consumed offset of the old generation is the
   border: all pages below it are in its outputs.
2. The new generation has consumed no further than that, and was only counting: it has judged, or written, no page
   beyond the border.
3. The old generation learns its successor: when its workers are started again, they refuse, unless they only count.
4. The new generation learns the border: it counts up to there, and writes from there on. The commit that passes the
   border forgets it.

If the command is interrupted between 3 and 4, neither generation writes, and the same command goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from crawler_plugin.wire.errors import Refused, Unavailable
from crawler_plugin.wire.topics import PAGES
from worker.stream.log import Committed, NotYet
from worker.stream.policy import Note

SHOWN: Final = 3
STOP_ALL: Final = (
    "stop all of them with SIGTERM, also those that are paused, wait until they have ended, and run the same command "
    "again. A killed worker counts until kafka.session_timeout_seconds are over or, if it has a kafka.instance_id, "
    "until you run `python -m worker leave NAME`"
)


class Groups(Protocol):
    """The consumer groups of the workers of one generation, for a caller that is a member of none."""

    def workers(self) -> Sequence[str]:
        """The workers that run; a worker that hangs, was cut off or was killed counts until its session ends. If none
        runs, the groups are empty afterwards, although places were kept for stopped workers."""

    def committed(self, partition: int) -> Committed | None:
        """The consumed offset of a partition of ``pages``; raises ``NotYet`` while a transaction is pending on it."""

    def commit(self, offsets: Mapping[int, Committed]) -> None:
        """Set consumed offsets; raises ``Refused`` while the group has members."""


@dataclass(frozen=True)
class Generation:
    """A generation by its name, the empty one for the fixed names, and its groups."""

    name: str
    groups: Groups

    @property
    def shown(self) -> str:
        """The name as people give it in the settings."""
        return f"topics.generation={self.name!r}"


@dataclass(frozen=True)
class Passing:
    """One partition of ``pages``: ``border`` is where the new generation begins to write, ``behind`` how many pages it
    has still to count before. ``old`` and ``new`` are the commits of their groups."""

    partition: int
    border: int
    behind: int
    old: Committed
    new: Committed


def refuse_running(generation: Generation) -> None:
    """Check that no worker runs, so that nothing moves during the look.

    Raises:
        Refused: some do.
    """
    if workers := generation.groups.workers():
        raise Refused(f"{running(workers, f' of {generation.shown}')}: {STOP_ALL}")


def running(workers: Sequence[str], whose: str = "") -> str:
    """The beginning of a sentence that names the workers that run."""
    named = ", ".join(workers[:SHOWN]) + (", …" if len(workers) > SHOWN else "")
    count = f"{len(workers)} workers{whose} are" if len(workers) > 1 else f"a worker{whose} is"
    return f"{count} running ({named})"


def consumed_offset(groups: Groups, partition: int) -> Committed | None:
    """The consumed offset of a partition of ``pages``; None if there is none.

    Raises:
        Unavailable: a transaction is pending on it.
    """
    try:
        return groups.committed(partition)
    except NotYet as error:
        raise Unavailable(
            f"a transaction of a worker that was killed is still open on partition {partition} of {PAGES}: wait for "
            "kafka.transaction_timeout_seconds and run the same command again"
        ) from error


def consumed(generation: Generation, partition: int) -> tuple[Committed, Note]:
    """The consumed offset and its note.

    Raises:
        Unavailable: a transaction is pending on it.
        Refused: there is none.
    """
    found = consumed_offset(generation.groups, partition)
    if found is None:
        raise Refused(
            f"{generation.shown} has no consumed offset for partition {partition} of {PAGES}: start its workers with a "
            f"topics.partitions of {partition + 1} or more, wait until they own all partitions, stop them with "
            "SIGTERM, and run the same command again"
        )
    return found, Note.from_metadata(found.metadata, f"partition {partition} of {PAGES} in {generation.shown}")


def refuse_given(generation: Generation, note: Note, to: str) -> None:
    """Check that a copy of this generation to the one called ``to`` is the only one that goes on from here.

    Raises:
        Refused: the outputs were given to another one.
    """
    if note.successor not in (None, to):
        raise Refused(
            f"{generation.shown} has given the outputs to topics.generation={note.successor!r}: start the workers of "
            "that one. If a copy to it broke off: delete its topics, and copy to that name again"
        )


def plan_switch(old: Generation, new: Generation, partitions: Iterable[int]) -> list[Passing]:
    """The commits that a switch would make, partition by partition; changes nothing.

    Raises:
        Refused: workers are running, the old generation does not write, or the new one has gone too far.
        Unavailable: a transaction is pending.
    """
    if old.name == new.name:
        raise Refused(
            f"the outputs cannot pass from {old.shown} to itself: name the generation that writes them now with "
            "--from, and the new one in topics.generation"
        )
    refuse_running(old)
    refuse_running(new)
    return [_passing(old, new, partition) for partition in partitions]


def switch(old: Generation, new: Generation, passings: Sequence[Passing]) -> None:
    """Steps 3 and 4."""
    old.groups.commit({passing.partition: passing.old for passing in passings})
    new.groups.commit({passing.partition: passing.new for passing in passings})


def _passing(old: Generation, new: Generation, partition: int) -> Passing:
    ended, ended_note = consumed(old, partition)
    begun, begun_note = consumed(new, partition)
    border = ended.offset
    where = f"partition {partition} of {PAGES}"
    if ended_note.written_from > border or ended_note.successor not in (None, new.name):
        raise Refused(
            f"{old.shown} does not write the pages of {where} at offset {border}: name the generation that does with "
            "--from, or wait until this one has come that far"
        )
    done = begun_note == begun_note._replace(written_from=border, successor=None)
    if not (begun_note.counts or done):
        raise Refused(
            f"{new.shown} has written pages of {where} up to offset {begun.offset}: only a generation that was "
            "counting (output.mode=count) can go on where another ends. Give the new settings a topics.generation of "
            "their own"
        )
    if begun.offset > border:
        raise Refused(
            f"{new.shown} has counted the pages of {where} up to offset {begun.offset}, {old.shown} has written them "
            f"up to {border}: start the workers of the old one again, wait until they have passed {begun.offset}, "
            "stop them with SIGTERM, and run the same command again"
        )
    return Passing(
        partition,
        border,
        border - begun.offset,
        Committed(border, ended_note._replace(successor=new.name).to_metadata()),
        Committed(begun.offset, Note(begun_note.point, border).to_metadata()),
    )
