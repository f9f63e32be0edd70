"""Log lines about a spool: each line names the next step."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from crawler_plugin import stats
from crawler_plugin.spool.file import Appended, Spool
from crawler_plugin.spool.numbered import Opened
from crawler_plugin.spool.spool_log import say_opened, say_stored
from tests.crawler_plugin.logged import Logged
from tests.crawler_plugin.spool.test_records import page


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Logged:
    return Logged(caplog)


def test_what_an_earlier_crawl_left_is_told_and_damage_by_its_place(logged: Logged, tmp_path: Path) -> None:
    path = tmp_path / "pages.spool"
    earlier = Spool.open(path, 10**9)
    earlier.append([page(1), page(2)])
    earlier.close()
    with path.open("ab") as file:
        file.write(b"torn")
    spool = Spool.open(path, 10**9)
    say_opened(logged.log, Opened(spool))
    spool.close()
    assert logged.stats == {stats.SPOOL_FOUND: 2, stats.SPOOL_DAMAGED: 1}
    assert logged.lines[0] == (logging.INFO, f"sending also 2 pages that an earlier crawl left in {path}")
    assert logged.lines[1][0] == logging.ERROR
    assert str(path) in logged.lines[1][1]


def test_a_spool_that_takes_no_more_is_an_error_that_is_said_once(logged: Logged) -> None:
    say_stored(logged.log, Appended(3, None))
    say_stored(logged.log, Appended(1, "no space left"))
    say_stored(logged.log, Appended(0, "no space left"))
    assert logged.stats == {stats.SPOOL_WRITTEN: 4, stats.SPOOL_ERRORS: 2}
    ((level, line),) = logged.lines
    assert level == logging.ERROR
    assert line.startswith("the spool does not take a page (no space left): make room there or raise DEDUP_SPOOL_BYTES")
