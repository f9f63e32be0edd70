"""The port's own functions: reading a partition to its end, the weight of a record, evictions."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from worker.stream.log import HEADER_BYTES, RECORD_BYTES, Membership, Reader, Record, read_to_end


class Portions(Reader):
    """Gives a partition's records in portions, the last portion after a read that brings no record and ends at a
    hole."""

    def __init__(self, *portions: tuple[Sequence[int], int]) -> None:
        self.portions = list(portions)
        self.closed = False
        self._position = 0

    @property
    def position(self) -> int:
        return self._position

    def read(self, wait: float = 0.0) -> Sequence[Record]:
        assert not self.closed
        offsets, self._position = self.portions.pop(0)
        return [Record(0, offset, b"", b"", (), 0) for offset in offsets]

    def close(self) -> None:
        self.closed = True


def test_all_before_the_end_is_read_past_holes_and_nothing_from_the_end_on() -> None:
    reader = Portions(([0, 2], 3), ([], 3), ([4, 5, 6], 7), ([7], 8))
    assert [record.offset for record in read_to_end(reader, 6)] == [0, 2, 4, 5]
    assert reader.closed
    assert reader.portions == [([7], 8)]


def test_a_hole_at_the_end_is_waited_for() -> None:
    reader = Portions(([0], 1), ([], 1), ([], 2))
    assert [record.offset for record in read_to_end(reader, 2)] == [0]
    assert not reader.portions


def test_who_leaves_early_or_gives_up_has_closed_the_reader() -> None:
    left = Portions(([0, 1], 2), ([2], 3))
    for record in read_to_end(left, 3):
        if record.offset == 1:
            break
    assert left.closed

    class GivenUp(Exception):
        pass

    def give_up() -> None:
        raise GivenUp

    with pytest.raises(GivenUp):
        next(read_to_end(given_up := Portions(([0], 1)), 1, before_each_read=give_up))
    assert given_up.closed
    assert given_up.portions


def test_holding_a_record_takes_its_content_and_something_for_each_of_its_parts() -> None:
    bare = Record(0, 0, None, None, (), 0)
    full = Record(0, 0, b"key", b"body", [("url", b"http://a/"), ("status", None)], 0)  # type: ignore[list-item]
    assert bare.weight == RECORD_BYTES
    assert full.weight == RECORD_BYTES + len(b"keybody") + 2 * HEADER_BYTES + len(b"urlhttp://a/status")


@pytest.mark.parametrize(("generation", "evicted"), [(-1, True), (0, False), (7, False)])
def test_a_member_of_no_generation_is_evicted(generation: int, evicted: bool) -> None:
    assert Membership(generation, "member").evicted is evicted
