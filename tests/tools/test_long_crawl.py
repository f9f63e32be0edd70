"""A crawl that is interrupted while its broker comes and goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.crawls.long_crawl import crawl_in_three_runs

pytestmark = pytest.mark.cluster


@pytest.mark.long
def test_every_page_of_the_site_is_on_the_topic_after_two_outages_and_three_ctrl_c(tmp_path: Path) -> None:
    account = crawl_in_three_runs(tmp_path, pages=300, away_s=3)
    assert account.pages == account.handed_to_the_spider == account.on_the_topic, account
    assert account.written_to_the_spool == account.sent_from_the_spool > 0, account
    assert account.is_good, account
