"""The parts that look at a running crawl: the site's server, metrics by HTTP, child processes, progress and tables."""

from __future__ import annotations

import io
import json
import signal
import socket
from collections import Counter
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from rich.console import Console

from tests.demo.test_expected_counts import FIRST_VISITS, judged, reckoned
from worker.config import KafkaSettings
from worker.demo import tables
from worker.demo.children import DemoProcess
from worker.demo.progress import Progress, Stations
from worker.demo.scrape import (
    CLAIMED,
    COMMITTED,
    PARTITION_STATE,
    SHARD_STATE,
    SURVIVORS,
    WorkerShare,
    are_shared_out,
    is_ready,
    samples,
    scrape,
    share_of,
)
from worker.demo.server import SiteServer
from worker.demo.site import PageKind, SitePage
from worker.demo.watching import Watching
from worker.errors import Unavailable
from worker.messages import PageMeta, VerdictRecord
from worker.observe.catalogue import CATALOGUE
from worker.observe.health import Health, HealthServer
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.publish import publish_pages
from worker.stream.kafka.topic_admin import create_topics
from worker.topics import topic_specs


def get(url: str) -> tuple[int, str | None, bytes]:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=30)
    try:
        connection.request("GET", parts._replace(scheme="", netloc="").geturl())
        response = connection.getresponse()
        return response.status, response.getheader("Content-Type"), response.read()
    finally:
        connection.close()


def test_every_page_is_served_as_it_is_and_counted() -> None:
    with SiteServer() as server:
        for page in server.site.pages:
            assert get(page.url) == (200, page.content_type, page.body)
        assert get(server.site.start + "nowhere")[0] == 404
        assert server.served == len(server.site.pages)
        port = urlsplit(server.site.start).port
    with socket.socket() as connection:
        assert connection.connect_ex(("127.0.0.1", port)) != 0


def showing(exposition: str) -> HealthServer:
    """What Prometheus would read at a worker's address."""
    exposes = SimpleNamespace(health=Health(), exposition=lambda accept: (exposition.encode(), "text/plain"))
    return HealthServer(exposes, "127.0.0.1", 0)


def test_metrics_are_summed_over_labels_and_workers_and_a_silent_worker_counts_nothing() -> None:
    with (
        showing('# TYPE x counter\nx_total{a="1"} 2.0\nx_total{a="2"} 3.0\nx_created 1.7e+09\n') as one,
        showing('x_total{a="1"} 4.0\n') as other,
        socket.socket() as taken,
    ):
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else gets the port, and nobody answers
        silent = f"http://127.0.0.1:{taken.getsockname()[1]}/metrics"
        addresses = [f"{one.address}/metrics", silent, f"{other.address}/metrics"]
        assert scrape(addresses) == Counter({"x_total": 9, "x_created": 1_700_000_000})
        assert scrape([silent]) == Counter()
        assert share_of(samples(silent)) == WorkerShare()
        assert not is_ready(silent)


def test_a_worker_is_ready_when_its_readyz_says_so() -> None:
    health = Health()
    exposes = SimpleNamespace(health=health, exposition=lambda accept: (b"", ""))
    with HealthServer(exposes, "127.0.0.1", 0) as server:
        assert not is_ready(f"{server.address}/metrics")
        health.report([])
        health.heard()
        assert is_ready(f"{server.address}/metrics")


def test_the_metrics_that_are_read_are_declared() -> None:
    names = {metric.name for metric in CATALOGUE}
    assert {CLAIMED.removesuffix("_sum"), COMMITTED, SHARD_STATE, PARTITION_STATE, SURVIVORS} <= names


def test_a_share_is_what_a_worker_does_its_work_for() -> None:
    shown = """# TYPE dedup_shard_state gauge
dedup_shard_state{shard="10",state="answering"} 1.0
dedup_shard_state{shard="10",state="restoring"} 0.0
dedup_shard_state{shard="9",state="answering"} 1.0
dedup_shard_state{shard="3",state="answering"} 0.0
dedup_shard_state{shard="3",state="restoring"} 1.0
dedup_partition_state{partition="4",state="claiming"} 1.0
dedup_partition_state{partition="5",state="locating"} 1.0
dedup_index_entries{shard="10"} 30.0
dedup_index_entries{shard="9"} 12.0
dedup_pages_total{outcome="unique",language="zh"} 5.0
dedup_pages_total{outcome="duplicate",language="zh"} 2.0
"""
    with showing(shown) as server:
        assert share_of(samples(f"{server.address}/metrics")) == WorkerShare((9, 10), (4,), survivors=42, committed=7)


