"""A state without Kafka becomes the beginning of a generation: pages get the verdicts that one state over both would
give."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.messages import Block
from tests.local.crawled import BEGUN, HOUR, crawl
from tests.local.test_same_verdicts import SAME, Workers, settings
from tests.operations.test_repair import everybody_dies
from tests.simulation.place import TwinPlace
from worker.compose import parts
from worker.local import Deduplicator
from worker.local.deduplicator import alone
from worker.local.state_file import StateFile
from worker.operations.copy_index import Copied, Drained, kept, refuse_used, seed
from worker.stream.policy import Note

SETTINGS = settings(scope="host")
KEYS = count(1)
CRAWL = [page for page, _ in crawl(7, 300)]
OLD, NEW = CRAWL[:150], CRAWL[150:]
NOW = BEGUN + 1000 * HOUR


def without_workers() -> Workers:
    """Unused topics."""
    workers = Workers(SETTINGS, claims_a_batch=16)
    everybody_dies(workers.world, workers.workers)
    workers.deaf.clear()
    workers.world.committed.clear()
    return workers


def blocks_of(folder: Path) -> list[Block]:
    with closing(StateFile(folder, parts.scheme(alone(SETTINGS), parts.recipe(SETTINGS)))) as state:
        return list(state.blocks())


def found(folder: Path, workers: Workers) -> Drained:
    return kept(blocks_of(folder), TwinPlace(workers.world), workers.policy, range(1))


def seeded(folder: Path, workers: Workers) -> Copied:
    """Run the command."""
    target = TwinPlace(workers.world)
    refuse_used(target, "", workers.policy)
    return seed(target, "", found(folder, workers), workers.policy, lambda: next(KEYS).to_bytes(16, "big"))


def test_verdicts_after_it_are_those_of_one_state_over_both(tmp_path: Path) -> None:
    with Deduplicator(tmp_path, SETTINGS, clock=lambda: NOW / 1000) as local:
        before = Counter(verdict.verdict for _, verdict in local.judge_all(OLD))
    workers = without_workers()
    assert seeded(tmp_path, workers).entries == before["unique"] > 20
    with Deduplicator(tmp_path, SETTINGS, clock=lambda: NOW / 1000) as local:
        ours = [verdict.row(SAME) for _, verdict in local.judge_all(NEW)]
    workers.take_over()
    theirs = workers.verdicts_on([page.record(number, NOW) for number, page in enumerate(NEW)])
    assert ours == theirs
    kinds = Counter(each["verdict"] for each in ours)
    assert min(kinds["unique"], kinds["duplicate"], kinds["refetch"], kinds["dead"]) > 2


def test_a_generation_that_was_used_is_refused_and_so_is_a_second_seed(tmp_path: Path) -> None:
    with Deduplicator(tmp_path, SETTINGS) as local:
        local.judge("http://a.example/", text="a text of its own")
    workers = without_workers()
    seeded(tmp_path, workers)
    with pytest.raises(Refused, match="topics delete --generation ''`"):
        seeded(tmp_path, workers)
    workers.take_over()
    with pytest.raises(Refused, match=r"(is|are) running \("):
        seeded(tmp_path, workers)


def test_a_state_without_pages_is_refused(tmp_path: Path) -> None:
    with Deduplicator(tmp_path, SETTINGS):
        pass
    with pytest.raises(Refused, match="scan into it first"):
        found(tmp_path, without_workers())


def test_a_generation_that_is_to_count_counts(tmp_path: Path) -> None:
    with Deduplicator(tmp_path, SETTINGS) as local:
        local.judge("http://a.example/", text="a text of its own")
    told = []
    for counting in (True, False):
        workers = without_workers()
        workers.policy = replace(workers.policy, output="count" if counting else "tag")
        seeded(tmp_path, workers)
        told.append(Note.from_metadata(workers.world.committed[0].metadata, "here").counts)
    assert told == [True, False]
