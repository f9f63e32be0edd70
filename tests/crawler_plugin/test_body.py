"""Items that hold pages and are exported by Scrapy's own feeds."""

from __future__ import annotations

import csv
import json
import pickle
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from itemadapter import ItemAdapter

from crawler_plugin import PageBody
from tests.crawler_plugin.crawling import Ended, Site, article, crawl, make_topic, numbered, records, serve, to_kafka

SIZE = len(article(1))


def test_it_shows_its_size_alone() -> None:
    assert repr({"body": PageBody(b"a page")}) == "{'body': PageBody(size=6)}"
    assert ItemAdapter({"body": PageBody(b"a page")}).asdict() == {"body": {"size": 6}}


def test_it_holds_its_bytes_wherever_it_goes() -> None:
    assert pickle.loads(pickle.dumps(PageBody(b"a page"))).content == b"a page"


@pytest.mark.cluster
def test_pages_are_published_and_their_items_exported_in_every_format(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    make_topic(broker, topic_prefix)
    formats = {"json": "json", "jl": "jsonlines", "csv": "csv", "xml": "xml"}
    feeds = {str(tmp_path / f"items.{ending}"): {"format": name} for ending, name in formats.items()}
    with serve(Site(numbered(3))) as site:
        ended = crawl(tmp_path, site, "feed", **to_kafka(broker, topic_prefix), FEEDS=feeds)
    assert {record.meta.url for record in records(broker, topic_prefix)} == site.urls - {site.url("/page/1")}
    assert {record.value for record in records(broker, topic_prefix)} == {article(0), article(2)}
    assert ended.dedup["skipped/switched_off"] == 1, "the field dedup of the other is False"
    assert_exported(ended, tmp_path, site)


def assert_exported(ended: Ended, folder: Path, site: Site) -> None:
    assert "Traceback" not in ended.log
    assert "<html>" not in ended.log, "items are logged, pages are not"
    rows = json.loads((folder / "items.json").read_text())
    lines = [json.loads(line) for line in (folder / "items.jl").read_text().splitlines()]
    assert sorted(row["url"] for row in rows) == sorted(line["url"] for line in lines) == sorted(site.urls)
    assert [row["body"] for row in (*rows, *lines)] == [{"size": SIZE}] * 6
    with (folder / "items.csv").open(newline="") as file:
        assert [row["body"] for row in csv.DictReader(file)] == [f"PageBody(size={SIZE})"] * 3
    tree = ET.parse(folder / "items.xml")
    assert [body.text for body in tree.iter("body")] == [f"PageBody(size={SIZE})"] * 3
