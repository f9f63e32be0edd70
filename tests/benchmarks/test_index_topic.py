"""The records that fill the topic are those that workers would restore."""

from __future__ import annotations

from benchmarks.index_topic import BLOCK, blocks
from tests.stream.script import policy
from worker.index.blocks import cover


def test_the_blocks_of_a_shard_cover_all_batches_and_hold_so_many_different_survivors() -> None:
    entries = 2 * BLOCK + 5
    covered = cover(list(blocks(policy(shards=1), 0, entries, 4)))
    assert (covered.end, covered.damaged) == (3, ())
    survivors = [survivor for piece in covered.pieces for survivor in piece.entries()]
    assert len({survivor.order for survivor in survivors}) == len(survivors) == entries
    assert len({survivor.fingerprint for survivor in survivors}) == entries


def test_shards_hold_different_survivors() -> None:
    one, other = (next(blocks(policy(shards=2), shard, BLOCK, 1)) for shard in (0, 1))
    assert (one.shard, other.shard) == (0, 1)
    assert one.fingerprint != other.fingerprint
