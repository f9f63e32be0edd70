"""``pages`` gets more partitions while workers run; the workers' setting follows later, one worker after the other."""

from __future__ import annotations

import random
from collections.abc import Callable

from crawler_plugin.wire.topics import PAGES
from tests.simulation.mishaps import crash
from tests.simulation.mutations.mutation import replaced
from tests.simulation.scale import SMALL, Scale
from tests.simulation.schedule import Schedule
from worker.stream.shard import restore

MOST = 3
"""The most partitions that are added."""


class Growing(Schedule):
    """A schedule in which pages go to partitions that not all workers claim, and pages of one URL go to several
    partitions.

    An operator gives ``pages`` more partitions, later the outputs too, and starts workers with another setting,
    sometimes with a lower one. Since everything else may happen in between, workers with several settings run side by
    side, are killed and take over from each other.
    """

    def __init__(self, seed: int, scale: Scale = SMALL) -> None:
        super().__init__(seed, scale)
        self.operator = random.Random(f"operator {seed}")
        self.most = self.world.partitions + MOST
        self.next: Schedule | None = None
        """The generation alongside it, over the same pages."""

    def moves(self) -> list[tuple[float, Callable[[], None]]]:
        return [*super().moves(), (2, self.grow), (3, self._set), (4, self._restart)]

    def grow(self) -> None:
        number = self.world.partitions
        if number == self.most:
            return
        self.world.partitions += 1
        self.rebalance(PAGES)
        if self.next is not None:
            self.next.world.topics[PAGES, number] = self.world.topics[PAGES, number]
            self.next.world.partitions = self.next.world.outputs = self.next.setting = number + 1

    def _set(self) -> None:
        """Let workers that start from now on claim this many partitions, and give the outputs as many."""
        there = self.world.partitions
        self._follow(self.operator.choice((there, there, self.operator.randint(1, there))))

    def _follow(self, setting: int) -> None:
        self.setting = setting
        self.world.outputs = max(self.world.outputs, setting)

    def _restart(self) -> None:
        crash(self)
        self.start()

    def heal(self) -> None:
        """With the present setting, all pages that it covers are judged; with the right setting the rest."""
        with replaced(restore, "_WAIT", 0.0):
            self.come_to_rest()
        self._follow(self.world.partitions)
        super().heal()

    def come_to_rest(self) -> None:
        """Come to rest with the present setting in all workers."""
        for name, worker in list(self.workers.items()):
            if worker.policy.partitions != self.setting:
                self.retired.append(self.workers.pop(name))
                self.world.crash(name)
                del self.backgrounds[name]
                self.start()
        super().come_to_rest()
