"""The memory that an index may take, and the refusal before it takes more."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.stream.script import FLUSH, SETTLE, Page, Stage
from worker.cli.compose import new_index
from worker.config import load_settings
from worker.errors import Refused
from worker.stream.allowance import MIB, Allowance, OverAllowance, expected_bytes
from worker.stream.local import Local

ROOMY = 300_000


@dataclass
class Index:
    """What an index says of itself: 60 bytes an entry, 12 of them URL."""

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
    allowance = Allowance()
    allowance.reserve(0, 10**12)
    allowance.grow(0, 10**12, Index(1))
    allowance.count(0, Index(1000))
    assert str(allowance) == "the index holds 1,000 entries, 0 MiB; index.memory_mb sets no limit"


def test_a_restore_that_would_not_fit_is_refused_before_it_begins() -> None:
    allowance = Allowance(100 * MIB)
    fits = int(100 * MIB / expected_bytes())
    allowance.reserve(0, fits)
    allowance.release(0)
    with pytest.raises(OverAllowance, match=r"shard 0 has 1,[\d,]+ entries.*above index\.memory_mb=100\. Raise it"):
        allowance.reserve(0, fits + 1000)


def test_shards_share_the_allowance() -> None:
    allowance = Allowance(100 * MIB)
    half = int(60 * MIB / expected_bytes())
    allowance.reserve(0, half)
    with pytest.raises(OverAllowance, match="the 60 MiB of the other shards"):
        allowance.reserve(1, half)
    allowance.release(0)
    allowance.reserve(1, half)


def test_shards_with_sketches_take_memory_before_they_hold_a_page() -> None:
    empty = new_index(load_settings(config=None, overrides=[], environ={}))()
    allowance = Allowance(2 * empty.nbytes + MIB, sketched=True)
    for shard in range(2):
        allowance.reserve(shard, 0)
        allowance.count(shard, empty)
    with pytest.raises(OverAllowance, match="shard 2 has 0 entries, about 8 MiB"):
        allowance.reserve(2, 0)


def test_an_index_of_some_size_says_itself_what_an_entry_takes() -> None:
    allowance = Allowance(100 * MIB)
    allowance.count(0, Index(ROOMY))
    assert allowance.entry_bytes == 60
    assert allowance.used == 60 * ROOMY
    room = int((100 * MIB - 60 * ROOMY) / 60)
    assert f"room for {room:,} more at 60 bytes an entry" in str(allowance)


def test_growing_is_refused_before_the_limit_is_passed_and_not_much_earlier() -> None:
    allowance = Allowance(30 * MIB)
    index = Index(ROOMY)
    allowance.count(0, index)
    with pytest.raises(OverAllowance, match=r"1000 more would take it above index\.memory_mb=30"):
        while True:
            allowance.grow(0, 1000, index)
            index.entries += 1000
    assert 30 * MIB - 60 * 1000 - 60 <= index.nbytes + index.url_bytes <= 30 * MIB


def test_a_worker_ends_before_its_index_takes_more_than_it_may() -> None:
    class Tight(Stage):
        local = Local(allowance=Allowance(MIB))

    stage = Tight(shards=1)
    stage.play(Page("http://a/", 0b000), SETTLE, FLUSH)
    stage.local.allowance.count(9, Index(MIB // 60 - 1))
    with pytest.raises(Refused) as refused:
        stage.play(Page("http://b/", 0b111), SETTLE)
    assert refused.value.exit_code == 4
    assert "start another worker" in str(refused.value)
