"""Following both logs, and the answers that count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.messages import Hit, encode
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, PAGES
from tests.simulation.memory_log import MemoryLog, World
from tests.simulation.schedule import SCHEME
from tests.stream.script import Listener, answer, batch, claim, policy, write
from worker.stream.barrier import Ends
from worker.stream.log import Reader, Record
from worker.stream.log_follower import DecidedBatch, Follower, LogSubscriber, Pending
from worker.stream.policy import ReplayPoint

START: Final = ReplayPoint(0, 0)


class Told(LogSubscriber):
    """A subscriber that remembers its calls."""

    def __init__(self) -> None:
        self.read: list[int] = []
        self.decided: list[DecidedBatch] = []

    def on_read(self, pending: Pending) -> None:
        self.read.append(pending.offset)

    def on_decided(self, decided: DecidedBatch) -> None:
        self.decided.append(decided)

    @property
    def offsets(self) -> list[int]:
        return [decided.offset for decided in self.decided]


class Following:
    """A world with two shards, one follower of it and one subscriber."""

    def __init__(self, start: ReplayPoint = START, world: World | None = None) -> None:
        self.world = world or World(partitions=1, shards=2)
        self.world.partitions = 4
        for partition in range(4):
            self.world.topics[PAGES, partition].end = 10**6  # the claimed pages exist
        self.observer = Listener()
        log = MemoryLog(self.world, "w")
        self.now = 0.0
        self.follower = Follower(
            log, policy(), start, self.observer, Ends(log.all_bounds, log.has_partition), lambda: self.now
        )
        self.told = Told()
        self.follower.join(self.told)

    def on(self) -> list[int]:
        """Read and decide; returns the batches decided so far."""
        self.follower.read()
        self.follower.decide()
        return self.told.offsets


def hit(place: int, order: tuple[int, int], **fields: Any) -> Hit:
    found: dict[str, Any] = {"url": "u", "distance": 1, "reason": "hamming", **fields}
    return Hit(place=place, order=order, **found)


def test_a_batch_is_decided_when_all_shards_have_answered_it() -> None:
    at = Following()
    write(at.world, batch(claim(0)))
    assert at.on() == []
    assert at.follower.missing() == {0, 1}
    write(at.world, answer(0, 1))
    assert at.on() == []
    assert at.follower.missing() == {0}
    write(at.world, answer(0, 0))
    assert at.on() == [0]
    assert at.follower.missing() == frozenset()


def test_batches_are_decided_in_the_order_of_the_log() -> None:
    at = Following()
    for offset in range(2):
        write(at.world, batch(claim(offset)))
    for shard in range(2):
        write(at.world, answer(1, shard))
    assert at.on() == []
    for shard in range(2):
        write(at.world, answer(0, shard))
    assert at.on() == [0, 1]


def test_deciding_stops_before_the_batch_that_is_named() -> None:
    at = Following()
    for offset in range(3):
        write(at.world, batch(claim(offset)))
        for shard in range(2):
            write(at.world, answer(offset, shard))
    at.follower.read()
    assert at.follower.decide(before=2) == 2
    assert at.told.offsets == [0, 1]
    assert at.follower.place.batch == 2


def test_an_answer_that_is_read_before_its_batch_is_kept() -> None:
    at = Following()
    for shard in range(2):
        write(at.world, answer(0, shard))
    assert at.on() == []
    write(at.world, batch(claim(0)))
    assert at.on() == [0]


def test_another_is_silent_from_the_reading_of_a_batch_or_from_its_last_answer_on() -> None:
    at = Following()
    write(at.world, batch(claim(0)))
    write(at.world, batch(claim(1)))
    at.now = 10.0
    at.on()
    at.now = 12.0
    assert [at.follower.silent_for(shard) for shard in range(2)] == [2.0, 2.0]
    write(at.world, answer(0, 0, writer=b"other"))
    write(at.world, answer(0, 1, writer=policy().writer))
    at.on()
    at.now = 15.0
    assert [at.follower.silent_for(shard) for shard in range(2)] == [3.0, 5.0], "its own answer is no sign of another"


def test_it_waits_for_what_must_come_next_and_never_with_a_batch_in_hand_that_is_to_be_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at = Following()
    waited: list[tuple[str, float]] = []

    def remember(name: str, reader: Reader) -> None:
        read = reader.read

        def reading(wait: float = 0.0) -> Sequence[Record]:
            waited.append((name, wait))
            return read(wait)

        monkeypatch.setattr(reader, "read", reading)

    remember("fingerprints", at.follower.fingerprints)
    remember("answers", at.follower.answers_reader)
    at.follower.read(0.5)
    write(at.world, batch(claim(0)))
    at.follower.read(0.5)
    assert waited == [("fingerprints", 0.5), ("answers", 0.0)] * 2, "the batch came while it waited"
    waited.clear()
    at.follower.read(0.5)
    assert waited == [("fingerprints", 0.0), ("answers", 0.5)], "its shards have answered, others have not"
    for shard in range(2):
        write(at.world, answer(0, shard))
    at.follower.read()
    waited.clear()
    at.follower.read(0.5)
    assert waited == [("fingerprints", 0.0), ("answers", 0.0)], "all have answered: it is to be decided"


# the answer that counts


def test_the_first_answer_counts_and_another_worker_may_give_it_again() -> None:
    at = Following()
    write(at.world, batch(claim(0)))
    write(at.world, answer(0, 0, writer=b"one"))
    write(at.world, answer(0, 0, writer=b"two"))
    write(at.world, answer(0, 1))
    write(at.world, answer(0, 1, writer=b"two"))
    assert at.on() == [0]
    assert at.told.decided[0].after == ReplayPoint(1, 3), "the replay point lies after the answer that completed it"


@pytest.mark.parametrize(
    "later",
    [answer(0, 0, void=[0]), answer(0, 0), answer(0, 0, hit(0, (0, 1))), answer(0, 0, hit(1, (0, 0)))],
    ids=["void", "no hit", "another survivor", "another claim"],
)
@pytest.mark.parametrize("decided_between", [False, True])
def test_a_later_answer_that_differs_proves_damage(later: bytes, decided_between: bool) -> None:
    at = Following()
    write(at.world, batch(claim(0, 0b1)))
    write(at.world, answer(0, 0, hit(0, (0, 0))))
    if decided_between:
        write(at.world, answer(0, 1))
        assert at.on() == [0]
    write(at.world, later)
    with pytest.raises(Refused, match=r"two answers of shard 0 to batch 0 differ .*index inspect"):
        at.on()


def test_what_is_remembered_of_a_decided_answer_is_as_small_as_that_of_any_other() -> None:
    """An answer to a batch of a thousand copies has 200 kB, and thousands of answers are remembered."""
    at = Following()
    hits = [hit(place, (0, place)) for place in range(100)]
    write(at.world, batch(*(claim(offset) for offset in range(100))))
    write(at.world, batch(*(claim(offset) for offset in range(100, 200))))
    write(at.world, answer(0, 0))
    write(at.world, answer(0, 1))
    write(at.world, answer(1, 0, *hits))
    write(at.world, answer(1, 1))
    assert at.on() == [0, 1]
    assert {len(kept) for kept in at.follower.first_answers.values()} == {16}


def test_answers_may_differ_in_url_or_distance_alone_since_the_survivor_is_the_same() -> None:
    at = Following()
    write(at.world, batch(claim(0)))
    write(at.world, answer(0, 0, hit(0, (0, 0))))
    write(at.world, answer(0, 0, hit(0, (0, 0), reason="exact-text", distance=0)))
    write(at.world, answer(0, 1))
    assert at.on() == [0]


# records that are passed over


def test_a_batch_of_another_scheme_is_void_as_a_whole() -> None:
    at = Following()
    write(at.world, batch(claim(0)))
    write(at.world, batch(claim(1), scheme=b"another8"))
    write(at.world, batch(claim(1)))
    for number in (0, 2):
        for shard in range(2):
            write(at.world, answer(number, shard))
    assert at.on() == [0, 2]
    assert at.told.read == [0, 2]
    assert at.observer.told["foreign_scheme"] == [(1, b"another8")]


def test_a_foreign_batch_at_the_end_leaves_nothing_to_decide() -> None:
    at = Following()
    write(at.world, batch(claim(0)))
    for shard in range(2):
        write(at.world, answer(0, shard))
    write(at.world, batch(claim(0), scheme=b"another8"))
    assert at.on() == [0]
    assert at.follower.place == ReplayPoint(2, 2)


def test_a_log_that_another_scheme_began_is_not_ours() -> None:
    at = Following()
    write(at.world, batch(claim(0), scheme=b"another8"))
    with pytest.raises(Refused, match="written with other settings"):
        at.on()


def test_an_answer_of_a_later_program_is_never_passed_over() -> None:
    at = Following()
    write(at.world, batch(claim(0)))
    later = bytearray(encode(answer(0, 0)))
    later[2] += 1
    write(at.world, bytes(later), ANSWERS)
    with pytest.raises(Refused, match="upgrade this worker"):
        at.on()


@pytest.mark.parametrize("foreign", [{"scheme": b"another8"}, {"shard": 2}, {"shard": -1}])
def test_answers_of_another_scheme_or_of_no_shard_of_ours_do_not_count(foreign: dict[str, Any]) -> None:
    at = Following()
    write(at.world, batch(claim(0)))
    fields = {"shard": 0, **foreign}
    write(at.world, answer(0, fields.pop("shard"), void=[0], **fields))
    for shard in range(2):
        write(at.world, answer(0, shard))
    assert at.on() == [0]


@pytest.mark.parametrize("topic", [FINGERPRINTS, ANSWERS])
def test_a_record_that_none_of_our_versions_wrote_is_passed_over_and_told(topic: str) -> None:
    at = Following()
    write(at.world, b"DF of another kind", topic)
    offset = write(at.world, batch(claim(0)))
    for shard in range(2):
        write(at.world, answer(offset, shard))
    assert at.on() == [offset]
    ((where, at_offset, why),) = at.observer.told["unreadable"]
    assert (where, at_offset) == (topic, 0)
    assert why


# replay points


def test_the_place_is_the_first_undecided_batch_and_the_answers_to_it() -> None:
    at = Following()
    assert at.follower.place == ReplayPoint(0, 0)
    write(at.world, batch(claim(0)))
    write(at.world, batch(claim(1)))
    assert at.on() == []
    assert at.follower.place == ReplayPoint(0, 0)
    write(at.world, answer(0, 0))
    write(at.world, answer(0, 1))
    assert at.on() == [0]
    assert at.follower.place == ReplayPoint(1, 2)


@given(
    answers=st.lists(st.tuples(st.booleans(), st.integers(1, 2)), min_size=1, max_size=8),
    foreign=st.sets(st.integers(1, 7)),
)
def test_reading_on_from_any_replay_point_decides_the_rest_alike(
    answers: list[tuple[bool, int]], foreign: set[int]
) -> None:
    whole = Following()
    for number, (swapped, times) in enumerate(answers):
        if number in foreign:
            write(whole.world, batch(claim(number), scheme=b"another8"))
        offset = write(whole.world, batch(claim(number, number)))
        for shard in (1, 0) if swapped else (0, 1):
            for _ in range(times):
                write(whole.world, answer(offset, shard))
    whole.on()
    assert len(whole.told.decided) == len(answers)
    for number, decided in enumerate(whole.told.decided):
        for point, rest in ((decided.before, number), (decided.after, number + 1)):
            again = Following(point, whole.world)
            again.on()
            assert [(d.offset, d.after, list(d.decisions)) for d in again.told.decided] == [
                (d.offset, d.after, list(d.decisions)) for d in whole.told.decided[rest:]
            ]


# subscribers


def test_who_joins_is_told_of_the_batches_that_wait() -> None:
    at = Following()
    for offset in range(3):
        write(at.world, batch(claim(offset)))
    for shard in range(2):
        write(at.world, answer(0, shard))
    at.on()
    late = Told()
    at.follower.join(late)
    assert late.read == [1, 2]
    for shard in range(2):
        write(at.world, answer(1, shard))
    at.on()
    assert late.offsets == [1]


def test_who_leaves_hears_nothing_any_more() -> None:
    at = Following()
    other = Told()
    at.follower.join(other)
    at.follower.leave(at.told)
    write(at.world, batch(claim(0), scheme=SCHEME))
    for shard in range(2):
        write(at.world, answer(0, shard))
    assert at.on() == []
    assert other.offsets == [0]
