"""The steps of every delivery with a page before it is sent anywhere."""

from __future__ import annotations

import pytest
from scrapy.settings import Settings

from crawler_plugin import stats
from crawler_plugin.config.settings import PluginSettings
from crawler_plugin.publishing.delivery import KafkaDelivery
from crawler_plugin.record import Origin
from tests.crawler_plugin.logged import Logged

LIMIT = 5_000
PAGE = Origin({"url": "url", "body": "body"}, "shop", "1").page({"url": "https://a.example/", "body": b"x" * 9_000}, 1)


@pytest.mark.parametrize(
    ("oversize", "stat", "what"),
    [("truncate", stats.TRUNCATED, "cut off there"), ("reject", stats.OVERSIZE, "not sent")],
)
def test_a_page_above_the_limit_is_told_with_the_setting_to_raise(
    caplog: pytest.LogCaptureFixture, oversize: str, stat: str, what: str
) -> None:
    logged = Logged(caplog)
    told = Settings({"DEDUP_MAX_PAGE_BYTES": LIMIT, "DEDUP_OVERSIZE": oversize})
    fitting = KafkaDelivery(logged.crawler, PluginSettings.read(told))._fit(PAGE)
    assert (None if fitting is None else fitting.size) == (LIMIT if oversize == "truncate" else None)
    assert logged.stats == {stat: 1}
    ((_, line),) = logged.lines
    assert f"{PAGE.url}: {PAGE.size} bytes are more than DEDUP_MAX_PAGE_BYTES={LIMIT}, the page is {what}. " in line
