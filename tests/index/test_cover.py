from itertools import permutations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.messages import Block
from tests.index.logs import DecidedLog, decided_logs, plain_log
from worker.index.blocks import cover, tombstones

Span = tuple[int, int]


def expiring_log() -> DecidedLog:
    """Ten batches; from batch 8 on everything up to batch 4 has expired, from batch 9 on everything up to 5."""
    return DecidedLog((2,) * 10, (0, 0, 0, 0, 10, 20, 30, 40, 65, 75))


@pytest.mark.parametrize(
    ("spans", "pieces", "damaged"),
    [
        ([], [], []),
        ([(-1, 3)], [(-1, 3, -1)], []),
        ([(-1, 3), (3, 7)], [(-1, 3, -1), (3, 7, 3)], []),
        ([(-1, 3), (2, 7)], [(-1, 3, -1), (2, 7, 3)], []),
        ([(-1, 3), (-1, 7)], [(-1, 7, -1)], []),
        ([(-1, 7), (2, 5)], [(-1, 7, -1)], []),
        ([(-1, 7), (2, 7)], [(-1, 7, -1)], []),
        ([(-1, 3), (4, 7)], [(-1, 3, -1)], [(4, 7)]),
        ([(-1, 3), (4, 7), (6, 9)], [(-1, 3, -1)], [(4, 7), (6, 9)]),
        ([(-1, 3), (1, 5), (2, 6), (5, 9)], [(-1, 3, -1), (2, 6, 3), (5, 9, 6)], []),
        ([(0, 3)], [], [(0, 3)]),
        ([(-1, 3), (-1, 3)], [(-1, 3, -1)], []),
    ],
    ids=[
        "nothing",
        "one",
        "two in a row",
        "overlap",
        "one inside another",
        "a shorter one inside",
        "same end",
        "a gap",
        "a gap, two above it",
        "the furthest is taken",
        "the first is lost",
        "one written twice",
    ],
)
def test_the_cover_of_blocks_without_expiry(
    spans: list[Span], pieces: list[tuple[int, int, int]], damaged: list[Span]
) -> None:
    log = plain_log()
    for order in permutations([log.block(*span) for span in spans]):
        found = cover(order)
        assert [(piece.block.after, piece.block.to, piece.after) for piece in found.pieces] == pieces
        assert [(block.after, block.to) for block in found.damaged] == damaged
        assert found.end == (pieces[-1][1] if pieces else -1)
        assert list(found.entries()) == log.rows(-1, found.end)


@pytest.mark.parametrize(
    ("spans", "first_after", "end", "damaged"),
    [
        ([(-1, 3), (3, 7), (7, 9)], 5, 9, []),
        ([(3, 7), (7, 9)], 5, 9, []),
        ([(5, 7), (7, 9)], 5, 9, []),
        ([(2, 8)], 4, 8, []),
        ([(-1, 4), (7, 9)], None, 4, [(7, 9)]),
        ([(-1, 2), (-1, 5), (6, 9)], None, 5, [(6, 9)]),
        ([(7, 9)], None, -1, [(7, 9)]),
        ([(-1, 6), (7, 9)], 5, 6, [(7, 9)]),
    ],
    ids=[
        "expired blocks are not needed",
        "buried blocks are not missed",
        "a block begins at the floor",
        "a block goes over its own floor",
        "lost above the floor: on from the last block below it",
        "a block ends at the floor",
        "all that is left floats above the floor",
        "lost above the floor's block",
    ],
)
def test_the_cover_of_blocks_with_expiry(
    spans: list[Span], first_after: int | None, end: int, damaged: list[Span]
) -> None:
    log = expiring_log()
    found = cover([log.block(*span) for span in spans])
    assert (found.pieces[0].after if found.pieces else None) == first_after
    assert found.end == end
    assert [(block.after, block.to) for block in found.damaged] == damaged
    assert list(found.entries()) == log.rows(found.floor, end)
    assert [batch for batch, _ in found.clocks] == list(range(found.floor + 1, end + 1))


def test_the_state_at_the_end_is_that_of_the_block_that_ends_there() -> None:
    log = plain_log()
    last = cover([log.block(-1, 3), log.block(-1, 9), log.block(2, 12), log.block(14, 15)]).last
    assert last is not None
    assert (last.to, last.answers_offset, dict(last.claimed_up_to)) == (12, 38, {0: 120, 7: 12})


