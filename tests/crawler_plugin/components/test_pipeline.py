"""Items through the pipeline: how each field is used, and which items pass on without being a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler_plugin.wire.urls import canonical_url
from tests.crawler_plugin.crawling import Site, article, crawl, make_topic, numbered, records, serve, to_kafka

pytestmark = pytest.mark.cluster


def test_every_page_is_on_the_topic_whatever_kind_of_item_it_came_in(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    make_topic(broker, topic_prefix)
    with serve(Site(numbered(40))) as site:
        ended = crawl(tmp_path, site, "kinds", **to_kafka(broker, topic_prefix), DEDUP_JOB="monday")
    found = records(broker, topic_prefix)
    assert len(found) == 40
    assert {record.meta.url: record.value for record in found} == {
        site.url(path): body for path, body in site.pages.items()
    }
    for record in found:
        assert record.key == canonical_url(record.meta.url)
        assert record.meta.status == 200
        assert record.meta.content_type == "text/html; charset=utf-8"
        assert record.meta.form == "bytes"
        assert (record.meta.spider, record.meta.job) == ("kinds", "monday")
    stats = ended.dedup
    assert stats.pop("published_bytes") > sum(map(len, site.pages.values()))
    assert stats == {"published": 40, "confirmed": 40, "unconfirmed": 0, "spool/found": 0, "spool/left": 0}
    assert ended.stats["item_scraped_count"] == 40


def test_text_is_published_as_text_and_what_is_no_page_passes_on_and_is_counted(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    make_topic(broker, topic_prefix)
    with serve(Site(numbered(5))) as site:
        ended = crawl(tmp_path, site, "text", **to_kafka(broker, topic_prefix))
    found = records(broker, topic_prefix)
    assert {record.meta.form for record in found} == {"text"}
    assert {record.value.decode() for record in found} == {f"天气 Page {n} of the site, 第{n}页" for n in range(5)}
    skipped = {name: count for name, count in ended.dedup.items() if name.startswith("skipped/")}
    assert skipped == {"skipped/no_body": 5, "skipped/bad_url": 5, "skipped/bad_body": 5}
    assert ended.stats["item_scraped_count"] == 20
    assert ended.log.count("dedup/skipped/bad_url") == 2, "once in a warning, once among the stats"
    assert "give it with its scheme" in ended.log


def test_markup_in_the_field_for_text_is_warned_of_once_with_the_field_that_it_belongs_in(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    make_topic(broker, topic_prefix)
    with serve(Site(numbered(5))) as site:
        ended = crawl(
            tmp_path, site, "markup", **to_kafka(broker, topic_prefix), DEDUP_FIELDS={"text": "content", "body": "html"}
        )
    assert ended.log.count("its field 'content' looks like markup") == 1
    assert "Yield it as 'html', from which the text is extracted" in ended.log
    assert (ended.dedup["markup_as_text"], ended.dedup["confirmed"]) == (5, 5)


def test_a_project_keeps_its_own_field_names(broker: str, topic_prefix: str, tmp_path: Path) -> None:
    make_topic(broker, topic_prefix)
    fields = {"url": "link", "body": "html", "status": None, "fetched": "when"}
    with serve(Site(numbered(2))) as site:
        ended = crawl(tmp_path, site, "renamed", **to_kafka(broker, topic_prefix), DEDUP_FIELDS=fields)
    for record in records(broker, topic_prefix):
        assert record.value == site.pages[record.meta.url.removeprefix(site.url(""))]
        assert (record.meta.encoding, record.meta.form) == ("utf-8", "bytes")
        assert record.meta.status is None
        assert record.meta.fetched == 1_700_000_000_000
    assert ended.dedup["confirmed"] == 2


def test_what_items_hold_is_not_read_where_responses_are_captured(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    make_topic(broker, topic_prefix)
    with serve(Site({"/page": article(1)})) as site:
        ended = crawl(tmp_path, site, "text", **to_kafka(broker, topic_prefix), DEDUP_CAPTURE=True)
    assert {record.meta.url for record in records(broker, topic_prefix)} == {site.url("/"), site.url("/page")}
    assert ended.dedup["skipped/captured"] == ended.stats["item_scraped_count"] > 0
