"""A program whose records have another version takes over from the program before, with the handbook's commands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest

from crawler_plugin.wire import messages
from crawler_plugin.wire.topics import PAGES
from tests.cluster import earlier_program
from tests.cluster.cluster import SMALL, Cluster, WorkerProcess
from tests.cluster.crawl import Page, invented
from tests.cluster.outside import read, traces
from tests.handbook import commands, play
from tests.waiting import wait_for

pytestmark = pytest.mark.cluster

HEADING = "A program whose records have another format"


@contextmanager
def the_program_before() -> Iterator[None]:
    """Inside the block this process reads records as that program does."""
    with pytest.MonkeyPatch.context() as earlier:
        for kind, version in earlier_program.EARLIER.items():
            earlier.setitem(messages.VERSIONS, kind, version)
        yield


def refused(cluster: Cluster, worker: WorkerProcess, said: str) -> None:
    """Check that the worker ends with 4 and these words."""
    wait_for(lambda: not worker.alive, "a worker to end", 120)
    cluster.workers.remove(worker)
    assert worker.process.returncode == 4, worker.said()
    assert re.search(said, worker.said()), worker.said()


@pytest.mark.long
def test_the_new_program_goes_on_with_the_index_of_the_old_one_and_no_page_is_lost_or_judged_twice(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    copy, delete = commands("change-settings", HEADING)
    pages: list[Page] = list(islice(invented(seed=6), 60))
    with Cluster(broker, topic_prefix, tmp_path, SMALL) as old:
        old.start_worker(program=earlier_program.COMMAND)
        old.publish(pages)
        old.wait_until_committed()
        refused(old, old.start_worker(), r"Batch of format version 1 .* reads version 2: .* index copy --to NAME")
        assert old.stop() == [0]
        old.publish(pages)  # while no worker runs

        copied = play(copy, old)
        assert copied.returncode == 0, copied
        refused(old, old.start_worker(program=earlier_program.COMMAND), r"given to topics\.generation='b'")
        refused(old, old.start_worker("topics.generation=b", program=earlier_program.COMMAND), "upgrade this worker")

        new = Cluster(broker, topic_prefix, tmp_path, (*SMALL, "topics.generation=b"), started=10)
        with new:
            new.start_worker()
            new.wait_until_committed()
            assert new.stop() == [0]
        with the_program_before():
            first = traces(broker, topic_prefix)
        second = traces(broker, topic_prefix, generation="b")
        seen = Counter(
            place for found in (first, second) for place in (*(v.source for v in found.verdicts), *found.dead)
        )
        assert seen == Counter((record.partition, record.offset) for record in read(broker, topic_prefix + PAGES))
        known = {record.url for record in first.verdicts if record.verdict == "unique" and record.fingerprint}
        assert {record.verdict for record in second.verdicts if record.url in known} <= {"refetch", "duplicate"}
        assert {record.source for record in second.verdicts if record.url in known}

        deleted = play(delete, new)
        assert f"deleted {topic_prefix}index\n" in deleted.stdout, deleted
