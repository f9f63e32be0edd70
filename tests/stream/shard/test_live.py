"""One live shard, over the real index in numpy and over the plain one: both must give the same answers."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler_plugin.wire.messages import NOT_STORED, PARDONED, SAME_TEXT, Answer, Claim
from tests.columns import hits_of, pending, seen_of, void_of
from tests.simulation.plain_index import PlainIndex
from tests.simulation.schedule import SCHEME
from tests.stream.script import claim, policy
from worker.fingerprint.near import SimHashNear
from worker.fingerprint.scoped import ScopedNear
from worker.index.blocks import cover, suspects_of, unpack
from worker.index.shard import Shard
from worker.stream.log_follower import DecidedBatch
from worker.stream.policy import ReplayPoint
from worker.stream.shard.expiry_clocks import Clocks
from worker.stream.shard.live import MOST_PARDONED, Index, LiveShard, Standing
from worker.stream.shard.restore import standing_of
from worker.verdict.claims import Claims
from worker.verdict.decide import decide, home_shard

NewIndex = Callable[[int], Index]
INDEXES: dict[str, NewIndex] = {
    "plain": lambda k: PlainIndex(SimHashNear(k)),
    "compiled": lambda k: Shard(k=k, by_url=True),
}


@pytest.fixture(params=INDEXES, scope="session")
def new_index(request: pytest.FixtureRequest) -> NewIndex:
    """Makes an empty index for a largest distance."""
    return INDEXES[request.param]


class Alone:
    """The only shard, fed with batches in turn."""

    def __init__(self, new_index: NewIndex, k: int = 1, **changes: object) -> None:
        self.policy = policy(**{"shards": 1, "near": ScopedNear(SimHashNear(k)), **changes})
        self.shard = LiveShard(0, self.policy, new_index(k), Standing())
        self.next = 0

    def ask(self, *claims: Claim) -> Answer:
        return self.shard.answer(pending(self.next, *claims))

    def feed(self, *claims: Claim, skip: int = 0) -> Answer:
        """Answer and decide a batch; ``skip`` offsets lie between it and the one before."""
        self.next += skip
        answer = self.ask(*claims)
        decisions = decide(
            self.next, Claims.of(claims), [answer], self.policy.near, track_changes=self.policy.track_changes
        )
        before = ReplayPoint(self.next, self.shard.standing.answers_offset)
        after = ReplayPoint(self.next + 1, before.answers_offset + 3)
        self.shard.on_decided(DecidedBatch(self.next, b"w", decisions, before, after))
        self.next += 1
        return answer


def orders(answer: Answer) -> dict[int, tuple[int, int]]:
    return {hit.place: hit.order for hit in hits_of(answer)}


# answers


def test_it_names_the_earliest_survivor_that_is_near(new_index: NewIndex) -> None:
    at = Alone(new_index)
    at.feed(claim(0, 0b000), claim(1, 0b111))
    at.feed(claim(2, 0b11000))
    answer = at.ask(claim(3, 0b001), claim(4, 0b111), claim(5, 0b11001), claim(6, 0b1010101))
    assert orders(answer) == {0: (0, 0), 1: (0, 1), 2: (1, 0)}
    assert [(hit.distance, hit.reason, hit.url) for hit in hits_of(answer)] == [
        (1, "hamming", "http://0-0.example/"),
        (0, "exact-text", "http://0-1.example/"),
        (1, "hamming", "http://0-2.example/"),
    ]
    assert (answer.scheme, answer.batch, answer.shard, void_of(answer)) == (SCHEME, 2, 0, [])


def test_answering_changes_nothing(new_index: NewIndex) -> None:
    at = Alone(new_index)
    at.feed(claim(0, 0b00))
    first = at.ask(claim(1, 0b01), claim(1, 0b01))
    assert at.ask(claim(1, 0b01), claim(1, 0b01)) == first
    assert void_of(first) == [1]
    assert at.shard.standing.claimed_up_to == {0: 0}


def test_void_and_dead_claims_are_not_looked_up(new_index: NewIndex) -> None:
    at = Alone(new_index)
    at.feed(claim(5, 0b00))
    answer = at.ask(claim(5, 0b00), claim(6, 0b00, dead="parser-raised"), claim(7, 0b00))
    assert void_of(answer) == [0]
    assert orders(answer) == {2: (0, 0)}


def test_a_page_without_fingerprint_is_looked_up_by_its_text(new_index: NewIndex) -> None:
    at = Alone(new_index)
    at.feed(claim(0, None, text_hash=5), claim(1, 0, text_hash=6))
    answer = at.ask(claim(2, None, text_hash=5), claim(3, None, text_hash=6), claim(4, 0, text_hash=5))
    assert orders(answer) == {0: (0, 0), 2: (0, 1)}
    assert [hit.distance for hit in hits_of(answer)] == [None, 0]
    assert [hit.reason for hit in hits_of(answer)] == ["exact-text", "hamming"]


def test_void_and_dead_claims_move_hw_and_the_watermark_too(new_index: NewIndex) -> None:
    at = Alone(new_index)
    at.feed(claim(3, 0b00, clock=10), claim(4, dead="parser-raised", clock=20), claim(2, 0b00, clock=30))
    assert at.shard.standing.claimed_up_to == {0: 4}
    assert at.shard.standing.watermark == 30


# storing


def test_only_survivors_that_live_here_are_stored(new_index: NewIndex) -> None:
    claims = [claim(number, 0b111 << 3 * number) for number in range(12)]
    claims += [claim(12, 0b111), claim(13, dead="parser-raised"), claim(0, 1 << 60)]
    shards = [LiveShard(number, policy(shards=3), new_index(1), Standing()) for number in range(3)]
    answers = [shard.answer(pending(0, *claims)) for shard in shards]
    decisions = decide(0, Claims.of(claims), answers, ScopedNear(SimHashNear(1)))
    for shard in shards:
        shard.on_decided(DecidedBatch(0, b"w", decisions, ReplayPoint(0, 0), ReplayPoint(1, 3)))
    assert [len(shard.index) for shard in shards] == [
        len([number for number in range(12) if home_shard(claims[number], 3) == shard]) for shard in range(3)
    ]
    assert sum(len(shard.index) for shard in shards) == 12


# expiry


@pytest.mark.parametrize(
    ("clocks", "watermark", "ttl", "floor", "expired"),
    [
        ([], 100, 10, -1, -1),
        ([(4, 89)], 100, 10, -1, 4),
        ([(4, 90)], 100, 10, -1, -1),
        ([(4, 91)], 100, 10, -1, -1),
        ([(4, 50), (6, 50), (8, 89), (9, 90)], 100, 10, -1, 8),
        ([(4, 50)], 100, None, -1, -1),
        ([(4, 50)], 100, 10, 7, 7),
        ([], 100, 10, 7, 7),
        ([(0, 0)], 0, 0, -1, -1),
        ([(0, 0)], 1, 0, -1, 0),
    ],
    ids=[
        "nothing here",
        "older than ttl",
        "exactly ttl is alive",
        "younger",
        "the last of several",
        "no ttl",
        "a larger floor was read",
        "only the floor",
        "ttl zero keeps what is as new as anything",
        "ttl zero, one millisecond later",
    ],
)
def test_a_survivor_is_expired_when_its_batch_ended_strictly_more_than_ttl_ago(
    clocks: list[tuple[int, int]], watermark: int, ttl: int | None, floor: int, expired: int
) -> None:
    assert Standing(clocks=Clocks(clocks), watermark=watermark, floor=floor).expired_up_to(ttl) == expired


def test_a_page_expires_by_the_clock_of_its_whole_batch(new_index: NewIndex) -> None:
    at = Alone(new_index, ttl=10)
    at.feed(claim(0, 0b0, clock=5), claim(1, 0b111, clock=20))
    at.feed(claim(2, 0b11000, clock=30))
    assert orders(at.ask(claim(3, 0b0))) == {0: (0, 0)}, "W after its batch was 20: not more than 10 before 30"
    at.feed(claim(3, 0b1100000, clock=31))
    assert orders(at.ask(claim(4, 0b0))) == {}


def test_clocks_of_the_batch_itself_do_not_expire_anything_for_it(new_index: NewIndex) -> None:
    at = Alone(new_index, ttl=10)
    at.feed(claim(0, 0b0, clock=5))
    assert orders(at.ask(claim(1, 0b0, clock=1000))) == {0: (0, 0)}


logs = st.lists(
    st.lists(st.tuples(st.integers(0, 6), st.sampled_from([0b0, 0b1, 0b111, 0b11000]), st.integers(0, 60)), max_size=4),
    max_size=12,
)


@settings(max_examples=60)
@given(log=logs, ttl=st.none() | st.integers(0, 30))
def test_tidying_changes_no_answer(new_index: NewIndex, log: list[list[tuple[int, int, int]]], ttl: int | None) -> None:
    tidy, plain = Alone(new_index, ttl=ttl), Alone(new_index, ttl=ttl)
    for number, rows in enumerate(log):
        claims = [claim(8 * number + place, print_, clock=clock) for place, (_, print_, clock) in enumerate(rows)]
        assert tidy.feed(*claims) == plain.feed(*claims)
        tidy.shard.tidy()
        if ttl is None:
            assert len(tidy.shard.index) == len(plain.shard.index)


def test_tidying_gives_back_what_has_expired(new_index: NewIndex) -> None:
    at = Alone(new_index, ttl=10)
    at.feed(claim(0, 0b0, clock=0), claim(1, 0b111, clock=0))
    at.feed(claim(2, 0b11000, clock=11))
    assert at.shard.tidy() == 2
    assert at.shard.tidy() == 0
    assert len(at.shard.index) == 1
    assert at.shard.standing.clocks == Clocks([(1, 11)])


@pytest.mark.parametrize(("ttl", "kept"), [(None, []), (10, [(0, 7), (1, 9)])])
def test_what_entries_expire_by_is_kept_and_counted_only_where_they_do(
    new_index: NewIndex, ttl: int | None, kept: list[tuple[int, int]]
) -> None:
    at = Alone(new_index, ttl=ttl)
    at.feed(claim(0, 0b0, clock=7))
    at.feed(claim(1, 0b111, clock=9))
    assert list(at.shard.standing.clocks) == kept
    assert at.shard.nbytes == at.shard.index.nbytes + 16 * len(kept)
    assert at.shard.seal()
    assert at.shard.sealed[0].clocks == ((0, 7), (1, 9)), "a block has them in either case"


# sealing


def test_a_block_has_the_header_of_where_it_ends_whatever_comes_later(new_index: NewIndex) -> None:
    at = Alone(new_index)
    at.feed(claim(3, 0b0, clock=7))
    at.feed(claim(4, 0b111, clock=5), claim(2, 0b0, clock=9), skip=4)
    assert at.shard.seal()
    at.feed(claim(9, 0b11000, clock=99))
    (block,) = at.shard.sealed
    assert (block.after, block.to, block.answers_offset, block.watermark) == (-1, 5, 6, 9)
    assert block.claimed_up_to == ((0, 4),)
    assert (block.floor, block.clocks) == (-1, ((0, 7), (5, 9)))
    assert [entry.order for entry in unpack(block)] == [(0, 0), (5, 0)]


def test_the_next_block_begins_where_the_last_one_ended(new_index: NewIndex) -> None:
    at = Alone(new_index)
    for number in range(3):
        at.feed(claim(number, 0b111 << 3 * number), skip=number)
        at.shard.seal()
    assert [(block.after, block.to, block.count) for block in at.shard.sealed] == [(-1, 0, 1), (0, 2, 1), (2, 5, 1)]


def test_nothing_is_sealed_when_nothing_was_decided(new_index: NewIndex) -> None:
    at = Alone(new_index)
    assert not at.shard.seal()
    at.feed(claim(0))
    assert at.shard.seal()
    assert not at.shard.seal()


def test_a_batch_without_survivors_is_sealed_as_an_empty_block(new_index: NewIndex) -> None:
    at = Alone(new_index)
    at.feed(claim(0, 0b0))
    at.shard.seal()
    at.feed(claim(1, 0b0))
    assert at.shard.seal()
    assert [(block.after, block.to, block.count) for block in at.shard.sealed] == [(-1, 0, 1), (0, 1, 0)]


def test_what_has_expired_before_it_was_sealed_is_left_out(new_index: NewIndex) -> None:
    at = Alone(new_index, ttl=10)
    at.feed(claim(0, 0b0, clock=0))
    at.feed(claim(1, 0b111, clock=50))
    at.shard.seal()
    (block,) = at.shard.sealed
    assert (block.after, block.to, block.floor, block.count) == (-1, 1, 0, 1)


@pytest.mark.parametrize(("changes", "after_batches"), [({"flush_entries": 3}, 3), ({"flush_bytes": 36}, 2)])
def test_a_block_is_sealed_by_itself_when_it_is_large_enough(
    new_index: NewIndex, changes: dict[str, int], after_batches: int
) -> None:
    at = Alone(new_index, **changes)
    for number in range(after_batches):
        assert not at.shard.sealed
        assert at.shard.unflushed == number
        at.feed(claim(number, 0b111 << 3 * number))
    assert [block.count for block in at.shard.sealed] == [after_batches]
    assert at.shard.unflushed == 0


def test_the_replay_point_of_a_shard_lies_after_what_it_knows(new_index: NewIndex) -> None:
    at = Alone(new_index)
    assert at.shard.replay_point == ReplayPoint(0, 0)
    at.feed(claim(0), skip=6)
    assert at.shard.replay_point == ReplayPoint(7, 3)


def at(offset: int, url: str, fingerprint: int, clock: int = 0) -> Claim:
    return claim(offset, fingerprint, url=url, clock=clock, text_hash=fingerprint)


def test_the_answer_tells_of_the_latest_live_survivor_of_each_url(new_index: NewIndex) -> None:
    alone = Alone(new_index, ttl=10, track_changes=True)
    alone.feed(at(0, "a", 0b0), at(1, "b", 0b111))
    alone.feed(at(2, "a", 0b111000, clock=4))
    asked = [at(10, "b", 0b111), at(11, "a", 0b0), at(12, "a", 0b111000), at(13, "c", 1 << 20)]
    seen = seen_of(alone.ask(*asked))
    assert [(one.place, one.order, one.agreement == SAME_TEXT) for one in seen] == [
        (0, (0, 1), True),
        (1, (1, 0), False),
        (2, (1, 0), True),
    ]
    alone.feed(at(3, "d", 0b111 << 20, clock=13))
    assert [one.place for one in seen_of(alone.ask(*asked))] == [1, 2]


def test_without_the_setting_no_url_is_looked_for(new_index: NewIndex) -> None:
    alone = Alone(new_index)
    alone.feed(at(0, "a", 0b0))
    assert seen_of(alone.ask(at(1, "a", 0b0))) == []


def flagged(offset: int, flags: int, url: str, fingerprint: int = 0) -> Claim:
    return msgspec.structs.replace(claim(offset, fingerprint, url=url), flags=flags)


def test_a_page_that_is_not_to_be_stored_is_not(new_index: NewIndex) -> None:
    at = Alone(new_index)
    at.feed(flagged(0, NOT_STORED, "http://a/"), flagged(1, NOT_STORED | PARDONED, "http://b/"))
    assert len(at.shard.index) == 0
    assert at.shard.standing.claimed_up_to == {0: 1}
    assert not orders(at.ask(claim(2, 0)))


def test_of_a_pardoned_page_only_the_survivor_of_its_own_url_is_told(new_index: NewIndex) -> None:
    at = Alone(new_index)
    at.feed(*(flagged(number, PARDONED, f"http://{number}/") for number in range(4)))
    assert len(at.shard.index) == 4
    asked = [flagged(4, PARDONED, "http://2/", 1), flagged(5, PARDONED, "http://9/"), flagged(6, 0, "http://2/")]
    assert orders(at.ask(*asked)) == {0: (0, 2), 2: (0, 0)}
    assert [hit.reason for hit in hits_of(at.ask(*asked))] == ["hamming", "exact-text"]


def test_beside_too_many_no_further_page_is_pardoned(new_index: NewIndex) -> None:
    at = Alone(new_index)
    at.feed(*(flagged(number, PARDONED, f"http://{number}/") for number in range(MOST_PARDONED - 1)))
    assert not orders(at.feed(flagged(100, PARDONED, "http://100/")))
    asked = [flagged(200 + number, PARDONED, f"http://{number}/") for number in (7, 100, 101)]
    answer = at.ask(*asked)
    assert orders(answer) == {0: (0, 7), 1: (1, 0), 2: (0, 0)}
    decided = decide(2, Claims.of(asked), [answer], at.policy.near)
    assert [one.outcome for one in decided] == ["refetch", "refetch", "duplicate"]


def test_a_survivor_of_its_own_that_has_expired_is_none(new_index: NewIndex) -> None:
    at = Alone(new_index, ttl=10)
    at.feed(claim(0, 0, url="http://a/", clock=5))
    at.feed(flagged(1, PARDONED, "http://b/"))
    assert orders(at.ask(flagged(2, PARDONED, "http://b/"))) == {0: (1, 0)}
    at.feed(claim(3, 0b111000, clock=16))
    assert not orders(at.ask(flagged(4, PARDONED, "http://b/")))


def test_a_suspect_is_told_in_answers_and_kept_in_blocks_and_in_snapshots() -> None:
    at = Alone(INDEXES["compiled"])
    pages = [claim(n, 0, url=f"http://shop.example/p/{n}", title=2 * n + 2, template=7) for n in range(30)]
    at.feed(*pages[:21])
    assert not at.shard.suspects.known
    while at.shard.hints.step():
        pass
    (hit,) = hits_of(at.ask(pages[25]))
    assert hit.suspect and not hit.no_page
    at.shard.seal()
    assert suspects_of(at.shard.sealed[0]) == [(0, 0)]
    frozen = at.shard.frozen()
    assert frozen is not None
    assert suspects_of(frozen.as_block(0, at.policy, -1)) == [(0, 0)]
    at.feed(pages[26])
    at.shard.seal()
    assert suspects_of(at.shard.sealed[1]) == []
    found = cover(at.shard.sealed)
    assert standing_of(found, None).suspects.keys() == {(0, 0)}
