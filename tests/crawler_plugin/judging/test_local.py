"""Crawls that judge their pages themselves, without Kafka."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest
import scrapy

from tests.crawler_plugin.crawling import DEADLINE_S, Crawl, Ended, Site, crawl, serve
from tests.crawler_plugin.spiders import LOOPS
from tests.local.crawled import WORDS, shop
from tests.processes import children
from tests.waiting import wait_for
from worker.config import Settings
from worker.local import Deduplicator
from worker.stream.shard.memory_limit import OverMemoryLimit

CONFIG: Final = {"page": {"processes": 1}, "index": {"flush_seconds": 0.2}}
QUIET: Final = {"LOG_LEVEL": "INFO"}
SCRAPY: Final = tuple(int(part) for part in scrapy.__version__.split(".")[:2])
JUDGE: Final = b"worker.local.serving"
READER: Final = b"worker.pool.child_main"
HELD: Final = "/held"
"""A page that the site serves last, when the test says so."""


def expect(event: threading.Event) -> None:
    assert event.wait(DEADLINE_S)


def text(number: int) -> str:
    """A text that is near to no other."""
    return " ".join(f"{word}{number}" for word in WORDS)


def page(words: str) -> bytes:
    return f"<html><body><p>{words}</p></body></html>".encode()


def site_of_copies() -> Site:
    """Four pages, each with a copy elsewhere: exact copies of the first two, copies of the others without one word."""
    pages = {f"/page/{number}": page(text(number)) for number in range(4)}
    copies = {f"/copy/{number}": page(text(number).removeprefix(WORDS[0] if number > 1 else "")) for number in range(4)}
    return Site(pages | copies)


@pytest.fixture
def told(tmp_path: Path) -> dict[str, Any]:
    """Settings of a crawl that judges its pages, and writes its items to a file."""
    return settings_of(tmp_path, **CONFIG)


def settings_of(folder: Path, **config: Any) -> dict[str, Any]:
    (folder / "dedup.yaml").write_text(json.dumps(config), encoding="utf-8")
    return {
        "DEDUP_MODE": "local",
        "DEDUP_CONFIG": str(folder / "dedup.yaml"),
        "FEEDS": {str(folder / "items.jsonl"): {"format": "jsonlines", "overwrite": True}},
    }


def items(folder: Path, field: str = "dedup") -> dict[str, Any]:
    """The feed's item for each page."""
    lines = (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()
    return {item["url"]: item.get(field, "untold") for item in map(json.loads, lines)}


def counted(ended: Ended, group: str) -> dict[str, int]:
    return {name.removeprefix(group): count for name, count in ended.dedup.items() if name.startswith(group)}


def judged(state: Path, scratch: Path) -> int:
    """How many pages a state holds while a crawl has it open."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    shutil.copy(state / "index.blocks", scratch)
    with Deduplicator(scratch, Settings.model_validate(CONFIG)) as copy:
        return copy.judged


def test_crawls_tell_items_the_verdict_and_know_what_earlier_ones_saw_however_these_ended(
    tmp_path: Path, told: dict[str, Any]
) -> None:
    state = tmp_path / "crawl" / "dedup"
    reader_hangs, may_end = threading.Event(), threading.Event()
    site = site_of_copies()
    site.pages |= {"/declared": b"%PDF-1.7 no page", HELD: page("the last of all")}
    all_but_last = len(site.pages) - 1
    site.before = lambda number: expect(reader_hangs)
    site.before_page[HELD] = lambda: expect(may_end)
    with serve(site):
        # The process that reads pages hangs: callbacks and requests go on. No other process may use the state at that
        # time.
        first = Crawl(tmp_path, "judged", site.url("/"), told | {"JOBDIR": str(tmp_path / "crawl")})
        wait_for(lambda: len(children(first.pid, JUDGE)) == 1, "the process that judges", pause=0.05)
        (judge,) = children(first.pid, JUDGE)
        wait_for(lambda: len(children(judge, READER)) == 1, "the process that reads pages", pause=0.05)
        (reader,) = children(judge, READER)
        os.kill(reader, signal.SIGSTOP)
        reader_hangs.set()
        wait_for(lambda: len(site.asked) == 1 + len(site.pages), "all requests", pause=0.05)
        assert "Scraped from" not in first.log
        (tmp_path / "second").mkdir()
        refused = crawl(tmp_path / "second", site, "judged", **told, DEDUP_STATE=str(state))
        assert (refused.returncode, refused.stats["finish_reason"]) == (1, "dedup_refused")
        assert f"the state {state} is open already, in process {judge}: close it there" in refused.log
        assert len(site.asked) == 1 + len(site.pages)

        # The process goes on. The crawl is killed when all but the last page are written.
        os.kill(reader, signal.SIGCONT)
        wait_for(lambda: judged(state, tmp_path / "scratch") == all_but_last, "the state to be written", pause=0.1)
        first.send_signal(signal.SIGKILL)
        assert first.end().returncode == -signal.SIGKILL

        # The next crawl knows them. Ctrl-C, which also reaches its judge, stops it before the last page comes.
        stopped = Crawl(tmp_path, "judged", site.url("/"), told | {"DEDUP_STATE": str(state)})
        stopped.wait_for_log(rf"(?s)(Scraped from.*){{{all_but_last}}}")
        for pid in (*children(stopped.pid, JUDGE), stopped.pid):
            os.kill(pid, signal.SIGINT)
        stopped.wait_for_log("Received SIGINT")
        may_end.set()
        ended = stopped.end()
        assert f"holds {all_but_last} judged pages" in ended.log
        assert ended.stats["finish_reason"] == "shutdown"
        assert counted(ended, "verdict/") == {"unique": 1, "duplicate": 4, "refetch": 4, "dead": 1}
        assert ended.dedup["untold"] == 1
        assert "a PageItem takes no verdict: declare the field 'dedup' in it" in ended.log
        found = items(tmp_path)
        assert Counter("untold" if told == "untold" else told["verdict"] for told in found.values()) == Counter(
            unique=1, duplicate=4, refetch=4, untold=1
        )
        for url, verdict in found.items():
            if verdict != "untold" and verdict["verdict"] == "duplicate":
                assert found[verdict["duplicate_of"]]["verdict"] == "refetch"
                assert url[-1] == verdict["duplicate_of"][-1]
                is_equal = url[-1] in "01"
                assert (verdict["reason"] == "exact-text", verdict["distance"] == 0) == (is_equal, is_equal)
                assert (1 if is_equal else 0.7) <= verdict["similarity"] <= 1


def test_what_is_judged_of_captured_responses_decides_on_the_items_that_were_found_on_them(
    tmp_path: Path, told: dict[str, Any]
) -> None:
    with serve(site_of_copies()) as site:
        named = {"DEDUP_FIELDS": {"dedup": "seen"}, "DEDUP_DROPPED": str(tmp_path / "%(spider)s.jl")}
        (tmp_path / "title.jl").write_bytes(b'{"url": "of a crawl that was ki')
        ended = crawl(tmp_path, site, "title", **told, **named, DEDUP_CAPTURE=True, DEDUP_DROP=True)
    of_before, *kept = (tmp_path / "title.jl").read_bytes().splitlines()
    assert of_before == b'{"url": "of a crawl that was ki'
    assert {json.loads(line)["seen"]["verdict"] for line in kept} == {"duplicate"}
    assert len(kept) == 12
    found = items(tmp_path, "seen")
    assert len(found) == 4
    assert {url.rpartition("/")[2] for url in found} == {"0", "1", "2", "3"}
    assert {told["verdict"] for told in found.values()} == {"refetch"}, (
        "the last item of a page comes out of its second fetch"
    )
    assert counted(ended, "verdict/") == {"unique": 5, "duplicate": 8, "refetch": 4}
    dropped = counted(ended, "dropped/")
    assert (dropped["exact-text"], sum(dropped.values())) == (6, 12)
    assert ended.stats["item_scraped_count"] == 12
    assert "only with each other" in ended.log


@pytest.mark.parametrize(
    "loop",
    [
        {},
        {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
        pytest.param(
            {"TWISTED_REACTOR_ENABLED": False},
            marks=pytest.mark.skipif(SCRAPY < (2, 15), reason="Scrapy below 2.15 always has a Twisted reactor"),
        ),
    ],
    ids=["asyncio", "select", "no reactor"],
)
def test_a_crawl_that_is_interrupted_while_its_state_is_opened_makes_no_request_and_closes_in_order(
    tmp_path: Path, told: dict[str, Any], loop: dict[str, Any]
) -> None:
    state = tmp_path / "state"
    with serve(site_of_copies()) as site:
        starting = Crawl(tmp_path, "judged", site.url("/"), told | loop | {"DEDUP_STATE": str(state), **QUIET})
        starting.wait_for_log("pages are compared on this machine")
        if "TWISTED_REACTOR_ENABLED" not in loop:
            starting.wait_for_log(LOOPS)
        starting.send_signal(signal.SIGINT)
        ended = starting.end()
        assert site.asked == []
    assert (ended.returncode, ended.stats["finish_reason"]) == (0, "shutdown")
    assert "Spider closed (shutdown)" in ended.log
    assert "Dumping Scrapy stats" in ended.log
    assert "Traceback" not in ended.log
    with Deduplicator(state, Settings.model_validate(CONFIG)) as free:
        assert free.judged == 0


def test_files_of_copies_are_not_fetched_where_their_items_are_dropped(tmp_path: Path, told: dict[str, Any]) -> None:
    files = {"ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1}, "FILES_STORE": str(tmp_path / "files")}
    addon = {"ADDONS": {"crawler_plugin.Addon": 500}}
    with serve(site_of_copies()) as site:
        ended = crawl(tmp_path, site, "files", **told, **addon, **files, DEDUP_DROP=True)
        fetched = {path for path in site.asked if path.endswith("?file")}
    assert sum(counted(ended, "dropped/").values()) == 4
    assert {site.url(path) for path in fetched} == {f"{url}?file" for url in items(tmp_path)}
    assert len(fetched) == 4


def test_an_item_that_cannot_be_kept_for_later_is_not_dropped(tmp_path: Path, told: dict[str, Any]) -> None:
    with serve(site_of_copies()) as site:
        ended = crawl(tmp_path, site, "judged", **told, DEDUP_DROP=True, DEDUP_DROPPED="/dev/full")
        assert counted(ended, "undropped") == {"": 4}
        assert counted(ended, "dropped/") == {}
        assert ended.stats["item_scraped_count"] == len(items(tmp_path))
        assert "No space left on device): make room there" in ended.log
        nowhere = str(tmp_path / "nowhere" / "dropped.jl")
        refused = crawl(tmp_path, site, "judged", **told, DEDUP_DROP=True, DEDUP_DROPPED=nowhere)
    assert (refused.returncode, refused.stats["finish_reason"]) == (1, "dedup_refused")
    assert "name a file in a folder that exists" in refused.log


def test_a_dry_run_drops_nothing_and_counts_what_it_would_and_items_without_the_field_stay_as_they_are(
    tmp_path: Path, told: dict[str, Any]
) -> None:
    kept = tmp_path / "dropped.jl"
    dry = {"DEDUP_DROP": True, "DEDUP_DROPPED": str(kept), "DEDUP_DRY_RUN": True}
    with serve(site_of_copies()) as site:
        ended = crawl(tmp_path, site, "kinds", **told, **dry)
    assert ended.stats["item_scraped_count"] == 8
    assert counted(ended, "dropped/") == {}
    assert sum(counted(ended, "would_drop/").values()) == 4
    assert ended.log.count("DEDUP_DRY_RUN: would drop a ") == 4
    assert kept.read_bytes() == b""
    assert ended.dedup["untold"] == 8, "of a dict, an Item, a dataclass and an attrs class, each twice"
    assert ended.log.count("takes no verdict: declare the field 'dedup' in it") == 1


def test_items_of_a_shop_that_comes_out_as_one_page_pass(tmp_path: Path, told: dict[str, Any]) -> None:
    with serve(Site({f"/products/{n}": str(page.body).encode() for n, page in enumerate(shop(40))})) as site:
        ended = crawl(tmp_path, site, "site", **told, DEDUP_DROP=True)
    assert counted(ended, "verdict/") == {"unique": 1, "duplicate": 39}
    assert ended.dedup["suspect"] == 20
    assert ended.stats["item_scraped_count"] == 21
    assert sum(counted(ended, "dropped/").values()) == 19


def test_when_the_index_is_full_items_pass_without_a_verdict(tmp_path: Path) -> None:
    config = CONFIG | {"index": {"memory_mb": 9}}
    with Deduplicator(tmp_path / "state", Settings.model_validate(config)) as local, pytest.raises(OverMemoryLimit):
        for number in itertools.count():
            local.judge(f"http://a.example/{number}", text=text(number))
    told = settings_of(tmp_path, **config) | {"DEDUP_STATE": str(tmp_path / "state")}
    with serve(Site({})) as site:
        ended = crawl(tmp_path, site, "many", **told, MANY=500, DEDUP_DROP=True, LOG_LEVEL="INFO")
    found = list(items(tmp_path).values())
    assert len(found) == 500
    unjudged = ended.dedup["unjudged"]
    assert 0 < unjudged == found.count(None)
    assert counted(ended, "verdict/").get("unique", 0) == 500 - unjudged
    assert ended.log.count("the page cannot be judged: the page is not judged") == 1
