"""Pages that are published without a crawl look on the topic like a crawl's pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.topics import PAGES
from tests.stream.contract import PARTITIONS
from tests.stream.kafka.under_test import KafkaUnderTest
from worker.broker.ports import free_port
from worker.stream.kafka import publish
from worker.stream.kafka.publish import publish_pages

pytestmark = pytest.mark.cluster


@pytest.fixture
def world(broker: str, topic_prefix: str) -> Iterator[KafkaUnderTest]:
    with KafkaUnderTest.on(broker, topic_prefix) as world:
        yield world


def test_all_pages_are_there_when_it_returns_however_few_may_be_on_their_way(
    world: KafkaUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "OUTSTANDING", 3)
    metas = [PageMeta(url=f"HTTP://Host.example/{n}#top", status=200, fetched=n, spider="s") for n in range(10)]
    assert publish_pages(world.options, world.prefix, [(meta, meta.url.encode()) for meta in metas]) == 10
    found: dict[int, tuple[bytes | None, bytes | None]] = {}
    for partition in range(PARTITIONS):
        read = [(PageMeta.from_headers(seen.headers), seen) for seen in world.outputs(PAGES, partition)]
        offsets = [meta.fetched for meta, _ in read]
        assert offsets == sorted(offsets, key=lambda fetched: fetched or 0), "each partition has them in their order"
        assert all(meta in metas for meta, _ in read)
        found |= {meta.fetched or 0: (seen.key, seen.value) for meta, seen in read}
    assert found == {n: (b"http://host.example/%d" % n, metas[n].url.encode()) for n in range(10)}


def test_where_no_broker_answers_the_setting_is_named(world: KafkaUnderTest) -> None:
    nowhere = world.options | {"bootstrap_servers": [f"127.0.0.1:{free_port()}"], "bootstrap_timeout_ms": 300}
    with pytest.raises(Unavailable, match=r"kafka\.bootstrap_servers"):
        publish_pages(nowhere, world.prefix, [(PageMeta(url="http://a.example/"), b"")])
