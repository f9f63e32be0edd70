"""The faults that users fear, on the real broker with real processes: afterwards every promise holds, checked from
outside."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pytest
from kafka import KafkaConsumer, TopicPartition, errors
from kafka.admin import ConfigResource, ConfigResourceType, MemberToRemove
from kafka.structs import OffsetAndMetadata

from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.topics import DAY_MS, DEAD_LETTERS, DEDUPLICATED, INDEX, JOBS, PAGES, VERDICTS
from tests.cluster.cluster import Cluster, asking, running
from tests.cluster.crawl import Crawler, Page, a_minute_apart, invented, revisited
from tests.cluster.outside import check_sums, committed_ends, last_ends, read, traces
from tests.guarantees import Traces, check_guarantees
from tests.open_transactions import open_transactions
from tests.waiting import wait_for
from worker.broker.server import LocalBroker

pytestmark = pytest.mark.cluster

PAGES_A_SECOND: Final = 60
FOUND: Final = {"unique", "duplicate", "refetch", None}
"""The verdicts that a crawl of made pages must contain to be worth a test; None stands for dead letters."""


@pytest.fixture
def cluster(broker: str, topic_prefix: str, tmp_path: Path) -> Iterator[Cluster]:
    """Topics of this test's own, and no worker yet."""
    with Cluster(broker, topic_prefix, tmp_path) as made:
        yield made


@contextmanager
def crawl(cluster: Cluster, pages: Iterable[Page] | None = None) -> Iterator[None]:
    """Publish pages while the block runs, by default made ones; afterwards all published pages are on the topic."""
    with Crawler(cluster.options, cluster.prefix, pages or invented(seed=1), a_second=PAGES_A_SECOND) as crawler:
        yield
        crawler.stop()


def commit(cluster: Cluster, pages: int) -> None:
    """Wait until this many more pages are committed."""
    goal = sum(cluster.consumed().values()) + pages
    wait_for(lambda: sum(cluster.consumed().values()) >= goal, f"{goal} pages to be committed")


def check(cluster: Cluster, *, ttl: int | None = None) -> Traces:
    """Check that every page is committed once, as the oracle says, with every kind of verdict among them."""
    cluster.wait_until_committed()
    # The broker ends a transaction topic by topic: consumed offsets may be committed before their verdicts can be read.
    outputs = [cluster.prefix + topic for topic in (DEDUPLICATED, VERDICTS, DEAD_LETTERS, JOBS)]
    wait_for(
        lambda: committed_ends(cluster.bootstrap, outputs) == last_ends(cluster.bootstrap, outputs),
        "all transactions to have ended on the outputs",
    )
    found = traces(cluster.bootstrap, cluster.prefix, ttl=ttl)
    committed = check_guarantees(found)
    assert {record and record.verdict for record in committed.values()} == FOUND
    check_sums(cluster.bootstrap, cluster.prefix)
    return found


def group_of(cluster: Cluster) -> str:
    """The group that shares the pages."""
    return f"{cluster.settings.kafka.group}-pages"


def members(cluster: Cluster, admin: Any) -> list[str]:
    """Ids of the workers that share the pages now."""
    group = group_of(cluster)
    return [member["member_id"] for member in admin.describe_groups([group])[group]["members"]]


def passed(verdicts: Sequence[Verdict]) -> Counter[tuple[int, bytes | None]]:
    """The records that ``deduplicated`` must hold for these verdicts, by partition and key."""
    return Counter((record.source[0], record.url.encode()) for record in verdicts)


def offsets_are_pending(cluster: Cluster) -> bool:
    """Whether an open transaction may still change a consumed offset."""
    consumer = KafkaConsumer(**cluster.options, group_id=group_of(cluster), isolation_level="read_committed")
    try:
        for number in range(cluster.settings.topics.partitions):
            consumer.committed(TopicPartition(cluster.prefix + PAGES, number), timeout_ms=300)
    except errors.KafkaTimeoutError:
        return True
    finally:
        consumer.close(autocommit=False)
    return False


def test_a_worker_that_is_paused_past_its_session_and_wakes_up(cluster: Cluster) -> None:
    sleeper = running(cluster.start_worker())
    with asking(cluster) as admin, crawl(cluster):
        commit(cluster, 60)
        (asleep,) = members(cluster, admin)
        sleeper.pause()
        other = running(cluster.start_worker())
        wait_for(lambda: (now := members(cluster, admin)) and asleep not in now, "the sleeper's session to end")
        commit(cluster, 60)
        sleeper.wake()
        commit(cluster, 60)
    check(cluster)
    assert [sleeper.stop(), other.stop()] == [0, 0]


@pytest.mark.long
def test_workers_that_join_and_leave_every_few_seconds(cluster: Cluster) -> None:
    cluster.start_worker()
    with crawl(cluster):
        for _ in range(2):
            two = [cluster.start_worker(), cluster.start_worker()]
            for worker in two:
                running(worker)
            commit(cluster, 90)
            assert [worker.stop() for worker in two] == [0, 0]
    check(cluster)


