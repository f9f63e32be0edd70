"""The memory that an index may take, and the refusal before it takes more."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from crawler_plugin.wire.errors import Refused
from tests.stream.script import COMMIT, FLUSH, Page, Stage
from worker.compose.parts import new_index
from worker.config import load_settings
from worker.stream.resources import WorkerResources
from worker.stream.shard.memory_limit import MIB, MemoryLimit, OverMemoryLimit, expected_bytes

ROOMY = 300_000


@dataclass
class Index:
    """An index that reports 60 bytes per entry, 12 of them for the URL."""

    entries: int

    def __len__(self) -> int:
        return self.entries

    @property
    def nbytes(self) -> int:
        return 48 * self.entries

    @property
    def url_bytes(self) -> int:
        return 12 * self.entries


def test_without_a_limit_everything_fits() -> None:
    memory_limit = MemoryLimit()
    memory_limit.reserve(0, 10**12)
    memory_limit.grow(0, 10**12, Index(1))
    memory_limit.count(0, Index(1000))
    assert str(memory_limit) == "the index holds 1,000 entries, 0 MiB; index.memory_mb sets no limit"


def test_a_restore_that_would_not_fit_is_refused_before_it_begins() -> None:
    memory_limit = MemoryLimit(100 * MIB)
    fits = int(100 * MIB / expected_bytes())
    memory_limit.reserve(0, fits)
    memory_limit.release(0)
    with pytest.raises(OverMemoryLimit, match=r"shard 0 has 1,[\d,]+ entries.*above index\.memory_mb=100\. Raise it"):
        memory_limit.reserve(0, fits + 1000)


def test_shards_share_the_allowance() -> None:
    memory_limit = MemoryLimit(100 * MIB)
    half = int(60 * MIB / expected_bytes())
    memory_limit.reserve(0, half)
    with pytest.raises(OverMemoryLimit, match="the 60 MiB of the other shards"):
        memory_limit.reserve(1, half)
    memory_limit.release(0)
    memory_limit.reserve(1, half)


def test_shards_with_sketches_take_memory_before_they_hold_a_page() -> None:
    empty = new_index(load_settings(config=None, overrides=[], environ={}))()
    memory_limit = MemoryLimit(2 * empty.nbytes + MIB, sketched=True)
    for shard in range(2):
        memory_limit.reserve(shard, 0)
        memory_limit.count(shard, empty)
    with pytest.raises(OverMemoryLimit, match="shard 2 has 0 entries, about 8 MiB"):
        memory_limit.reserve(2, 0)


def test_an_index_of_some_size_says_itself_what_an_entry_takes() -> None:
    memory_limit = MemoryLimit(100 * MIB)
    memory_limit.count(0, Index(ROOMY))
    assert memory_limit.entry_bytes == 60
    assert memory_limit.used == 60 * ROOMY
    room = int((100 * MIB - 60 * ROOMY) / 60)
    assert f"room for {room:,} more at 60 bytes an entry" in str(memory_limit)


def test_growing_is_refused_before_the_limit_is_passed_and_not_much_earlier() -> None:
    memory_limit = MemoryLimit(30 * MIB)
    index = Index(ROOMY)
    memory_limit.count(0, index)
    with pytest.raises(OverMemoryLimit, match=r"1000 more would take it above index\.memory_mb=30"):
        while True:
            memory_limit.grow(0, 1000, index)
            index.entries += 1000
    assert 30 * MIB - 60 * 1000 - 60 <= index.nbytes + index.url_bytes <= 30 * MIB


def test_what_can_be_spared_is_no_reason_to_refuse_and_is_in_the_way_until_it_goes() -> None:
    memory_limit = MemoryLimit(30 * MIB)
    for shard in range(2):
        memory_limit.count(shard, Index(15 * MIB // 60))
    memory_limit.spare(0, True)
    memory_limit.reserve(2, 1000)
    crowded = [memory_limit.crowded]
    memory_limit.release(0)
    crowded.append(memory_limit.crowded)
    memory_limit.reserve(2, 1000)
    assert [*crowded, memory_limit.crowded] == [True, False, False]


def test_what_does_not_fit_beside_the_others_is_refused_whatever_can_be_spared() -> None:
    memory_limit = MemoryLimit(30 * MIB)
    for shard in range(2):
        memory_limit.count(shard, Index(15 * MIB // 60))
    memory_limit.spare(0, True)
    with pytest.raises(OverMemoryLimit):
        memory_limit.reserve(2, 16 * MIB // 60)
    memory_limit.spare(0, False)
    with pytest.raises(OverMemoryLimit):
        memory_limit.grow(1, 1000, Index(15 * MIB // 60))


def test_a_worker_ends_before_its_index_takes_more_than_it_may() -> None:
    class Tight(Stage):
        resources = WorkerResources(memory_limit=MemoryLimit(MIB))

    stage = Tight(shards=1)
    stage.play(Page("http://a/", 0b000), COMMIT, FLUSH)
    stage.resources.memory_limit.count(9, Index(MIB // 60 - 1))
    with pytest.raises(Refused) as refused:
        stage.play(Page("http://b/", 0b111), COMMIT)
    assert refused.value.exit_code == 4
    assert "start another worker" in str(refused.value)
