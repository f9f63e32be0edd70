"""Shards with two holders, on real workers: while one worker is dead, pages of the other workers get their verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from kafka import KafkaAdminClient
from kafka.errors import CoordinatorNotAvailableError

from crawler_plugin.wire.topics import PAGES, group_names
from tests.cluster.cluster import STARTED, Cluster, WorkerProcess
from tests.cluster.crawl import Crawler, invented
from tests.cluster.outside import committed_ends, traces
from tests.guarantees import check_guarantees
from tests.waiting import wait_for

pytestmark = pytest.mark.cluster

PAGES_A_SECOND: Final = 60
SESSION: Final = ("kafka.session_timeout_seconds=25",)
"""A session long enough for everything that must happen before its end."""


class Crew:
    """Workers with names of their own, and the broker's view of their two groups."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.admin: Any = KafkaAdminClient(**cluster.options)
        self.named: dict[str, WorkerProcess] = {}
        self._names = (f"worker-{number}" for number in count())

    def start(self, *more: str) -> str:
        """Start one more worker; returns its name."""
        name = next(self._names)
        self.named[name] = self.cluster.start_worker(f"kafka.instance_id={name}", *more)
        return name

    def owned(self, group: int) -> dict[str, set[tuple[str, int]]]:
        """The topic partitions that each worker owns, in the group on pages (0) or in the group on shards (1)."""
        settings = self.cluster.settings
        name = group_names(settings.kafka.group, settings.topics.generation)[group]
        try:
            found = self.admin.describe_groups([name])[name]["members"]
        except CoordinatorNotAvailableError:  # the broker is making the topic of all groups
            return {}
        return {
            member["group_instance_id"].rpartition("-")[0]: {
                (topic["topic"].removeprefix(settings.topics.prefix), partition)
                for topic in (member["member_assignment"] or {}).get("assigned_partitions", ())
                for partition in topic["partitions"]
            }
            for member in found
        }

    def is_shared_out(self) -> bool:
        """Whether each live worker owns pages, and holds shards in both roles, and all shards have both holders."""
        alive = {name for name, worker in self.named.items() if worker.alive}
        pages, shards = self.owned(0), self.owned(1)
        return (
            alive == pages.keys() == shards.keys()
            and all(pages.values())
            and all({topic for topic, _ in held} == {"index", "index-standby"} for held in shards.values())
            and sum(map(len, shards.values())) == 2 * self.cluster.settings.topics.shards
            and all(len({number for _, number in held}) == len(held) for held in shards.values())
        )

    def wait(self) -> None:
        """Wait until everything is shared out and every worker can answer."""
        wait_for(lambda: all(STARTED in worker.said() for worker in self.named.values()), "workers to run")
        wait_for(self.is_shared_out, "pages and both holders of all shards to be shared out")

    def commit_beyond(self, partitions: set[int]) -> None:
        """Wait until all pages that are on these partitions now, and some more, have their verdicts."""
        topic = self.cluster.prefix + PAGES
        ends = committed_ends(self.cluster.bootstrap, [topic])
        goal = {number: ends[topic, number] + 1 for number in partitions}

        def so() -> bool:
            consumed = self.cluster.consumed()
            return all(consumed.get(number, 0) >= end for number, end in goal.items())

        wait_for(so, f"pages on partitions {sorted(partitions)} to be committed")


@pytest.fixture
def crew(broker: str, topic_prefix: str, tmp_path: Path) -> Iterator[Crew]:
    """Topics of this test's own, and no worker yet."""
    with Cluster(broker, topic_prefix, tmp_path, ["index.replicas=2", *SESSION]) as cluster:
        made = Crew(cluster)
        yield made
        made.admin.close()


def check(cluster: Cluster) -> None:
    """Check that every page is committed once, as the oracle says."""
    cluster.wait_until_committed()
    check_guarantees(traces(cluster.bootstrap, cluster.prefix))


def test_while_a_worker_is_paused_and_another_dies_pages_of_the_living_get_their_verdicts(crew: Crew) -> None:
    cluster = crew.cluster
    names = [crew.start() for _ in range(3)]
    crew.wait()
    with Crawler(cluster.options, cluster.prefix, invented(seed=1), a_second=PAGES_A_SECOND) as crawler:
        crew.commit_beyond(set(range(cluster.settings.topics.partitions)))
        pages = {name: {number for _, number in places} for name, places in crew.owned(0).items()}
        crew.named[names[0]].pause()
        crew.commit_beyond(pages[names[1]] | pages[names[2]])
        assert names[0] in crew.owned(1), "it was put out meanwhile, so this shows nothing"
        crew.named[names[0]].wake()
        crew.commit_beyond(pages[names[0]])
        crew.named[names[1]].kill()
        crew.commit_beyond(pages[names[0]] | pages[names[2]])
        assert names[1] in crew.owned(1), "it was put out meanwhile, so this shows nothing"
        crawler.stop()
    check(cluster)
    assert [crew.named[name].stop() for name in (names[0], names[2])] == [0, 0]


@pytest.mark.long
def test_the_number_of_holders_is_changed_while_a_crawl_goes_on(crew: Crew) -> None:
    """The test restarts one worker after the other with the other value."""
    cluster = crew.cluster
    names = [crew.start("index.replicas=1") for _ in range(2)]
    wait_for(lambda: all(STARTED in crew.named[name].said() for name in names), "workers to run")
    with Crawler(cluster.options, cluster.prefix, invented(seed=3), a_second=PAGES_A_SECOND) as crawler:
        everything = set(range(cluster.settings.topics.partitions))
        crew.commit_beyond(everything)
        for replicas in (2, 1):
            for name in list(crew.named):
                assert crew.named.pop(name).stop() == 0
                crew.start(f"index.replicas={replicas}")
                crew.commit_beyond(everything)
            if replicas == 2:
                crew.wait()
        crawler.stop()
    check(cluster)
