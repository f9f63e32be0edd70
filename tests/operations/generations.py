"""Two generations over the same pages, on the twin."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from crawler_plugin.wire.page_headers import text_headers
from crawler_plugin.wire.topics import DEAD_LETTERS, DEDUPLICATED, PAGES
from tests.operations.test_repair import everybody_dies
from tests.simulation.checks import everything
from tests.simulation.place import TwinPlace
from tests.stream.script import Event, Page, Stage
from worker.operations.switch import Generation
from worker.stream.policy import OutputMode

Source = tuple[int, int]


class Beside(Stage):
    """A stage with a name, perhaps over the pages of another; its workers come and go together."""

    def __init__(self, name: str, pages_of: Stage | None = None, **changes: Any) -> None:
        self.name = name
        self.pages_of = pages_of
        super().__init__(**changes)

    def play(self, *script: Page | Event) -> Beside:
        super().play(*script)
        return self

    def take_over(self) -> None:
        if self.pages_of is not None:
            for number in range(self.world.partitions):
                self.world.topics[PAGES, number] = self.pages_of.world.topics[PAGES, number]
        super().take_over()

    def away(self) -> Beside:
        """End all workers."""
        everybody_dies(self.world, self.workers)
        self.deaf.clear()
        return self

    def back(self, *script: Page | Event, output: OutputMode | None = None) -> Beside:
        """Start a worker, and play the script."""
        if output is not None:
            self.policy = replace(self.policy, output=output)
        self.take_over()
        self.play(*script)
        return self

    @property
    def generation(self) -> Generation:
        return Generation(self.name, TwinPlace(self.world))


def written(*stages: Stage) -> Counter[Source]:
    """How often each page is in the outputs of these generations together, as itself or as a dead letter."""
    found: Counter[Source] = Counter()
    for stage in stages:
        for record in everything(stage.world, DEAD_LETTERS):
            partition, offset = text_headers(record.headers)["dedup-source"].split(":")
            found[int(partition), int(offset)] += 1
        for number in range(stage.world.partitions):
            urls = {record.key: record.offset for record in stage.world.topics[PAGES, number].records}
            for record in stage.world.topics[DEDUPLICATED, number].records:
                found[number, urls[record.key]] += 1
    return found


def every_page(stage: Stage) -> Counter[Source]:
    """Each page once."""
    return Counter(
        (number, offset)
        for number in range(stage.world.partitions)
        for offset in range(stage.world.topics[PAGES, number].end)
    )


def different(*names: str, partition: int = 0) -> list[Page]:
    """Pages as different as their names, a to t."""
    return [Page(f"http://{name}.example/", 0b111 << 3 * (ord(name) - 97), partition=partition) for name in names]
