"""Pages are counted by host and by crawl, whatever values come from outside."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal

import pytest

from crawler_plugin.wire.messages import Hit
from tests.observe.exposed import INFO, series
from tests.stream.script import claim
from worker.observe.metrics import Metrics
from worker.observe.origins import CRAWLS, TRAPS, HostTable, crawl_of, host_of, hosts_json, section_of
from worker.stream.log import Record
from worker.verdict.decide import Decision


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://example.com/", "example.com"),
        ("http://example.com", "example.com"),
        ("https://example.com:8443/a/b", "example.com:8443"),
        ("https://user:secret@example.com/a@b", "example.com"),
        ("http://example.com?q=http://other.example/", "example.com"),
        ("http://[2001:db8::1]:80/", "[2001:db8::1]:80"),
        ("http://xn--fiqs8s.example/页", "xn--fiqs8s.example"),
        ("http://新闻.example/", "新闻.example"),
        ("file:///etc/hosts", "none"),
        ("no url", "none"),
        ("", "none"),
        (f"http://{'a' * 300}/", "a" * 253),
    ],
)
def test_a_pages_host(url: str, host: str) -> None:
    assert host_of(url) == host


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([("spider", b"news"), ("job", b"2026-05-01")], ("news", "2026-05-01")),
        ([("url", b"http://a/"), ("job", b"7")], ("none", "7")),
        ([], ("none", "none")),
        ([("spider", b""), ("job", b"\xff")], ("none", "\N{REPLACEMENT CHARACTER}")),
        ([("spider", b"a" * 5000)], ("a" * 100, "none")),
    ],
)
def test_a_pages_spider_and_crawl(headers: list[tuple[str, bytes]], expected: tuple[str, str]) -> None:
    assert crawl_of(headers) == expected


def committed(
    url: str, outcome: Literal["unique", "duplicate", "refetch"] = "unique", headers: tuple[tuple[str, bytes], ...] = ()
) -> tuple[Record, Decision]:
    original = (
        Hit(place=0, order=(0, 0), url="http://a/", distance=1, reason="hamming") if outcome != "unique" else None
    )
    return Record(0, 0, b"", b"", headers, 0), Decision((0, 0), claim(0, url=url), outcome, "hamming", original)


def numbers(metrics: Metrics, name: str) -> dict[str, float]:
    return {key.partition(" ")[2]: value for key, value in series(metrics).items() if key.split(" ")[0] == name}


def test_pages_of_the_hosts_beyond_the_setting_are_counted_together_and_none_is_lost() -> None:
    metrics = Metrics(INFO, hosts=2)
    urls = ["http://a/1", "http://b/1", "http://c/1", "http://d/1", "http://a/2"]
    metrics.committed([committed(url, "duplicate" if url.endswith("2") else "unique") for url in urls])
    assert numbers(metrics, "dedup_host_pages_total") == {
        "a unique": 1,
        "a duplicate": 1,
        "b unique": 1,
        "other unique": 2,
    }


def test_a_host_that_comes_up_has_a_series_from_then_on_and_the_one_it_displaces_has_none() -> None:
    metrics = Metrics(INFO, hosts=1)
    metrics.committed([committed("http://a/"), *(committed(f"http://b/{number}") for number in range(5))])
    assert numbers(metrics, "dedup_host_pages_total") == {"b unique": 3, "other unique": 2}


def test_0_hosts_are_no_series_and_still_the_whole_table() -> None:
    metrics = Metrics(INFO, hosts=0)
    metrics.committed([committed("http://a/"), committed("http://a/2", "duplicate")])
    assert numbers(metrics, "dedup_host_pages_total") == {}
    assert json.loads(metrics.hosts()) == {
        "hosts": [{"host": "a", "pages": 2, "unique": 1, "duplicate": 1, "refetch": 0, "dead": 0}]
    }


def test_pages_are_counted_by_spider_and_crawl() -> None:
    metrics = Metrics(INFO)
    headers = (("spider", b"news"), ("job", b"may"))
    metrics.committed([committed("http://a/", headers=headers), committed("http://b/", "duplicate", headers)])
    metrics.committed([committed("http://c/")])
    assert numbers(metrics, "dedup_crawl_pages_total") == {
        "news may unique": 1,
        "news may duplicate": 1,
        "none none unique": 1,
    }


def test_crawls_without_end_fill_no_memory_and_the_latest_has_a_name() -> None:
    clock = Clock()
    metrics = Metrics(INFO, now=clock)
    for day in range(5 * CRAWLS):
        clock.now = day * 86400.0
        headers = (("spider", b"news"), ("job", str(day).encode()))
        metrics.committed([committed("http://a/", headers=headers) for _ in range(10)])
    named = numbers(metrics, "dedup_crawl_pages_total")
    assert len(named) <= CRAWLS + 1
    assert f"news {5 * CRAWLS - 1} unique" in named


class Clock:
    """Shows the time to which it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def rows(table: HostTable) -> Iterator[tuple[str, int]]:
    for row in json.loads(hosts_json(table.copy()))["hosts"]:
        yield row["host"], row["pages"]


