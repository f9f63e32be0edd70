"""A crawl's counts and log lines: each kind of trouble is logged once."""

from __future__ import annotations

import logging

import pytest

from crawler_plugin import stats
from tests.crawler_plugin.logged import Logged


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Logged:
    return Logged(caplog)


def test_the_first_of_a_kind_is_said_and_all_are_counted(logged: Logged) -> None:
    for number in range(3):
        logged.log.skip(stats.SKIPPED + "no_body", f"item {number} has no body")
    logged.log.skip(stats.SKIPPED + "bad_url", "no URL", logging.INFO)
    assert logged.stats == {"dedup/skipped/no_body": 3, "dedup/skipped/bad_url": 1}
    assert logged.lines == [
        (logging.WARNING, "item 0 has no body. Further ones are only counted, as dedup/skipped/no_body"),
        (logging.INFO, "no URL. Further ones are only counted, as dedup/skipped/bad_url"),
    ]


def test_seconds_are_added_up(logged: Logged) -> None:
    for _ in range(2):
        logged.log.count(stats.WAITED_SECONDS, 0.5)
    assert logged.stats == {stats.WAITED_SECONDS: 1.0}
