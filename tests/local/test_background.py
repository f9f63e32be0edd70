"""``BackgroundJudge``: verdicts for a thread that may not wait for them."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path
from typing import Any, Final

import pytest

from crawler_plugin.wire.errors import Refused, Unavailable, UsageError
from tests.local.crawled import about, crawl
from tests.processes import children
from tests.waiting import wait_for
from worker.config import Settings
from worker.local import Deduplicator, FetchedPage, Verdict
from worker.local.background import BackgroundJudge
from worker.stream.shard.memory_limit import OverMemoryLimit

PAGES: Final = [page for page, _ in crawl(5, 60)]
UNIQUE: Final = [FetchedPage(f"http://a.example/{n}", text=f"only page {n} says a{n} b{n} c{n}") for n in range(3000)]


def settings(**sections: Any) -> Settings:
    plain = {"page": {"processes": 1}, "index": {"memory_mb": 0}}
    return Settings.model_validate(plain | sections)


def outcomes(verdicts: list[Verdict]) -> list[tuple[str, str, str | None]]:
    return [(verdict.kind, verdict.reason, verdict.duplicate_of) for verdict in verdicts]


def test_pages_get_the_verdicts_that_they_get_one_by_one_also_where_a_process_hung_meanwhile(tmp_path: Path) -> None:
    with Deduplicator(config=settings()) as local:
        wanted = [local.judge(page.url, page.body, **about(page)) for page in PAGES]
    others = children()
    judge = BackgroundJudge(tmp_path, settings())
    assert judge.judged_before == 0
    found = [judge.submit(PAGES[0]).result(60)]
    (reader,) = children() - others
    os.kill(reader, signal.SIGSTOP)
    coming = [judge.submit(page) for page in PAGES[1:]]
    judge.flush()
    assert not any(verdict.done() for verdict in coming)
    os.kill(reader, signal.SIGCONT)
    found += [verdict.result(60) for verdict in coming]
    judge.close()
    judge.close()
    assert outcomes(found) == outcomes(wanted)
    with pytest.raises(ValueError, match="make another one"):
        judge.submit(PAGES[0]).result()
    with Deduplicator(tmp_path, settings()) as local:
        assert local.judged == len(PAGES)


def test_what_was_judged_is_written_in_time_though_no_page_comes(tmp_path: Path) -> None:
    judge = BackgroundJudge(tmp_path, settings(index={"memory_mb": 0, "flush_seconds": 0.2}))
    file = tmp_path / "index.blocks"
    before = file.stat().st_size
    judge.submit(PAGES[0]).result(60)
    wait_for(lambda: file.stat().st_size > before, "the page to be written", pause=0.02)
    judge.close()


def test_at_the_limit_of_memory_judging_is_over_and_what_was_judged_is_kept(tmp_path: Path) -> None:
    judge = BackgroundJudge(tmp_path, settings(index={"memory_mb": 9}))
    coming = [judge.submit(page) for page in UNIQUE]
    failures = [verdict.exception(60) for verdict in coming]
    judged = failures.index(next(failure for failure in failures if failure is not None))
    assert judged > 10
    assert all(isinstance(failure, OverMemoryLimit) for failure in failures[judged:])
    assert isinstance(judge.submit(UNIQUE[0]).exception(), OverMemoryLimit)
    judge.close()
    with Deduplicator(tmp_path, settings()) as local:
        assert local.judged >= judged


def test_when_the_disk_is_full_judging_is_over_and_so_it_says_when_it_is_closed(tmp_path: Path) -> None:
    judge = BackgroundJudge(tmp_path, settings(index={"memory_mb": 0, "flush_entries": 1}))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "index.blocks").stat().st_size + 10, before[1]))
    try:
        failures = [judge.submit(page).exception(60) for page in UNIQUE[:3]]
        with pytest.raises(Unavailable, match="make room on the disk"):
            judge.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [isinstance(failure, Unavailable) for failure in failures] == [True] * 3
    judge.close()
    with Deduplicator(tmp_path, settings()) as local:
        assert local.judged == 1


def test_what_cannot_be_opened_raises_where_it_is_made(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("near: {scopes: host}\n")
    with pytest.raises(UsageError, match=r"near\.scopes"):
        BackgroundJudge(config=config)
    with Deduplicator(tmp_path / "state", settings()), pytest.raises(Refused, match="open already"):
        BackgroundJudge(tmp_path / "state", settings())
