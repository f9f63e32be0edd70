"""Without a broker that dates pages, pages expire by the log's own time alone."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from tests.local.crawled import BEGUN, HOUR, about, crawl
from worker.config import Settings
from worker.local import Deduplicator, FetchedPage, Verdict

pytestmark = pytest.mark.usefixtures("read_here")
TEXT: Final = "Saucers glide over the old harbour at night, says the master, and nobody knows where they land then"
YEAR_9999: Final = 253_402_300_799_000
PAGES: Final = [replace(page, fetched=BEGUN + number * HOUR) for number, (page, _) in enumerate(crawl(2, 120))]


def settings(**near: Any) -> Settings:
    plain = {"page": {"processes": 1}, "index": {"memory_mb": 0}}
    return Settings.model_validate(plain | {"near": near})


def verdicts(state: Path, clock: Callable[[], float], pages: list[FetchedPage]) -> list[Verdict]:
    """The verdicts when half of the pages are read together, and the other half after the state was opened again."""
    with Deduplicator(state, settings(ttl_days=1), clock=clock) as local:
        found = [verdict for _, verdict in local.judge_all(pages[:60])]
    with Deduplicator(state, settings(ttl_days=1), clock=clock) as local:
        return found + [local.judge(page.url, page.body, **about(page)) for page in pages[60:]]


def test_no_verdict_on_pages_with_fetch_times_depends_on_the_machine_s_clock(tmp_path: Path) -> None:
    pages = [replace(page, fetched=YEAR_9999) if number % 20 == 9 else page for number, page in enumerate(PAGES)]
    jumps = itertools.cycle([0.0, 1e9, 4e9, -1e9])
    seen = verdicts(tmp_path / "now", time.time, pages)
    assert seen == verdicts(tmp_path / "1970", lambda: 0.0, pages)
    assert seen == verdicts(tmp_path / "jumping", lambda: next(jumps), pages)
    with Deduplicator(config=settings()) as for_ever:
        kept = sum(for_ever.judge(page.url, page.body, text=page.text).verdict == "unique" for page in pages)
    assert sum(verdict.verdict == "unique" for verdict in seen) > kept > 10


def test_a_page_without_a_fetch_time_is_dated_by_the_clock_that_was_given() -> None:
    moments = iter((1e9, 1e9 + 0.9 * 86_400, 1e9 + 1.8 * 86_400, 1e9 + 2.7 * 86_400))
    with Deduplicator(config=settings(ttl_days=2), clock=lambda: next(moments)) as local:
        assert local.judge("http://a.example/", text=TEXT).verdict == "unique"
        assert [local.judge(f"http://{host}.example/", text="another text altogether").verdict for host in "bc"] == [
            "unique",
            "duplicate",
        ]
        assert local.judge("http://d.example/", text=TEXT).verdict == "duplicate"
