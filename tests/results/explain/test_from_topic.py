"""The latest record of each page on the topic."""

from __future__ import annotations

import pytest

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.page_headers import PageMeta
from tests.simulation.memory_log import World
from tests.simulation.place import TwinPlace
from worker.results.explain.from_topic import _page, newest_pages

ONE, OTHER = "http://a.example/", "http://b.example/"


def publish(world: World, partition: int, url: str, body: bytes, timestamp: int) -> None:
    world.publish(partition, url.encode(), body, tuple(PageMeta(url=url).to_headers()), timestamp)


def test_the_page_that_came_last_counts_and_no_more_is_read_than_was_asked_for() -> None:
    world = World(partitions=2, shards=1)
    told: list[tuple[int, int]] = []
    publish(world, 0, ONE, b"first", 1)
    publish(world, 1, OTHER, b"other", 2)
    publish(world, 0, ONE, b"second", 3)
    for number in range(20):
        publish(world, 0, f"http://c.example/{number}", b"between", 4)
    all_of_it = newest_pages(TwinPlace(world), 2, {ONE, OTHER}, 100, lambda *pair: told.append(pair))
    assert {url: record.value for url, record in all_of_it.items()} == {ONE: b"second", OTHER: b"other"}
    assert told[-1] == (23, 23)
    assert [passed for passed, _ in told] == sorted(passed for passed, _ in told)
    last = newest_pages(TwinPlace(world), 2, {ONE, OTHER}, 20, lambda *pair: None)
    assert set(last) == {OTHER}


def test_a_page_is_found_however_its_spider_has_spelled_its_url() -> None:
    world = World(partitions=1, shards=1)
    world.publish(0, b"http://A.example:80", b"old", tuple(PageMeta(url="HTTP://a.example:80/#x").to_headers()), 1)
    world.publish(0, b"http://B.example", b"keyed", (), 1)
    world.publish(0, b"\xff", b"odd", (), 1)
    found = newest_pages(TwinPlace(world), 1, {ONE, OTHER}, 5, lambda *pair: None)
    assert {url: record.value for url, record in found.items()} == {ONE: b"old", OTHER: b"keyed"}


def test_a_page_that_is_not_there_or_none_is_said_with_the_next_move() -> None:
    world = World(partitions=1, shards=1)
    world.publish(0, ONE.encode(), None, (), 1)
    found = newest_pages(TwinPlace(world), 1, {ONE}, 5, lambda *pair: None)
    with pytest.raises(UsageError, match=r"dedup\.pages\[0\] at offset 0 is no page: it has no body"):
        _page(ONE, found[ONE], "dedup.pages", 5)
    with pytest.raises(UsageError, match="not among the last 5 records of each partition"):
        _page(OTHER, None, "dedup.pages", 5)
