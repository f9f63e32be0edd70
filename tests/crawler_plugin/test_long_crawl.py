"""A crawl that is interrupted while its broker comes and goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crawler_plugin.long_crawl import crawl_in_two_runs

pytestmark = pytest.mark.cluster


def test_every_page_that_the_spider_was_handed_is_on_the_topic_after_two_outages_and_three_ctrl_c(
    tmp_path: Path,
) -> None:
    account = crawl_in_two_runs(tmp_path, pages=300, away_s=3)
    assert 0 < account.handed_to_spider <= account.on_topic, account
    assert account.missing == 0