def test_the_table_begins_with_the_largest_and_counts_what_is_too_many_together() -> None:
    table = HostTable(most=2)
    for host in ("a", "b", "b", "c", "d", "d"):
        table.count(host, "unique")
    assert list(rows(table)) == [("other", 3), ("b", 2), ("a", 1)]


@pytest.mark.parametrize(
    ("url", "section"),
    [
        ("http://news.example/", "news.example/"),
        ("http://news.example", "news.example/"),
        ("http://news.example/print/2026/05", "news.example/print"),
        ("http://news.example/item12.html?sid=3", "news.example/item#.html"),
        ("https://u:p@news.example:81/2026/x", "news.example:81/#"),
        ("http://news.example?sid=3/4", "news.example/"),
        (f"http://news.example/{'a' * 200}/b", f"news.example/{'a' * 100}"),
    ],
)
def test_a_pages_section(url: str, section: str) -> None:
    assert section_of(host_of(url), url) == section


def crawled(metrics: Metrics, pages: int) -> None:
    """A thousand hosts with one duplicate in three, and one small trap; a third of a larger host is a trap."""
    for number in range(pages):
        metrics.committed(
            [
                committed(f"http://h{number % 1000}.example/{number}", "duplicate" if number % 3 == 0 else "unique"),
                *([committed(f"http://trap.example/{number}", "duplicate")] if number % 100 == 0 else []),
                *([committed(f"http://h1.example/print/{number}", "duplicate")] if number % 100 == 0 else []),
            ]
        )


def test_a_trap_among_a_thousand_hosts_has_a_series_although_all_others_bring_as_many_pages() -> None:
    metrics = Metrics(INFO, hosts=50)
    crawled(metrics, 10_000)
    hosts, sections = numbers(metrics, "dedup_host_pages_total"), numbers(metrics, "dedup_section_pages_total")
    assert hosts["trap.example duplicate"] >= 70
    assert len({key.split(" ")[0] for key in hosts}) <= 50 + TRAPS + 1
    assert sum(hosts.values()) <= 10_200, "each page once"
    assert {"trap.example/# duplicate", "h1.example/print duplicate"} == sections.keys()


def test_a_trap_that_ends_loses_its_series_unless_the_host_is_one_of_the_largest() -> None:
    for largest, kept in ((0, False), (100, True)):
        metrics = Metrics(INFO, hosts=1)
        metrics.committed([committed(f"http://large.example/{number}") for number in range(100 - largest)])
        metrics.committed([committed(f"http://trap.example/{number}", "duplicate") for number in range(40)])
        assert numbers(metrics, "dedup_host_pages_total")["trap.example duplicate"] > 0
        metrics.committed([committed(f"http://trap.example/{number}") for number in range(40)])
        assert ("trap.example unique" in numbers(metrics, "dedup_host_pages_total")) == kept
        assert numbers(metrics, "dedup_section_pages_total") == {}


def test_pages_without_a_host_and_those_fetched_again_are_no_trap() -> None:
    metrics = Metrics(INFO, hosts=1)
    metrics.committed([committed("http://large.example/") for _ in range(200)])
    metrics.committed([committed("file:///etc/hosts", "duplicate") for _ in range(90)])
    metrics.committed([committed("http://again.example/", "refetch") for _ in range(90)])
    assert numbers(metrics, "dedup_host_pages_total").keys() == {
        "large.example unique",
        "other duplicate",
        "other refetch",
    }
    assert numbers(metrics, "dedup_section_pages_total") == {}
