"""Fewer blocks with the same content."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler_plugin.wire.messages import Block
from tests.local.test_single_shard import POLICY, claim, judged, single
from worker.index.blocks import cover
from worker.local.compaction import compacted, is_crowded
from worker.stream.policy import Policy

FAR = 0x9E3779B97F4A7C15


def blocks_of(rules: Policy, runs: list[list[int]]) -> list[Block]:
    """One block per run of pages; a page is given by its time, and has a text of its own or the text of an earlier
    page."""
    shard = single(rules)
    number = 0
    for run in runs:
        for clock in run:
            judged(shard, claim(f"{number}", number // 2 * FAR & (1 << 64) - 1, clock))
            number += 1
        shard.seal()
    return list(shard.sealed)


runs_of_pages = st.lists(st.lists(st.integers(0, 300), min_size=1, max_size=4), min_size=1, max_size=12)


@pytest.mark.parametrize("ttl", [None, 20])
@settings(max_examples=30)
@given(runs=runs_of_pages)
def test_from_fewer_blocks_the_same_is_restored_as_from_all(ttl: int | None, runs: list[list[int]]) -> None:
    rules = replace(POLICY, ttl=ttl)
    blocks = blocks_of(rules, runs)
    (fewer,) = compacted(blocks)
    before, after = cover(blocks), cover([fewer])
    assert list(after.entries()) == list(before.entries())
    assert (after.end, after.floor, after.clocks) == (before.end, before.floor, before.clocks)
    assert (fewer.after, fewer.watermark, fewer.claimed_up_to) == (-1, blocks[-1].watermark, blocks[-1].claimed_up_to)
    whole, short = single(rules, blocks), single(rules, [fewer])
    coming = [claim(f"n{n}", n * FAR & (1 << 64) - 1, 300 + n) for n in range(12)]
    assert judged(short, *coming) == judged(whole, *coming)


def test_full_blocks_stay_apart_and_go_on_from_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.local.compaction._FULL", 4)
    blocks = blocks_of(POLICY, [[1, 1, 1, 1]] * 5)
    fewer = compacted(blocks)
    assert [(block.after, block.to, block.count) for block in fewer] == [(-1, 7, 4), (7, 15, 4), (15, 19, 2)]
    assert list(cover(fewer).entries()) == list(cover(blocks).entries())


def test_no_block_is_no_block() -> None:
    assert compacted([]) == []
    assert not is_crowded([])


def test_many_small_blocks_are_crowded_and_so_are_those_of_which_most_has_expired() -> None:
    assert not is_crowded(blocks_of(POLICY, [[0]] * 64))
    assert is_crowded(blocks_of(POLICY, [[0]] * 65))
    expiring = replace(POLICY, ttl=20)
    assert not is_crowded(blocks_of(expiring, [[clock] * 4 for clock in (0, 1, 2, 3, 4)]))
    assert is_crowded(blocks_of(expiring, [*([clock] * 4 for clock in (0, 1, 2, 3)), [100] * 40]))