def test_without_blocks_nothing_is_known() -> None:
    found = cover([])
    assert (found.last, found.end, found.floor, found.clocks, len(found.entries())) == (None, -1, -1, (), 0)


@pytest.mark.parametrize(
    ("changed", "values"),
    [
        ({"answers_offset": 7}, "20 .* 7"),
        ({"watermark": 7}, "0 .* 7"),
        ({"claimed_up_to": ((0, 60),)}, r"\(0, 60\).*\(7, 6\).* \(\(0, 60\),\)"),
    ],
    ids=["answers-offset", "watermark", "claimed-up-to"],
)
@pytest.mark.parametrize("above_a_gap", [False, True])
def test_two_blocks_that_end_together_with_other_state_are_refused(
    changed: dict[str, object], values: str, above_a_gap: bool
) -> None:
    log = plain_log()
    blocks = [log.block(2, 6, b"\x01"), msgspec.structs.replace(log.block(4, 6, b"\x02"), **changed)]
    if not above_a_gap:
        blocks.append(log.block(-1, 3))
    name = next(iter(changed))
    with pytest.raises(Refused, match=rf"shard 3 end at batch 6 and differ in {name}.*{values}.*worker repair"):
        cover(blocks)


def test_two_blocks_that_end_together_may_have_other_floors_and_writers() -> None:
    log = expiring_log()
    found = cover([log.block(-1, 8, b"one"), log.block(3, 8, b"two", floor_read=5), log.block(7, 9)])
    assert (found.floor, found.end) == (5, 9)
    assert list(found.entries()) == log.rows(5, 9)


def test_blocks_of_two_shards_are_refused() -> None:
    log = plain_log()
    with pytest.raises(Refused, match="shards 3 and 4 stand in one partition"):
        cover([log.block(-1, 3), msgspec.structs.replace(log.block(3, 6), shard=4)])


@settings(max_examples=300)
@given(decided_logs, st.data())
def test_any_blocks_of_a_log_cover_its_survivors_up_to_their_end(log: DecidedLog, data: st.DataObject) -> None:
    spans = st.tuples(st.integers(-1, log.last - 1), st.integers(0, log.last)).filter(lambda span: span[0] < span[1])
    drawn = data.draw(st.lists(st.tuples(spans, st.sampled_from((b"one", b"two"))), max_size=12))
    blocks = [log.block(*span, writer) for span, writer in drawn]
    found = cover(data.draw(st.permutations(blocks)))

    floor = max((block.floor for block in blocks), default=-1)
    assert found.floor == floor
    assert list(found.entries()) == log.rows(floor, found.end)
    assert found.clocks == tuple(
        (batch, log.watermark(batch)) for batch in range(floor + 1, found.end + 1) if log.survivors[batch]
    )
    assert (found.last is None) == (found.end == -1)
    assert found.last is None or found.last in blocks
    # No block could continue the cover: every block that ends above the cover begins above it.
    reached = max(found.end, floor)
    assert all(reached < block.after for block in found.damaged)
    assert {id(block) for block in blocks if block.to > reached} == {id(block) for block in found.damaged}
    assert not found.pieces or found.end > floor


@given(decided_logs, st.lists(st.integers(1, 5), min_size=1, max_size=14), st.randoms())
def test_no_survivor_is_lost_when_expired_blocks_are_buried(log: DecidedLog, steps: list[int], chance: object) -> None:
    blocks: dict[bytes, Block] = {}
    after = -1
    for number, step in enumerate(steps):
        to = min(after + step, log.last)
        if to == after:
            break
        for copy in (b"a", b"b")[: 1 + chance.randrange(2)]:  # type: ignore[attr-defined]
            blocks[copy + bytes([number])] = log.block(after, to, copy)
        after = to
        floor = max(block.floor for block in blocks.values())
        for key in tombstones({key: block.to for key, block in blocks.items()}, floor):
            if chance.random() < 0.8:  # type: ignore[attr-defined]
                del blocks[key]
        found = cover(blocks.values())
        assert (found.end, found.floor) == (to, log.floor(to))
        assert not found.damaged
        assert list(found.entries()) == log.rows(found.floor, to)
