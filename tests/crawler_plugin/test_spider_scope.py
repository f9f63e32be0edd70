"""Spiders that begin anew, and pages that are compared within a scope."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import scrapy

from crawler_plugin.spider_scope import scope_of_crawl
from crawler_plugin.wire.errors import Refused, UsageError
from tests.crawler_plugin.components.test_awaited_responses import AWAITED, known
from tests.crawler_plugin.crawling import Crawl, Site, serve
from tests.crawler_plugin.judging.test_local import CONFIG, page, settings_of, text
from tests.crawler_plugin.logged import Logged


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Any:
    monkeypatch.chdir(tmp_path)
    return Logged(caplog).log


def scope(log: Any, now_ms: int, job: str | None = None, name: str = "news", **arguments: Any) -> str | None:
    return scope_of_crawl(scrapy.Spider(name, **arguments), job, now_ms, log)


def test_a_spider_is_in_no_scope_before_it_begins_anew_and_later_crawls_go_on_in_the_new_one(log: Any) -> None:
    assert scope(log, 1) is None
    assert scope(log, 2, dedup_reset="0") is None
    assert list(Path().iterdir()) == []
    assert scope(log, 3, dedup_reset="1") == "news@3"
    assert scope(log, 4) == "news@3"
    assert scope(log, 5, dedup_reset=True) == "news@5"
    assert scope(log, 6) == "news@5"
    assert scope(log, 6, name="board") is None, "nothing of other spiders is touched"
    assert scope(log, 7, name="a/b", dedup_reset="true") == "a/b@7"
    assert {path.name for path in Path().iterdir()} == {"dedup-news.scope", "dedup-a_b.scope"}


def test_a_job_that_is_resumed_goes_on_in_its_scope_whatever_its_spider_was_told_since(log: Any) -> None:
    for job in ("one", "two"):
        Path(job).mkdir()
    assert scope(log, 1, "one", dedup_reset="1") == "news@1"
    assert scope(log, 2, "one", dedup_reset="1") == "news@1", "the same command line"
    assert scope(log, 3, "two") == "news@1"
    assert scope(log, 4, dedup_reset="1") == "news@4"
    assert [scope(log, 5, job) for job in ("one", "two", None)] == ["news@1", "news@1", "news@4"]


@pytest.mark.parametrize("told", ["yes", "", None, 2])
def test_an_argument_that_is_neither_yes_nor_no_is_refused(log: Any, told: object) -> None:
    with pytest.raises(UsageError, match=r"-a dedup_reset=.*: write 1 or 0"):
        scope(log, 1, dedup_reset=told)


@pytest.mark.parametrize("content", [None, b"\xff"])
def test_a_scope_that_cannot_be_kept_is_refused(log: Any, content: bytes | None) -> None:
    kept = Path("dedup-news.scope")
    kept.mkdir() if content is None else kept.write_bytes(content)
    with pytest.raises(Refused, match=r"dedup-news\.scope .*see that both can be read and written"):
        scope(log, 1)


def test_pages_are_compared_within_their_scope_and_a_spider_that_begins_anew_with_none_of_before(
    tmp_path: Path,
) -> None:
    same, other = page(text(1)), page(text(2))
    site = Site({"/a/1": same, "/a/2": same, "/b/1": same, "/top": same, "/c/1": other})
    told = settings_of(tmp_path, **CONFIG) | AWAITED | {"DEDUP_STATE": str(tmp_path / "seen"), "CONCURRENT_REQUESTS": 1}

    def verdicts(spider: str = "scoped", **more: Any) -> dict[str, list[str]]:
        """The verdicts by folder, since pages come in any order."""
        folder = tmp_path / f"crawl-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        ended = Crawl(folder, spider, site.url("/"), told | more, cwd=tmp_path).end()
        assert ended.returncode == 0, ended.log
        found: dict[str, list[str]] = {}
        for path, words in known(ended, site).items():
            if path != "/":
                found[path[1]] = sorted([*found.get(path[1], []), *words])
        return found

    reset: dict[str, Any] = {"ARGUMENTS": {"dedup_reset": "1"}, "JOBDIR": str(tmp_path / "job")}
    first = {"a": ["duplicate", "unique"], "b": ["unique"], "t": ["unique"], "c": ["unique"]}
    again = {"a": ["duplicate", "refetch"], "b": ["refetch"], "t": ["refetch"], "c": ["refetch"]}
    with serve(site):
        assert verdicts() == first
        assert verdicts(**reset) == first
        assert verdicts(**reset) == again, "a job that is resumed"
        assert verdicts("heard")["t"] == ["refetch"], "another spider is where it was"
