"""``python -m worker repair`` on the real broker: a gap is listed, refused while workers run, accepted, and behind it
everything is exact."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import MemberToRemove

from crawler_plugin.wire.errors import Refused, UsageError
from crawler_plugin.wire.page_headers import text_headers
from crawler_plugin.wire.topics import ANSWERS, DEAD_LETTERS, FINGERPRINTS, PAGES
from tests.cluster.cluster import Cluster
from tests.cluster.crawl import invented
from tests.cluster.outside import read, traces
from tests.guarantees import check_guarantees
from worker.cli import repair as command

pytestmark = pytest.mark.cluster


@pytest.fixture
def cluster(broker: str, topic_prefix: str, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(broker, topic_prefix, tmp_path, ["topics.shards=2", "topics.partitions=2"]) as made:
        yield made


def repair(cluster: Cluster, *arguments: str) -> int:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return command.run(parser.parse_args(arguments), lambda: cluster.settings)


def let_logs_pass(cluster: Cluster) -> None:
    """Both logs lose all their records, as after their retention."""
    admin = KafkaAdminClient(**cluster.options)
    try:
        for topic in (FINGERPRINTS, ANSWERS):
            end = read(cluster.bootstrap, cluster.prefix + topic)[-1].offset + 1
            admin.delete_records({TopicPartition(cluster.prefix + topic, 0): end})
    finally:
        admin.close()


def let_sessions_end(cluster: Cluster) -> None:
    """The groups forget a worker that was killed."""
    admin = KafkaAdminClient(**cluster.options)
    try:
        for group in (f"{cluster.settings.kafka.group}-pages", f"{cluster.settings.kafka.group}-shards"):
            gone = [member["member_id"] for member in admin.describe_groups([group])[group]["members"]]
            admin.remove_group_members(group, [MemberToRemove(member_id=member) for member in gone])
    finally:
        admin.close()


def test_a_page_that_nobody_has_claimed_is_passed_over(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    pages = list(islice(invented(seed=2), 60))
    worker = cluster.start_worker()
    cluster.publish(pages[:40])
    cluster.wait_until_committed()
    with pytest.raises(Refused, match="a worker is running"):
        repair(cluster, "--skip", "0:0")
    assert worker.stop() == 0
    cluster.publish(pages[40:])
    ends = Counter(record.partition for record in read(cluster.bootstrap, cluster.prefix + PAGES))
    first = max(int(source.split(":")[1]) for source in committed_sources(cluster) if source.startswith("0:")) + 1
    assert first + 1 < ends[0]
    with pytest.raises(UsageError, match=rf"page 0:{first + 1} is not the next one .* Give --skip 0:{first} first"):
        repair(cluster, "--skip", f"0:{first + 1}")
    assert repair(cluster, "--skip", f"0:{first}", "--skip", f"0:{first + 1}") == 0
    assert f"skipped 0:{first + 1}" in capsys.readouterr().out
    with pytest.raises(UsageError, match=rf"page 0:{first} is claimed already"):
        repair(cluster, "--skip", f"0:{first}")
    cluster.start_worker()
    cluster.wait_until_committed()
    dead = {}
    for record in read(cluster.bootstrap, cluster.prefix + DEAD_LETTERS):
        headers = text_headers(record.headers)
        dead[headers["dedup-source"]] = (headers["dedup-reason"], len(record.headers))
    skipped = {source: dead[source] for source in (f"0:{first}", f"0:{first + 1}")}
    assert set(skipped.values()) == {("skipped", 3)}
    check_guarantees(traces(cluster.bootstrap, cluster.prefix))
    assert cluster.stop() == [0]


def committed_sources(cluster: Cluster) -> set[str]:
    """The sources of all verdicts and dead letters."""
    found = traces(cluster.bootstrap, cluster.prefix)
    sources = [record.source for record in found.verdicts] + found.dead
    return {f"{partition}:{offset}" for partition, offset in sources}
