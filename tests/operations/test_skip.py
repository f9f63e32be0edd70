"""An operator passes over a page that kills every worker that reads it: it becomes a dead letter, in its place in the
order of claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Self

import pytest

from crawler_plugin.wire.errors import Refused, UsageError
from crawler_plugin.wire.page_headers import text_headers
from crawler_plugin.wire.topics import DEAD_LETTERS, FINGERPRINTS
from tests.operations.test_repair import Away, pages
from tests.simulation.checks import everything
from tests.simulation.place import TwinPlace, committed
from tests.stream.script import COMMIT, batch, claim, write
from worker.operations.skip import Spot, skip
from worker.stream.log import Record

A, B, C, D, E = pages(*"abcde")


class Deadly(Exception):
    """An error that ends a worker."""


class Killed(Away):
    """Workers that die of some pages as soon as they parse them."""

    deadly: frozenset[tuple[int, int]] = frozenset()

    def take_over(self) -> None:
        super().take_over()
        for worker in self.workers.values():
            submit = worker.fingerprinting.submit

            def deadly(record: Record, submit: Callable[[Record], None] = submit) -> None:
                if (record.partition, record.offset) in self.deadly:
                    raise Deadly
                submit(record)

            worker.fingerprinting.submit = deadly  # type: ignore[method-assign]

    def dies(self) -> Self:
        """Start workers, which die of a page."""
        with pytest.raises(Deadly):
            self.play(COMMIT)
        self.away()
        return self

    def skip(self, *offsets: int, partition: int = 0) -> Self:
        skip(TwinPlace(self.world), [Spot(partition, offset) for offset in offsets], self.policy)
        return self

    def dead(self) -> Iterator[tuple[str, str, bytes | None, int]]:
        """Source, reason, body and number of headers of each dead letter."""
        for record in everything(self.world, DEAD_LETTERS):
            headers = text_headers(record.headers)
            yield headers["dedup-source"], headers["dedup-reason"], record.value, len(record.headers)


def test_a_deadly_page_is_passed_over_and_all_others_are_judged() -> None:
    stage = Killed()
    stage.deadly = frozenset([(0, 2)])
    stage.play(A, B, COMMIT, C, D).dies().skip(2)
    assert len(stage.back(E)) == 5
    assert list(stage.dead()) == [("0:2", "skipped", None, 3)]
    assert committed(stage.world) == {(0, offset): 1 for offset in range(5)}


def test_several_are_passed_over_one_after_the_other_also_by_one_command() -> None:
    stage = Killed(partitions=2)
    stage.deadly = frozenset([(0, 1), (0, 2), (0, 3)])
    stage.play(A, COMMIT, B, C, D).dies().skip(1).skip(2, 3)
    stage.back(E)
    assert [(source, reason) for source, reason, _, _ in stage.dead()] == [
        ("0:1", "skipped"),
        ("0:2", "skipped"),
        ("0:3", "skipped"),
    ]
    assert set(committed(stage.world).values()) == {1}


def test_the_first_page_of_all_may_be_deadly() -> None:
    stage = Killed()
    stage.deadly = frozenset([(0, 0)])
    stage.play(A, B).dies().skip(0)
    assert len(stage.back()) == 2
    assert [source for source, *_ in stage.dead()] == ["0:0"]


def test_a_page_that_was_skipped_is_not_even_read() -> None:
    stage = Killed()
    stage.deadly = frozenset([(0, 1)])
    stage.play(A, COMMIT, B, C).dies().skip(1)
    stage.take_over()
    started: list[int] = []
    for worker in stage.workers.values():
        group = worker.log.pages()
        start = group.start

        def noted(partition: int, offset: int, start: Callable[[int, int], None] = start) -> None:
            started.append(offset)
            start(partition, offset)

        group.start = noted  # type: ignore[method-assign]
    stage.play(COMMIT)
    assert started == [2]
    assert [source for source, *_ in stage.dead()] == ["0:1"]


def test_only_the_next_page_that_nobody_has_claimed_can_be_skipped() -> None:
    stage = Killed()
    stage.deadly = frozenset([(0, 2)])
    stage.play(A, B, COMMIT, C, D).dies()
    for offset, message in (
        (1, r"page 0:1 is claimed already, like all .* up to offset 1"),
        (3, r"page 0:3 is not the next one .* and 2 is next\. Give --skip 0:2 first"),
        (4, r"pages holds offsets 0 to 3, and no page 0:4"),
    ):
        with pytest.raises(UsageError, match=message):
            stage.skip(offset)
    end = stage.world.topics[FINGERPRINTS, 0].end
    with pytest.raises(UsageError, match="no page 0:4"):
        stage.skip(2, 3, 4)
    assert stage.world.topics[FINGERPRINTS, 0].end == end, "nothing was written"


def test_claims_of_another_scheme_and_records_of_nobody_are_not_counted() -> None:
    stage = Killed()
    stage.deadly = frozenset([(0, 1)])
    stage.play(A, COMMIT, B, C).dies()
    write(stage.world, batch(claim(7), scheme=b"another!"))
    write(stage.world, b"torn", FINGERPRINTS)
    stage.skip(1)
    stage.back()
    assert [source for source, *_ in stage.dead()] == ["0:1"]


def test_nothing_is_skipped_while_workers_run_or_before_any_has_come() -> None:
    stage = Killed().play(A, COMMIT, B)
    with pytest.raises(Refused, match=r"(is|are) running \("):
        skip(TwinPlace(stage.world), [Spot(0, 1)], stage.policy)
    stage = Killed()
    stage.play(A).away()
    stage.world.committed.clear()
    with pytest.raises(Refused, match="no consumed offset"):
        skip(TwinPlace(stage.world), [Spot(0, 0)], stage.policy)
