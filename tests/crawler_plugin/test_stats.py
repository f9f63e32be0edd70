"""The stats: one list that names each, and the sums that hold between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler_plugin import stats
from tests.crawler_plugin.crawling import Site, crawl, make_topic, numbered, serve, to_kafka


def test_every_name_in_the_code_is_in_the_list_and_every_meaning_is_told() -> None:
    names = {value for name, value in vars(stats).items() if name.isupper() and isinstance(value, str)}
    groups = {stats.SKIPPED, stats.UNREAD, stats.VERDICT, stats.WITHOUT_VERDICT, stats.DROPPED, stats.FEEDBACK}
    groups |= {stats.FEEDBACK_BY, stats.CALLBACK_WITHOUT_VERDICT, stats.WOULD_DROP}
    assert names - groups == {name for name in stats.STATS if not name.startswith(tuple(groups))} | set(
        stats.FINISH_REASONS
    )
    assert all(any(name.startswith(group) for name in stats.STATS) for group in groups)
    assert all(stats.STATS.values())
    assert all(stats.FINISH_REASONS.values())


@pytest.mark.cluster
def test_the_sums_hold_for_a_crawl_that_left_pages_and_for_the_one_that_sends_them(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    large = {f"/large/{number}": bytes(30_000) for number in range(2)}
    with serve(Site(numbered(5) | large)) as site:
        away = crawl(tmp_path, site, **to_kafka(broker, topic_prefix), DEDUP_FLUSH_TIMEOUT=0)
        make_topic(broker, topic_prefix, max_message_bytes=20_000)
        there = crawl(tmp_path, site, **to_kafka(broker, topic_prefix), DEDUP_OVERSIZE="reject")
    assert (away.dedup["spool/left"], there.dedup["spool/found"]) == (7, 7)
    assert there.dedup["rejected/oversize_at_broker"] == 4
    for ended in (away, there):
        counted = ended.dedup
        came = counted["published"] + counted["spool/found"]
        went = ("confirmed", "rejected/oversize_at_broker", "spool/left", "unconfirmed")
        assert came == sum(counted.get(name, 0) for name in went)
