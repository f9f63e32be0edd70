"""The marks of a run on the topic ``jobs``: that it has begun, and how many pages of each job there were."""

from __future__ import annotations

from crawler_plugin.publishing.job_marks import JobMarks
from crawler_plugin.record import PageRecord
from crawler_plugin.wire.outcomes import JobMark
from crawler_plugin.wire.page_headers import PageMeta


def page(job: str | None = "7", spider: str | None = "news") -> PageRecord:
    said = PageMeta(url="http://a.example/", job=job, spider=spider)
    return PageRecord(said.url, b"http://a.example/", b"", tuple(said.to_headers()))


def shown(marks: list[JobMark]) -> list[tuple[str, str | None, int | None]]:
    return [(mark.job, mark.spider, mark.pages) for mark in marks]


def test_a_run_says_once_that_it_has_begun_and_at_its_end_how_many_pages_it_was() -> None:
    marks = JobMarks()
    assert marks.due(at_the_end=False) == []
    marks.begin("7", "news")
    (begun,) = marks.due(at_the_end=False)
    assert shown([begun]) == [("7", "news", None)]
    assert marks.due(at_the_end=False) == [begun], "until the topic has it"
    marks.told(begun)
    assert marks.due(at_the_end=False) == []
    marks.count(page())
    marks.count(page())
    (ended,) = marks.due(at_the_end=True)
    assert (shown([ended]), ended.key) == ([("7", "news", 2)], begun.key)
    marks.told(ended)
    assert marks.due(at_the_end=True) == []


def test_a_crawl_without_pages_says_so() -> None:
    marks = JobMarks()
    marks.begin("7", None)
    assert shown(marks.due(at_the_end=True)) == [("7", None, 0)]


def test_pages_that_an_earlier_crawl_left_count_for_its_job_and_those_of_no_job_for_none() -> None:
    marks = JobMarks()
    marks.begin("8", "news")
    for each in (page("8"), page("7"), page("7", "shop"), page("7"), page(None)):
        marks.count(each)
    assert shown(marks.due(at_the_end=True)) == [("8", "news", 1), ("7", "news", 2), ("7", "shop", 1)]


def test_no_two_runs_write_over_each_other() -> None:
    first, second = JobMarks(), JobMarks()
    for marks in (first, second):
        marks.begin("7", "news")
    assert first.due(at_the_end=True)[0].key != second.due(at_the_end=True)[0].key


def test_what_an_earlier_run_could_not_tell_is_told_at_once_and_not_again() -> None:
    marks = JobMarks()
    marks.begin("7", "news")
    earlier = JobMark(job="7", spider="news", run="before", pages=500)
    marks.inherit([earlier, earlier])
    assert shown(marks.due(at_the_end=False)) == [("7", "news", 500)] * 2 + [("7", "news", None)]
    marks.told(earlier)
    assert shown(marks.due(at_the_end=True)) == [("7", "news", 0)]