@pytest.mark.parametrize(
    ("shares", "shared_out"),
    [
        ([WorkerShare((0, 1), (0, 1))], True),
        ([WorkerShare((0,), (1,)), WorkerShare((1,), (0,))], True),
        ([WorkerShare((0, 1), (0, 1)), WorkerShare()], False),
        ([WorkerShare((0, 1), (0,)), WorkerShare((), (1,))], False),
        ([WorkerShare((0, 1), (0,)), WorkerShare((1,), (1,))], False),
        ([WorkerShare((0,), (0, 1))], False),
        ([], False),
    ],
)
def test_all_is_shared_out_when_each_has_one_owner_and_no_worker_none(
    shares: list[WorkerShare], shared_out: bool
) -> None:
    assert are_shared_out(shares, shards=2, partitions=2) is shared_out


@pytest.fixture
def module_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of modules that a child can run."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def test_a_child_sees_no_settings_of_ours_and_says_what_it_printed(
    module_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEDUP_NEAR__K", "0")
    (module_folder / "child_says.py").write_text(
        "import json, os, sys, worker\nprint('found:', json.dumps([dict(os.environ), sys.argv[1:]]))\nsys.exit(3)\n"
    )
    with DemoProcess("a child", "child_says", ["one"], module_folder) as child:
        assert child._process.wait(60) == 3
    environment, arguments = json.loads(child.find("found: ") or "")
    assert not [name for name in environment if name.startswith("DEDUP_")]
    assert arguments == ["one"]
    assert child.find("lost: ") is None
    assert "found: " in child.last_lines()


def test_a_child_is_ended_with_its_block(module_folder: Path) -> None:
    (module_folder / "child_waits.py").write_text("import signal\nprint('waiting', flush=True)\nsignal.pause()\n")
    with DemoProcess("child", "child_waits", [], module_folder) as child:
        assert child.status is None
    assert child.status == -signal.SIGTERM


def test_off_a_terminal_progress_is_lines_and_the_last_one_is_not_repeated() -> None:
    out = io.StringIO()
    with Progress(Console(file=out, width=200), 9) as progress:
        progress.show(Stations(crawled=1))
        progress.show(Stations(crawled=1))
        progress.show(Stations(crawled=9, published=9, claimed=9, committed={"unique": 8, "refetch": 1}))
    lines = out.getvalue().splitlines()
    assert lines == [
        "1 crawled, 0 published, 0 claimed, 0 committed: 0 unique, 0 duplicate, 0 refetch, 0 dead letter",
        "9 crawled, 9 published, 9 claimed, 9 committed: 8 unique, 0 duplicate, 1 refetch, 0 dead letter",
    ]


def test_owners_are_told_when_they_change_and_not_when_their_counts_do() -> None:
    out = io.StringIO()
    with Progress(Console(file=out, width=200), 9) as progress:
        progress.show(Stations(shares={"worker 1": WorkerShare((0, 1), (0,))}))
        progress.show(Stations(shares={"worker 1": WorkerShare((0, 1), (0,), survivors=3, committed=4)}))
        progress.show(Stations(shares={"worker 1": WorkerShare((0,), ()), "worker 2": WorkerShare((1,), (0,))}))
    assert [line for line in out.getvalue().splitlines() if "owns" in line] == [
        "worker 1 owns shards 0 1 of the index, partitions 0 of pages",
        "worker 1 owns shards 0 of the index, partitions none of pages",
        "worker 2 owns shards 1 of the index, partitions 0 of pages",
    ]


