"""Real workers over the real broker: changes at a URL, and findings about an original from its copies."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler_plugin.wire.outcomes import SurvivorFinding, Verdict
from crawler_plugin.wire.page_headers import PageMeta, text_headers
from crawler_plugin.wire.topics import DEDUPLICATED, FINDINGS, VERDICTS
from tests.cluster.cluster import Cluster
from tests.cluster.outside import read
from tests.waiting import wait_for

pytestmark = pytest.mark.cluster
HOST = "http://site.example/"
SETTINGS = (
    "topics.partitions=1",
    "topics.shards=2",
    "near.track_changes=true",
    "findings.soft_404_places=4",
)


@pytest.fixture
def cluster(broker: str, topic_prefix: str, tmp_path: Path) -> Iterator[Cluster]:
    """One partition, so that pages are judged in the order in which they are published."""
    with Cluster(broker, topic_prefix, tmp_path, SETTINGS) as made:
        yield made


def words(seed: int, count: int) -> list[str]:
    chance = random.Random(seed)
    return ["".join(chance.choices("abcdefghij", k=7)) for _ in range(count)]


def page(path: str, text: list[str], link: str | None = None) -> tuple[PageMeta, bytes]:
    head = f'<link rel="canonical" href="{link}">' if link else ""
    html = f"<html><head>{head}</head><body><p>{' '.join(text)}</p></body></html>"
    return PageMeta(url=HOST + path, status=200, content_type="text/html"), html.encode()


def findings(cluster: Cluster) -> dict[str, SurvivorFinding]:
    """The findings by kind; a repeated finding counts once."""
    records = read(cluster.bootstrap, cluster.prefix + FINDINGS)
    found = [SurvivorFinding.decode(record.value) for record in records]
    assert [record.key for record in records] == [finding.url.encode() for finding in found]
    return {finding.kind: finding for finding in found}


def last_verdicts(cluster: Cluster) -> dict[str, Verdict]:
    """The verdict on the latest fetch of each URL."""
    records = read(cluster.bootstrap, cluster.prefix + VERDICTS)
    return {record.url: record for record in (Verdict.decode(record.value) for record in records)}


def test_changes_are_told_in_verdicts_and_what_copies_say_on_findings_and_changes_outlive_kill_9(
    cluster: Cluster,
) -> None:
    first, article, error = words(1, 200), words(2, 200), ["not", "found", "nothing", "here", "try", "another", "page"]
    second = first[:80] + words(3, 120)
    worker = cluster.start_worker()
    cluster.publish([page("news", first), page("a?from=feed", article, "/a"), page("gone", error)])
    cluster.wait_until_committed()
    cluster.publish(
        [
            page("news", second),
            page("a", article, "/a"),
            *(page(path, error) for path in ("away", "shop/lamp", "blog/2020/x", "team/jane", "help/faq")),
        ]
    )
    cluster.wait_until_committed()
    seen = last_verdicts(cluster)[HOST + "news"]
    assert (seen.verdict, seen.previous) == ("unique", "changed")
    assert seen.changed == pytest.approx(0.6, abs=0.15)
    assert last_verdicts(cluster)[HOST + "help/faq"].previous == "none"

    wait_for(lambda: findings(cluster).keys() == {"preferred", "soft-404"}, "both kinds of findings")
    found = findings(cluster)
    preferred, no_page = found["preferred"], found["soft-404"]
    assert (preferred.url, preferred.page, preferred.named_by) == (HOST + "a?from=feed", HOST + "a", "survivor")
    assert (no_page.url, no_page.places) == (HOST + "gone", 4)

    cluster.publish([page("music/late", error)])
    cluster.wait_until_committed()
    headers = [text_headers(record.headers) for record in read(cluster.bootstrap, cluster.prefix + DEDUPLICATED)]
    assert [one["url"] for one in headers if one.get("dedup-finding") == "soft-404"] == [HOST + "music/late"]

    worker.kill()
    heir = cluster.start_worker()
    cluster.publish([page("news", second), page("a", article, "/a")])
    cluster.wait_until_committed()
    seen = last_verdicts(cluster)[HOST + "news"]
    assert (seen.verdict, seen.previous, seen.changed) == ("refetch", "same", 0.0)
    cluster.publish([page("news", first)])
    cluster.wait_until_committed()
    assert last_verdicts(cluster)[HOST + "news"].previous == "changed"
    assert heir.stop() == 0
