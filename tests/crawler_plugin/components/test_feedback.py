"""Decisions on requests on their way out of the queue, and crawls that learn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scrapy import FormRequest, Request, Spider
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.test import get_crawler

from crawler_plugin import FeedbackMiddleware
from crawler_plugin.components.feedback import BEHIND, MARK_KEY
from crawler_plugin.feedback import template_memory
from crawler_plugin.feedback.decision import RequestDecision
from crawler_plugin.feedback.state_file import FILE, Known, read_known
from crawler_plugin.feedback.url_groups import UrlGroups
from tests.cluster.cluster import Cluster
from tests.crawler_plugin.crawling import to_kafka
from tools.crawls.trap_crawl import crawl_again, crawl_traps
from tools.crawls.trap_site import TrapSite

LAST = BEHIND[RequestDecision.POSTPONED]
TRAP = "https://a.example/calendar/{}"
NEWS = "https://a.example/news/{}"


def middleware(**settings: Any) -> FeedbackMiddleware:
    """A middleware that has seen twenty copies of a calendar, and explores nothing."""
    told = {"ADDONS": {"crawler_plugin.Addon": 500}, "DEDUP_FEEDBACK": True, "DEDUP_FEEDBACK_EXPLORE": 1e-12}
    made = FeedbackMiddleware.from_crawler(get_crawler(Spider, told | settings))
    for number in range(20):
        made._learning.memory.learn(TRAP.format(number), "duplicate")
    return made


def counted(made: FeedbackMiddleware) -> dict[str, int]:
    stats = made._delivery._crawler.stats
    assert stats is not None
    return {name.removeprefix("dedup/feedback/"): value for name, value in stats.get_stats().items()}


def test_a_postponed_request_comes_back_behind_all_others_and_passes_then() -> None:
    made = middleware()
    request = Request(TRAP.format(99), priority=3, meta={"depth": 2}, cb_kwargs={"a": 1})
    later = made.process_request(request)
    assert later is not None
    assert (later.priority, later.dont_filter, later.meta["depth"], later.cb_kwargs) == (3 - LAST, True, 2, {"a": 1})
    assert made.process_request(later) is None
    assert later.dont_filter is False, "what a redirect leads to is filtered as ever"
    assert counted(made) == {"postponed": 1}


def test_a_request_waits_doubted_and_postponed_once_each_as_more_becomes_known_and_then_passes() -> None:
    made = middleware()
    for number in range(4):
        assert made.process_request(Request(NEWS.format(number))) is None
    first = made.process_request(Request(NEWS.format(4)))
    assert first is not None and first.priority == -1
    for number in range(4):
        made._learning.memory.learn(NEWS.format(number), "duplicate")
    second = made.process_request(first)
    assert second is not None and second.priority == -BEHIND[RequestDecision.DOUBTED]
    for number in range(20):
        made._learning.memory.learn(NEWS.format(number), "duplicate")
    third = made.process_request(second)
    assert third is not None and third.priority == -LAST
    assert made.process_request(third) is None
    assert counted(made) == {"waited": 1, "doubted": 1, "postponed": 1}


def test_a_request_that_waited_for_nothing_is_made_when_it_comes_again() -> None:
    made = middleware()
    for number in range(4):
        assert made.process_request(Request(NEWS.format(number))) is None
    waited = made.process_request(Request(NEWS.format(4)))
    assert waited is not None
    assert made.process_request(waited) is None
    assert waited.dont_filter is False


def test_a_request_of_a_template_that_is_not_known_goes_its_way() -> None:
    made = middleware()
    assert made.process_request(Request(NEWS.format(1))) is None
    assert counted(made) == {}


def test_what_fails_on_a_url_costs_neither_the_request_nor_the_verdict_and_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = middleware(DEDUP_FEEDBACK_ACTION="drop")

    def fails(url: str) -> UrlGroups:
        raise ZeroDivisionError(url)

    monkeypatch.setattr(template_memory, "groups_of", fails)
    assert made.process_request(Request(TRAP.format(99))) is None
    made._learning.learn(TRAP.format(98), {"verdict": "duplicate", "suspect": False, "duplicate_of": TRAP.format(1)})
    assert counted(made) == {"dedup/feedback_errors": 2}
    assert sum("DEDUP_FEEDBACK failed" in record.getMessage() for record in caplog.records) == 1


def test_a_dropped_request_is_ignored() -> None:
    made = middleware(DEDUP_FEEDBACK_ACTION="drop")
    later = made.process_request(Request(TRAP.format(98)))
    assert later is not None, "no explored page has shown yet that it is a copy"
    assert made.process_request(later) is None
    made._learning.memory.learn(TRAP.format(98), "duplicate")
    with pytest.raises(IgnoreRequest, match="DEDUP_FEEDBACK"):
        made.process_request(Request(TRAP.format(99)))
    assert counted(made) == {"postponed": 1, "dropped": 1}


@pytest.mark.parametrize(
    "request_of",
    [
        lambda url: Request(url, meta={"dedup_keep": True}),
        lambda url: Request(url, callback=NO_CALLBACK),
        lambda url: FormRequest(url, formdata={"a": "1"}),
    ],
    ids=["kept", "of a media pipeline", "a form"],
)
def test_what_is_exempt_is_made_even_beyond_its_budget(request_of: Callable[[str], Request]) -> None:
    made = middleware(DEDUP_FEEDBACK_ACTION="drop", DEDUP_FEEDBACK_BUDGET=1)
    for _ in range(3):
        assert made.process_request(request_of(TRAP.format(99))) is None
    assert counted(made) == {}


@pytest.mark.parametrize("name", ["DEDUP_FEEDBACK_DRY_RUN", "DEDUP_DRY_RUN"])
def test_a_dry_run_makes_every_request_and_counts_and_says_what_it_would_do(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    made = middleware(DEDUP_FEEDBACK_ACTION="drop", DEDUP_FEEDBACK_BUDGET=2, **{name: True})
    for number in range(3):
        assert made.process_request(Request(TRAP.format(90 + number))) is None
    assert counted(made) == {"postponed": 2, "over_budget": 1}
    assert f"DEDUP_FEEDBACK: would have postponed <GET {TRAP.format(90)}>" in caplog.text


def test_a_request_that_is_tried_again_is_decided_and_counted_once_and_one_with_its_meta_anew() -> None:
    made = middleware(DEDUP_FEEDBACK_BUDGET=2)
    first = Request(NEWS.format(1))
    assert made.process_request(first) is None
    for again in (first.copy(), first.replace(dont_filter=True)):
        assert made.process_request(again) is None
    assert made.process_request(Request(NEWS.format(2), meta=first.meta)) is None
    with pytest.raises(IgnoreRequest):
        made.process_request(Request(NEWS.format(3), meta=first.meta))
    assert counted(made) == {"over_budget": 1}


def test_a_postponed_request_is_dropped_where_the_budget_is_spent_meanwhile() -> None:
    made = middleware(DEDUP_FEEDBACK_BUDGET=1)
    later = made.process_request(Request(TRAP.format(98)))
    assert later is not None
    assert made.process_request(Request(TRAP.format(97), meta={"dedup_keep": True})) is None
    with pytest.raises(IgnoreRequest):
        made.process_request(later)


@pytest.mark.parametrize(
    "mark", [7, [], ["made"], ["made", "https://b.example/", False], ["made", TRAP.format(99)], "made"]
)
def test_a_mark_that_is_not_of_this_request_says_nothing(mark: object) -> None:
    assert middleware().process_request(Request(TRAP.format(99), meta={MARK_KEY: mark})) is not None


def test_a_crawl_begins_with_what_an_earlier_one_has_learned_unless_it_knows_something_itself(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folders = {name: str(tmp_path / name) for name in ("first", "own")}
    for name, url in (("first", TRAP), ("own", NEWS)):
        made = middleware(JOBDIR=folders[name])
        for number in range(20):
            made._learning.memory.learn(url.format(number), "duplicate")
        made._learning.close()
    for job, knows_trap in ((None, True), (str(tmp_path / "empty"), True), (folders["own"], False)):
        told = {"ADDONS": {"crawler_plugin.Addon": 500}, "DEDUP_FEEDBACK": True, "DEDUP_FEEDBACK_EXPLORE": 1e-12}
        told |= {"JOBDIR": job, "DEDUP_FEEDBACK_FROM": folders["first"]}
        other = FeedbackMiddleware.from_crawler(get_crawler(Spider, told))
        other._learning.open()
        assert (other.process_request(Request(NEWS.format(99))) is None) is knows_trap
    assert not caplog.records
    nothing = middleware(DEDUP_FEEDBACK_FROM=str(tmp_path / "absent"))
    nothing._learning.open()
    assert "DEDUP_FEEDBACK_FROM" in caplog.text


@pytest.mark.long
def test_what_a_first_crawl_has_learned_halves_the_requests_of_a_second_one(tmp_path: Path) -> None:
    lines, is_half = crawl_again(tmp_path, TrapSite(articles=50), 1_500)
    assert is_half, lines


@pytest.mark.long
def test_a_crawl_that_learns_sees_more_within_a_budget_leaves_traps_by_itself_and_goes_on_with_what_it_knew(
    tmp_path: Path,
) -> None:
    """The small version of ``trap_crawl``, with Scrapy's queues on disk."""
    site, budget = TrapSite(articles=6), 450
    plain = crawl_traps(tmp_path, site, budget)
    told: dict[str, Any] = {"DEDUP_FEEDBACK": True, "DEDUP_FEEDBACK_ACTION": "drop", "JOBDIR": str(tmp_path / "job")}
    first = crawl_traps(tmp_path, site, budget, **told)
    assert len(first.contents) >= 1.2 * len(plain.contents)
    assert first.ended.dedup["feedback/dropped"] > 100
    assert first.ended.dedup["feedback_by/127.0.0.1/shop?…"] > 20
    assert "DEDUP_FEEDBACK: 127.0.0.1/shop?…: requests " in first.ended.log.partition("Closing spider")[2]
    known = _read(tmp_path / "job" / FILE)
    rest = crawl_traps(tmp_path, site, **told)
    assert rest.ended.stats["finish_reason"] == "finished", "without feedback it has no end"
    after = _read(tmp_path / "job" / FILE)
    assert all(after.groups[group].verdicts >= counts.verdicts for group, counts in known.groups.items())
    both = rest._replace(asked=first.asked + rest.asked)
    assert not any(both.lost().values())


def _read(path: Path) -> Known:
    known = read_known(path)
    assert known is not None
    return known


@pytest.mark.long
@pytest.mark.cluster
def test_a_crawl_into_kafka_learns_from_the_workers_verdicts_though_no_item_waits_for_them(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    small = ("topics.partitions=2", "topics.shards=2", "output.mode=verdicts", "commit.seconds=0.2")
    site = TrapSite(articles=1)
    with Cluster(broker, topic_prefix, tmp_path, small) as cluster:
        cluster.start_worker()
        told = {"DEDUP_MODE": "kafka", "DEDUP_CONFIG": None, "CONCURRENT_REQUESTS": 2, **to_kafka(broker, topic_prefix)}
        learned = crawl_traps(tmp_path, site, DEDUP_FEEDBACK=True, DEDUP_FEEDBACK_ACTION="drop", **told)
        assert cluster.stop() == [0]
    assert learned.ended.stats["finish_reason"] == "finished", "without feedback it has no end"
    assert learned.ended.dedup["feedback/dropped"] > 50
    assert not any(learned.lost().values())