def test_a_broker_that_is_killed_and_comes_back(tmp_path: Path) -> None:
    with (
        LocalBroker(data_dir=tmp_path / "broker", announce=print) as broker,
        Cluster(broker.bootstrap_servers, "crawl.", tmp_path) as cluster,
    ):
        two = [running(cluster.start_worker()) for _ in range(2)]
        with crawl(cluster):
            for _ in range(2):
                commit(cluster, 60)
                broker.kill()
                broker.start()
            commit(cluster, 60)
        check(cluster)
        assert [worker.stop() for worker in two] == [0, 0]


@pytest.mark.long
def test_shards_that_are_restored_while_their_topic_is_compacted(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    ttl_days = 0.05
    quick = (
        f"near.ttl_days={ttl_days}",
        "index.flush_entries=4",
        "index.flush_seconds=0.4",
        "topics.shards=2",
    )
    eager = {"segment.ms": "300", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "0"}
    with Cluster(broker, topic_prefix, tmp_path, quick) as cluster:
        with asking(cluster) as admin:
            admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, cluster.prefix + INDEX, eager)])
        worker = running(cluster.start_worker())
        with crawl(cluster, a_minute_apart(invented(seed=1), int(time.time() * 1000) - DAY_MS)):
            for _ in range(3):
                commit(cluster, 120)
                assert worker.stop() == 0
                worker = running(cluster.start_worker())
        check(cluster, ttl=int(ttl_days * DAY_MS))
        left = read(broker, cluster.prefix + INDEX)
        written = {record.partition: record.offset + 1 for record in left}
        assert len(left) < sum(written.values()), "nothing was compacted, so nothing was tried"


@pytest.mark.long
def test_consumed_offsets_that_are_set_back_to_an_earlier_commit(cluster: Cluster) -> None:
    """The pages since that commit come out again, with the same verdicts."""
    worker = cluster.start_worker()
    with asking(cluster) as admin:
        with crawl(cluster):
            commit(cluster, 100)
            earlier = admin.list_group_offsets({group_of(cluster): None})[group_of(cluster)]
            commit(cluster, 100)
        cluster.wait_until_committed()
        assert worker.stop() == 0
        wait_for(lambda: not members(cluster, admin), "the worker to leave its group")
        back = {place: OffsetAndMetadata(then.offset, then.metadata, -1) for place, then in earlier.items()}
        admin.alter_group_offsets(group_of(cluster), back)
    cluster.start_worker()
    cluster.wait_until_committed()
    found = traces(cluster.bootstrap, cluster.prefix)
    once = {record.source: record for record in found.verdicts}
    assert len(once) < len(found.verdicts)
    assert all(record == once[record.source] for record in found.verdicts)
    assert found.passed == passed(found.verdicts)
    verdicts, dead = list(once.values()), sorted(set(found.dead))
    check_guarantees(replace(found, verdicts=verdicts, dead=dead, passed=passed(verdicts)))


@pytest.mark.long
def test_members_that_are_put_out_of_their_group_while_they_commit(cluster: Cluster) -> None:
    two = [running(cluster.start_worker("commit.seconds=0.05")) for _ in range(2)]
    with asking(cluster) as admin, crawl(cluster):
        for _ in range(4):
            commit(cluster, 60)
            gone = [MemberToRemove(member_id=member) for member in members(cluster, admin)]
            admin.remove_group_members(group_of(cluster), gone)
    check(cluster)
    assert [worker.stop() for worker in two] == [0, 0]


def test_an_owner_killed_with_its_offsets_pending(cluster: Cluster) -> None:
    owner = running(cluster.start_worker("commit.seconds=0.05"))
    with asking(cluster) as admin, crawl(cluster):

        def caught_in_a_transaction() -> bool:
            owner.pause()
            if open_transactions(admin, f"{cluster.settings.kafka.group}-") and offsets_are_pending(cluster):
                return True
            owner.wake()
            return False

        commit(cluster, 60)
        wait_for(caught_in_a_transaction, "the owner to be caught in the middle of a transaction")
        owner.kill()
        cluster.start_worker()
        commit(cluster, 60)
    check(cluster)


@pytest.mark.data
def test_three_workers_on_real_pages_one_killed_and_one_added(cluster: Cluster, real_pages: list[Page]) -> None:
    """Both in the middle. With more pages, and at five moments: ``python -m tools.cluster.nemesis --moments``."""
    some = random.Random(1).sample(real_pages, 300)
    pages = list(islice(revisited(some, seed=1), 400))
    three = [running(cluster.start_worker()) for _ in range(3)]
    with Crawler(cluster.options, cluster.prefix, pages, a_second=2 * PAGES_A_SECOND):
        commit(cluster, len(pages) // 2)
        three[1].kill()
        cluster.start_worker()
    cluster.wait_until_committed()
    assert len(check_guarantees(traces(cluster.bootstrap, cluster.prefix))) == len(pages)