def test_on_a_terminal_progress_is_bars() -> None:
    out = io.StringIO()
    with Progress(Console(file=out, width=200, force_terminal=True), 9) as progress:
        progress.show(Stations(crawled=9, published=9, claimed=9, committed={"unique": 8, "refetch": 1}))
    assert "9/9" in out.getvalue()
    assert "8 unique, 0 duplicate, 1 refetch" in out.getvalue()


def test_examples_are_of_every_kind_and_show_where_two_texts_part() -> None:
    expected = reckoned(judged(FIRST_VISITS))
    found = tables.examples(expected)
    assert [kind for _, page, original in found for kind in [tables._shows(page, original)]] == list(tables.EXAMPLES)
    assert len({page.group for _, page, _ in found}) == len(found)
    verdict, page, original = next(example for example in found if example[1].kind is PageKind.REPOST)

    def text_of(side: SitePage) -> str:
        return "all the same until " + ("here" if side is page else "there") + " and after it again " * 9

    heading, a, b = tables.example(verdict, page, original, text_of)
    assert f"{page.url} (repost) duplicates {original.url}" in heading
    assert " until here and" in a
    assert " until there and" in b


def test_a_pair_without_distance_and_equal_texts_is_shown_from_the_beginning() -> None:
    verdict, page, original = next(
        pair for pair in tables.examples(reckoned(judged(FIRST_VISITS))) if pair[1].kind is PageKind.SHORT
    )
    bare = VerdictRecord(**{name: getattr(verdict, name) for name in verdict.__struct_fields__} | {"distance": None})
    heading, a, b = tables.example(bare, page, original, lambda side: "Moved.")
    assert "distance" not in heading
    assert (a, b) == ("  A  Moved.", "  B  Moved.")


def test_the_table_of_owners_adds_up_what_their_shards_hold() -> None:
    out = io.StringIO()
    shares = {"worker 1": WorkerShare((0, 2), (1,), 20, 5), "worker 2": WorkerShare((1,), (0,), 22, 4)}
    Console(file=out, width=120).print(tables.owners(shares))
    rows = [line.replace("│", " ").split() for line in out.getvalue().splitlines()]
    assert ["worker", "1", "0", "2", "20", "1", "5"] in rows
    assert ["42", "9"] in rows


def test_tables_show_each_section_and_outcome() -> None:
    expected = reckoned(judged(FIRST_VISITS))
    out = io.StringIO()
    console = Console(file=out, width=120)
    console.print(tables.sums(expected), tables.sections(expected))
    for section in expected.by_section():
        assert section in out.getvalue()
    assert str(expected.outcomes["duplicate"]) in out.getvalue()


@pytest.mark.cluster
def test_a_worker_that_ends_and_a_crawl_that_stands_still_are_told_with_what_they_said(
    broker: str, topic_prefix: str, module_folder: Path
) -> None:
    options = client_options(KafkaSettings(bootstrap_servers=broker))
    create_topics(options, topic_specs(prefix=topic_prefix, partitions=1, shards=1), 1)
    (module_folder / "child_waits.py").write_text("import signal\nprint('spider waits', flush=True)\nsignal.pause()\n")
    (module_folder / "child_fails.py").write_text("raise SystemExit('scheme mismatch')\n")
    with (
        SiteServer() as site,
        DemoProcess("spider", "child_waits", [], module_folder) as spider,
        DemoProcess("worker 1", "child_fails", [], module_folder) as failing,
        Watching(options, topic_prefix, site, spider, []) as without_worker,
        Watching(options, topic_prefix, site, spider, [failing]) as with_worker,
    ):
        publish_pages(options, topic_prefix, [(PageMeta(url=site.site.start), b"")])
        without_worker.look(0)
        assert without_worker.stations == Stations(published=1)
        assert not without_worker.is_over
        without_worker.check(60)
        while spider.find("spider waits") is None:
            without_worker.look(0.1)
        with pytest.raises(Unavailable, match=r"(?s)nothing has moved .*1 published.*spider waits"):
            without_worker.check(0)
        failing._process.wait(60)
        with pytest.raises(Unavailable, match=r"(?s)worker 1 ended with exit status 1.*scheme mismatch"):
            with_worker.check(60)
