"""The demo's progress and what it waits for: bars and a clock on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

from worker.demo.expected_counts import OUTCOMES
from worker.observe.scrape import WorkerShare

if TYPE_CHECKING:
    from rich.console import Console

SECONDS_BETWEEN_LINES: Final = 2.0
SECONDS_BETWEEN_WAITS: Final = 5.0


@dataclass(frozen=True)
class Stations:
    """Pages that have passed each station: fetched by the spider, on the topic, claimed by a worker, committed.

    ``shares`` maps the worker's name to what it owns.
    """

    crawled: int = 0
    published: int = 0
    claimed: int = 0
    committed: Mapping[str, int] = field(default_factory=dict)
    shares: Mapping[str, WorkerShare] = field(default_factory=dict)

    @property
    def total_committed(self) -> int:
        """Pages with an outcome that readers of committed records see."""
        return sum(self.committed.values())

    @property
    def owners(self) -> list[str]:
        """A line for each worker: its shards and partitions."""
        lines = []
        for name, share in self.shares.items():
            shards, partitions = (" ".join(map(str, owned)) or "none" for owned in share[:2])
            lines.append(f"{name} owns shards {shards} of the index, partitions {partitions} of pages")
        return lines

    @property
    def outcomes(self) -> str:
        """Committed pages by outcome."""
        return ", ".join(f"{self.committed.get(outcome, 0)} {outcome}" for outcome in OUTCOMES)

    def __str__(self) -> str:
        stations = f"{self.crawled} crawled, {self.published} published, {self.claimed} claimed"
        return f"{stations}, {self.total_committed} committed: {self.outcomes}"


@contextmanager
def waiting(
    console: Console, what: str, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[str], None]]:
    """Shows what is waited for, and gets the progress as often as the caller likes."""
    began = told = clock()
    console.print(what)
    status = console.status("") if console.is_terminal else nullcontext()

    def tell(how_far: str) -> None:
        nonlocal told
        now = clock()
        line = f"{now - began:.0f} s so far{how_far and f', {how_far}'}"
        if not isinstance(status, nullcontext):
            status.update(line)
        elif now - told >= SECONDS_BETWEEN_WAITS:
            told = now
            console.print(f"  {line}")

    with status:
        yield tell


class Progress:
    """Shows ``Stations`` from when it is entered until it is left. ``total`` pages are expected."""

    def __init__(self, console: Console, total: int) -> None:
        from rich.console import Group
        from rich.live import Live
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars
        from rich.text import Text

        self._console = console
        self._last = self._shown = Stations()
        self._shown_at: float | None = None
        self._owners: list[str] = []
        self._bars = Bars(
            TextColumn("{task.description:>9}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
        )
        self._outcomes = Text()
        self._live = Live(Group(self._bars, self._outcomes), console=console)
        self._tasks = {
            name: self._bars.add_task(name, total=total) for name in ("crawled", "published", "claimed", "committed")
        }

    def show(self, stations: Stations) -> None:
        """Bring it up to date."""
        for name, task in self._tasks.items():
            completed = stations.total_committed if name == "committed" else getattr(stations, name)
            self._bars.update(task, completed=completed)
        self._outcomes.plain = stations.outcomes
        if stations.owners != self._owners:
            self._owners = stations.owners
            self._console.print(*self._owners, sep="\n")
        self._write(stations)

    def _write(self, stations: Stations, *, at_once: bool = False) -> None:
        """A line, where bars make no sense: not too often, and only if something has changed."""
        now = time.monotonic()
        too_early = self._shown_at is not None and now - self._shown_at < SECONDS_BETWEEN_LINES
        self._last = stations
        if self._console.is_terminal or stations == self._shown or (too_early and not at_once):
            return
        self._shown, self._shown_at = stations, now
        self._console.print(str(stations), soft_wrap=True)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()
        if error[0] is None:
            self._write(self._last, at_once=True)
