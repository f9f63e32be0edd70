"""A page that was called a duplicate goes to ``pages`` once more, as it came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from crawler_plugin.wire.errors import CheckFailed
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.page_headers import Headers
from crawler_plugin.wire.topics import PAGES
from tests.simulation.memory_log import World
from tests.simulation.place import TwinPlace
from worker.operations.pardon import last_duplicate, send_again

URL = "http://b.example/"
HEADERS = [("url", b"HTTP://B.example"), ("theirs", b"\xff"), ("dedup-store", b"no"), ("fetched", b"5")]


def verdict(offset: int = 1, outcome: str = "duplicate", batch: int = 0, **fields: object) -> Verdict:
    said: dict[str, object] = {"duplicate_of": "http://a.example/", "reason": "hamming", **fields}
    return Verdict(url=URL, verdict=outcome, order=(batch, 0), source=(1, offset), **said)  # type: ignore[arg-type]


def world_with(headers: Headers, key: bytes | None = b"b", value: bytes | None = b"body") -> World:
    """Offset 1 of partition 1 is the page."""
    world = World(partitions=2, shards=1)
    world.publish(1, b"a", b"another", [("url", b"http://a.example/")])
    world.publish(1, key, value, headers)  # type: ignore[arg-type]
    return world


@pytest.mark.parametrize("mark", [[], [("dedup-pardon", b"no")], [("dedup-pardon", b"yes")]], ids=str)
def test_the_page_stands_there_once_more_as_it_came_and_with_a_header(mark: list[tuple[str, bytes]]) -> None:
    world = world_with(HEADERS + mark)
    assert send_again(TwinPlace(world), verdict(), "run") == (1, 2)
    _, first, again = world.topics[PAGES, 1].records
    assert (again.key, again.value) == (first.key, first.value) == (b"b", b"body")
    assert again.headers == [*HEADERS, ("dedup-pardon", b"yes")]
    assert not world.topics[PAGES, 0].records


def test_its_place_is_told_although_others_come_at_the_same_moment() -> None:
    class Busy(TwinPlace):
        def write(self, records: Any) -> None:
            self.world.publish(1, b"b", b"body", HEADERS)
            super().write(records)
            self.world.publish(1, b"c", b"body", HEADERS)

    world = world_with(HEADERS)
    assert send_again(Busy(world), verdict(), "run") == (1, 3)


def begins_later(world: World) -> None:
    world.topics[PAGES, 1].begin = 2


def is_other(world: World) -> None:
    partition = world.topics[PAGES, 1]
    partition.records[1] = partition.records[1]._replace(headers=[("url", b"http://c.example/")])


def is_emptied(world: World) -> None:
    partition = world.topics[PAGES, 1]
    partition.records[1] = partition.records[1]._replace(value=None)


@pytest.mark.parametrize("lost", [begins_later, is_other, is_emptied])
def test_what_is_not_there_any_more_is_to_be_fetched_again(lost: Callable[[World], None]) -> None:
    world = world_with(HEADERS)
    lost(world)
    with pytest.raises(CheckFailed, match=r"pages does not hold page 1:1 any more .*fetch it again with dedup_pardon"):
        send_again(TwinPlace(world), verdict(), "run")
    with pytest.raises(CheckFailed, match="1:9"):
        send_again(TwinPlace(world), verdict(9), "run")
    assert world.topics[PAGES, 1].end == 2


def test_the_last_verdict_by_the_order_of_pages_counts() -> None:
    last = verdict(5, batch=8)
    assert last_duplicate(URL, [verdict(2, "unique", 7), last, verdict(3, "refetch", 3)]) is last


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([], "no verdict on http://b.example/, or none any more: check the spelling and --spider, or fetch it again"),
        ([verdict(), verdict(4, "unique", 2, spider="news")], r"page 1:4 of spider news, is unique \(hamming\)"),
        ([verdict(3, "refetch", 2)], "is refetch .*nothing to pardon.*name it with --spider"),
    ],
)
def test_what_is_no_duplicate_is_not_pardoned(found: list[Verdict], said: str) -> None:
    with pytest.raises(CheckFailed, match=said):
        last_duplicate(URL, found)
