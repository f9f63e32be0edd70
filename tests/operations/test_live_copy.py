"""An index is copied while workers work, and the workers of the next generation take over at one record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.forgetting import ForgetCondition
from crawler_plugin.wire.messages import Batch, encode
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, INDEX
from tests.operations.generations import Beside, different, every_page, written
from tests.operations.test_copy_index import KEYS, again, another, entries, go, grown, survivors
from tests.simulation.checks import check_rebuilt, everything
from tests.simulation.place import BrokeOff, TwinPlace
from tests.simulation.schedule import Share
from tests.stream.script import ANSWER, CLAIM, COMMIT, FLUSH, Page
from worker.fingerprint.near import SimHashNear
from worker.fingerprint.scoped import ScopedNear
from worker.operations.copy_index import Fallen, Falls, refuse_used
from worker.operations.forget import WrittenForget
from worker.operations.live_copy import LiveCopy
from worker.operations.rejudging import Rejudging
from worker.stream.barrier import Barred
from worker.stream.policy import COPIED

A, B, C, D, F = different(*"abcdf")


def copying(
    old: Beside, new: Beside, *, patience: Sequence[int | None] = (None, None), falls: Falls | None = None
) -> LiveCopy:
    """The command, run until its copy is made."""
    source, target = (TwinPlace(stage.world, left) for stage, left in zip((old, new), patience, strict=True))
    refuse_used(target, new.name, new.policy)
    live = LiveCopy(
        source,
        target,
        (old.name, new.name),
        replace(old.policy, writer=b"copy"),
        new.policy,
        lambda: next(KEYS).to_bytes(16, "big"),
        range(old.world.partitions),
        falls=falls,
    )
    live.begin()
    return live


def stand_by(new: Beside) -> Beside:
    """Start a worker of the new generation, which loads the copied index."""
    if not new.workers:
        new.take_over()
    for _ in range(9):
        for worker in new.workers.values():
            worker.poll()
            worker.take_up()
        new.world.settle_down()
    assert not new.world.committed
    return new


def ended(old: Beside) -> str:
    """Let its workers reach its end; returns the reason that they give."""
    old.world.settle_down()
    with pytest.raises(Barred) as refusal:
        old.play(COMMIT)
    old.away()
    return str(refusal.value)


@pytest.mark.parametrize(("shards", "flush_entries"), [(1, 1000), (3, 4), (5, 1)])
def test_survivors_keep_their_order_whether_blocks_or_the_logs_tell_of_them(shards: int, flush_entries: int) -> None:
    old = grown(shards).back(*different("g"), COMMIT, FLUSH, A, COMMIT, B, ANSWER)
    new = another(old, shards=shards, flush_entries=flush_entries, partitions=2)
    live = copying(old, new)
    assert live.follow() == 0
    stand_by(new)
    assert not live.awaited()
    old.play(C, again(A), COMMIT, D)
    live.follow()
    live.hand_over()
    assert not live.end()
    assert "topics.generation=b" in ended(old)
    assert live.end()
    assert survivors(new)[-4:] == ["http://g.example/", *(page.url for page in (A, B, C))]
    new.play(again(B), COMMIT)
    assert new.verdicts() == ["http://d.example/ unique", "http://b.example/again duplicate http://b.example/"]
    assert written(old, new) == every_page(old)
    new.share = Share(exact=False)
    check_rebuilt(new)  # type: ignore[arg-type]


def test_what_is_claimed_behind_the_end_is_judged_by_the_new_generation() -> None:
    old = Beside("").play(A, COMMIT, FLUSH)
    new = another(old)
    live = copying(old, new)
    stand_by(new)
    live.hand_over()
    old.play(B, again(A), CLAIM)
    ended(old)
    assert live.end()
    new.play(COMMIT)
    assert old.verdicts() == ["http://a.example/ unique"]
    assert new.verdicts() == ["http://b.example/ unique", "http://a.example/again duplicate http://a.example/"]


def test_until_the_end_workers_of_the_new_generation_claim_nothing_and_one_that_died_stands_by_again() -> None:
    old = Beside("").play(A, B, COMMIT, FLUSH)
    new = another(old, shards=3)
    live = copying(old, new)
    assert live.awaited() == [0, 1, 2]
    stand_by(new)
    assert not live.awaited()
    old.play(C, COMMIT)
    live.follow()
    live.target.write(live.copied.cut())
    assert live.awaited()
    new.crash()
    stand_by(new)
    assert not live.awaited()
    assert not everything(new.world, "verdicts")
    assert {record.headers[0][0] for record in new.world.topics[FINGERPRINTS, 0].records} == {"live"}


def test_one_that_comes_when_all_is_over_begins_as_those_do_that_stood_by() -> None:
    old = Beside("").play(A, B, COMMIT, FLUSH)
    new = another(old, shards=3)
    live = copying(old, new)
    live.hand_over()
    ended(old)
    assert live.end()
    new.back(again(B), COMMIT)
    assert new.verdicts() == ["http://b.example/again duplicate http://b.example/"]


def test_by_other_rules_survivors_are_judged_again_in_their_order_and_those_that_fall_are_told() -> None:
    """In a chain of three pages the first stays, the second falls, and the third, near to the second alone, stays."""
    chain = [Page(f"http://{number}.example/", fingerprint) for number, fingerprint in enumerate((0b1, 0b111, 0b11111))]
    old = Beside("", near=ScopedNear(SimHashNear(1))).play(*chain[:2], F, COMMIT, FLUSH)
    wider = ScopedNear(SimHashNear(2))
    new = another(old, near=wider, shards=3)
    live = copying(old, new, falls=Rejudging(new.policy, new.new_index))
    stand_by(new)
    old.play(chain[2], COMMIT)
    live.hand_over()
    ended(old)
    assert live.end()
    assert live.copied.result.fallen == [Fallen("http://1.example/", "http://0.example/", "hamming")]
    assert survivors(new) == ["http://0.example/", F.url, "http://2.example/"]
    new.play(again(chain[1]), COMMIT)
    assert new.verdicts()[-1] == "http://1.example/again duplicate http://0.example/"


def test_a_copy_of_what_has_stopped_judges_again_as_one_of_what_works() -> None:
    chain = [Page(f"http://{number}.example/", fingerprint) for number, fingerprint in enumerate((0b1, 0b111, 0b11111))]
    old = Beside("", near=ScopedNear(SimHashNear(1))).play(*chain, COMMIT, FLUSH).away()
    new = another(old, near=ScopedNear(SimHashNear(2)), shards=3)
    result = go(old, new, falls=Rejudging(new.policy, new.new_index))
    assert result.fallen == [Fallen("http://1.example/", "http://0.example/", "hamming")]
    assert survivors(new) == ["http://0.example/", "http://2.example/"]


def test_a_forgotten_survivor_lets_no_other_one_fall() -> None:
    old = Beside("", near=ScopedNear(SimHashNear(1))).play(Page("http://a/", 0b1), Page("http://b/", 0b111), COMMIT)
    old.play(FLUSH).away()
    new = another(old, near=ScopedNear(SimHashNear(2)))
    result = go(old, new, "http://a/", falls=Rejudging(new.policy, new.new_index))
    assert (result.fallen, survivors(new)) == ([], ["http://b/"])


def test_with_a_ttl_only_what_had_not_expired_lets_others_fall() -> None:
    changes: dict[str, Any] = {"ttl": 100}
    pages = [
        Page(f"http://{name}/", bits, fetched=time)
        for name, bits, time in (("a", 0b1, 0), ("b", 0b111, 90), ("c", 0b11111, 300))
    ]
    old = Beside("", near=ScopedNear(SimHashNear(1)), **changes)
    for page in pages:
        old.world.clock = page.fetched or 0
        old.play(page, COMMIT)
    new = another(old, near=ScopedNear(SimHashNear(2)), **changes)
    live = copying(old, new, falls=Rejudging(new.policy, new.new_index))
    live.follow()
    assert [fallen.url for fallen in live.copied.result.fallen] == ["http://b/"]
    live.target.write(live.copied.cut())
    assert [survivor.url for survivor in entries(new)] == ["http://a/", "http://c/"]


def test_killed_before_the_end_it_has_changed_nothing() -> None:
    old = Beside("").play(A, COMMIT, FLUSH)
    for patience in range(4):
        new = another(old)
        with pytest.raises(BrokeOff):
            live = copying(old, new, patience=(0, patience))
            live.hand_over()
        assert not new.world.committed
    old.play(again(A), COMMIT)
    assert old.verdicts() == ["http://a.example/ unique", "http://a.example/again duplicate http://a.example/"]


@pytest.mark.parametrize("patience", [0, 1, 3])
def test_killed_behind_the_end_another_copy_makes_it_good(patience: int) -> None:
    old = Beside("").play(A, COMMIT, FLUSH)
    first = another(old)
    live = copying(old, first)
    stand_by(first)
    live.hand_over()
    ended(old)
    live.target.patience = live.target.writes + patience  # type: ignore[attr-defined]
    with pytest.raises(BrokeOff):
        live.end()
    assert not stand_by(first).verdicts()
    with pytest.raises(Refused, match="are not empty: take another name, or"):
        copying(old, first.away())
    made_anew = another(old)
    live = copying(old, made_anew)
    live.hand_over()
    assert live.end()
    made_anew.back(again(A), COMMIT)
    assert written(old, made_anew) == every_page(old)


def test_what_was_given_to_another_generation_is_not_given_away_again() -> None:
    old = Beside("").play(A, COMMIT, FLUSH)
    new = another(old)
    live = copying(old, new)
    live.hand_over()
    ended(old)
    assert live.end()
    third = another(old)
    third.name = "c"
    with pytest.raises(Refused, match=r"has given the outputs to topics.generation='b': start the workers"):
        copying(old, third)


def test_where_somebody_works_in_the_new_generation_it_does_not_begin() -> None:
    old = Beside("").play(A, COMMIT, FLUSH)
    new = another(old)
    live = copying(old, new)
    live.hand_over()
    ended(old)
    new.world.topics[FINGERPRINTS, 0].append(0, None, encode(Batch(scheme=COPIED, writer=b"w", count=0)), (), 0)
    with pytest.raises(Refused, match="other workers run in topics"):
        live.end()


def test_batches_that_no_block_holds_and_the_logs_have_lost_are_not_passed_over() -> None:
    old = Beside("").play(A, COMMIT, FLUSH, B, COMMIT)
    old.world.topics[FINGERPRINTS, 0].forget(old.world.topics[FINGERPRINTS, 0].end)
    with pytest.raises(Refused, match="is gone: run `python -m worker repair` first"):
        copying(old, another(old))


def test_a_hole_among_copied_blocks_is_not_passed_over() -> None:
    old = Beside("").play(A, COMMIT, FLUSH)
    new = another(old, shards=1)
    live = copying(old, new)
    stand_by(new)
    old.play(B, COMMIT)
    live.follow()
    live.target.write(live.copied.cut())
    log = new.world.topics[INDEX, 0]
    log.records = log.records[:-1]
    old.play(C, COMMIT)
    live.follow()
    live.target.write(live.copied.cut())
    with pytest.raises(Refused, match="index lacks the entries between"):
        stand_by(new)


def test_a_shard_that_could_not_say_that_it_is_loaded_says_it_again() -> None:
    old = Beside("").play(A, COMMIT, FLUSH)
    new = another(old, shards=1)
    live = copying(old, new)
    new.take_over()
    for _ in range(9):
        new.worker.poll()
        new.worker.take_up()
    (telling,) = new.on_their_way(ANSWERS)
    new.world.land(telling, acknowledged=False, lost=True)
    assert live.awaited() == [0]
    stand_by(new)
    assert not live.awaited()


def test_what_is_forgotten_meanwhile_ends_the_copy_since_its_blocks_hold_it() -> None:
    old = Beside("").play(A, COMMIT, FLUSH)
    live = copying(old, another(old))
    WrittenForget(live.source, ForgetCondition(kind="host", text="a.example"), old.policy).close()
    with pytest.raises(Refused, match="copy again; without --live if"):
        live.follow()
