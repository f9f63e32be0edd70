"""An index is copied into another generation: no page gets another verdict than without the copy."""

from __future__ import annotations

import dataclasses
import random
from itertools import count
from typing import Any, Final

import msgspec
import pytest

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.messages import VERSIONS, Answer, Batch
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.topics import FINGERPRINTS, INDEX, PAGES, VERDICTS
from tests.operations.generations import Beside, different, written
from tests.operations.test_repair import repair
from tests.simulation.checks import check_rebuilt, everything
from tests.simulation.place import BrokeOff, TwinPlace
from tests.simulation.schedule import Share
from tests.stream.script import ANSWER, CLAIM, COMMIT, FLUSH, LOSE_BLOCKS, Page
from worker.fingerprint.near import SimHashNear
from worker.fingerprint.scoped import DOUBTED, TEMPLATE, ScopedNear
from worker.index.blocks import cover, pack_orders
from worker.index.entries import Survivor
from worker.operations import copy_index
from worker.operations.copy_index import Copied, Falls, copy, drained, refuse_used
from worker.operations.inspect import read_shard
from worker.stream.policy import Note
from worker.verdict.decide import home_shard

A, B, C, D, E, F = different(*"abcdef")
KEYS = count(10**7)
HOUR: Final = copy_index.ALIKE_MS


def again(page: Page) -> Page:
    """A page near to this one."""
    return page._replace(url=f"{page.url}again", fetched=page.fetched)


def another(old: Beside, **changes: Any) -> Beside:
    """An empty generation over the same pages, without workers."""
    new = Beside("b", old, **changes)
    new.away()
    new.world.committed.clear()
    return new


def go(old: Beside, new: Beside, *without: str, falls: Falls | None = None) -> Copied:
    """Run the command."""
    source, target = TwinPlace(old.world), TwinPlace(new.world)
    found = drained(source, old.name, old.policy, range(old.world.partitions))
    refuse_used(target, new.name, new.policy)
    return copy(
        source,
        target,
        (old.name, new.name),
        found,
        new.policy,
        lambda: next(KEYS).to_bytes(16, "big"),
        without,
        falls,
    )


def entries(stage: Beside) -> list[Survivor]:
    """The index's entries, in its order."""
    found = []
    for shard in range(stage.policy.shards):
        covered = cover(read_shard(TwinPlace(stage.world), shard).blocks)
        assert not covered.damaged
        for survivor in covered.entries():
            assert home_shard(survivor, stage.policy.shards) == shard
            found.append(survivor)
    return sorted(found)


def survivors(stage: Beside) -> list[str]:
    """The URLs of the index's survivors."""
    return [survivor.url for survivor in entries(stage)]


def grown(seed: int, **changes: Any) -> Beside:
    """A generation with some dozens of survivors in several blocks, at rest."""
    old = Beside("", partitions=2, **changes)
    chance = random.Random(seed)
    for number in range(12):
        for place in range(6):
            fingerprint = None if chance.random() < 0.1 else chance.getrandbits(64)
            page = Page(f"http://{number}-{place}.example/", fingerprint, text=number * 10 + place, partition=place % 2)
            old.play(page)
        old.play(COMMIT)
        if chance.random() < 0.6:
            old.play(FLUSH)
    old.play(FLUSH).away()
    return old


@pytest.mark.parametrize(("shards", "flush_entries"), [(1, 1000), (3, 1000), (3, 4), (5, 1)])
def test_survivors_keep_their_order_in_any_number_of_shards_and_blocks(shards: int, flush_entries: int) -> None:
    old = grown(shards)
    new = another(old, shards=shards, flush_entries=flush_entries, partitions=2)
    result = go(old, new)
    assert survivors(new) == survivors(old)
    assert result.entries == len(survivors(old)) > 50
    new.back(A, again(A), COMMIT)
    assert new.verdicts()[-2:] == ["http://a.example/ unique", "http://a.example/again duplicate http://a.example/"]
    new.share = Share(exact=False)  # the copied log does not tell the watermark and the claimed offsets
    check_rebuilt(new)  # type: ignore[arg-type]


def test_survivors_keep_their_sites_titles_and_marks() -> None:
    near = ScopedNear(SimHashNear(1), least_across=9)
    text = {"fingerprint": 0b1011, "text": 0b1011, "doubt": DOUBTED}
    shop = [Page(f"http://shop.example/{title}", site=1, title=title, **text) for title in (2, 4, 6, 8, 10)]
    old = Beside("", near=near).play(A, *shop, COMMIT, FLUSH).away()
    new = another(old, near=near, shards=5)
    go(old, new)
    kept = [(one.url, one.site, one.title, one.doubt) for one in entries(new)]
    assert kept == [(one.url, one.site, one.title, one.doubt) for one in entries(old)]
    assert [doubt for *_, doubt in kept] == [0, DOUBTED, DOUBTED, TEMPLATE, TEMPLATE, TEMPLATE]
    copies = [page._replace(url=f"{page.url}/print") for page in shop]
    other = Page("http://other.example/", site=2, title=2, **text)
    new.back(*copies, other, COMMIT)
    named = [page.url for page in shop]
    assert [line.split()[2] for line in new.verdicts()[-6:]] == [*named, named[0]]


def test_what_has_changed_since_is_told_of_survivors_that_were_copied() -> None:
    old = Beside("", track_changes=True).play(A, B, COMMIT, FLUSH).away()
    new = another(old, shards=3, track_changes=True)
    go(old, new)
    fetches = (A, B._replace(text=2, fetched=1), A._replace(fingerprint=C.fingerprint, text=3, fetched=2), D)
    new.back(*fetches, COMMIT)
    records = everything(new.world, VERDICTS)
    assert [Verdict.decode(record.value).previous for record in records] == ["same", "changed", "changed", "none"]


def test_what_an_earlier_program_left_is_copied_once_it_stands_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches and answers then have a version that this program does not read."""
    with monkeypatch.context() as earlier:
        for kind in (Batch, Answer):
            earlier.setitem(VERSIONS, kind, VERSIONS[kind] - 1)
        old = Beside("").play(A, COMMIT, FLUSH, B, COMMIT).away()
    with pytest.raises(Refused, match=r"batch 1 .* is in no block yet: start the workers of the old generation"):
        go(old, another(old))
    with monkeypatch.context() as earlier:
        for kind in (Batch, Answer):
            earlier.setitem(VERSIONS, kind, VERSIONS[kind] - 1)
        old.back(COMMIT, FLUSH).away()
    new = another(old)
    go(old, new)
    new.back(again(A), again(B), C, COMMIT)
    assert [line.split()[1] for line in new.verdicts()] == ["duplicate", "duplicate", "unique"]


def test_a_forgotten_url_is_compared_with_no_more() -> None:
    old = Beside("").play(A, B, COMMIT, FLUSH).away()
    new = another(old)
    result = go(old, new, A.url, "http://never.example/")
    assert result.forgotten == {A.url}
    new.back(again(A), again(B), COMMIT)
    assert new.verdicts() == ["http://a.example/again unique", "http://b.example/again duplicate http://b.example/"]


def test_blocks_that_a_copied_index_has_lost_are_listed_by_a_repair_and_left_behind() -> None:
    old = Beside("").play(*different(*"abcdefgh"), COMMIT, FLUSH).away()
    new = another(old)
    go(old, new)
    lost = set(survivors(new))
    new.world.topics[INDEX, 0].records.clear()
    lost -= set(survivors(new))
    assert lost
    with pytest.raises(Refused, match="run `python -m worker repair"):
        new.back(E, COMMIT)
    new.away()
    planned = repair(new)
    assert [(bridge.shard, bridge.holes) for bridge in planned.bridges] == [(0, ((-1, 0),))]
    new.back(*map(again, different(*"abcdefgh")), COMMIT)
    assert {line.split()[0].removesuffix("again") for line in new.verdicts() if line.endswith("unique")} >= lost


def test_a_shard_of_a_copied_index_that_has_lost_all_its_blocks_does_not_begin_anew() -> None:
    old = Beside("").play(*different(*"abcdefgh"), COMMIT, FLUSH).away()
    new = another(old, shards=2)
    go(old, new)
    new.world.topics[INDEX, 1].records.clear()
    with pytest.raises(Refused, match=r"shard 1 has to read on from batch 0.*run `python -m worker repair"):
        new.back(E, COMMIT)


def test_a_generation_that_only_counted_goes_on_counting() -> None:
    old = Beside("", output="count").play(A, COMMIT, FLUSH).away()
    new = another(old, output="count")
    go(old, new)
    assert Note.from_metadata(new.world.committed[0].metadata, "here").counts
    new.back(again(A), COMMIT)
    assert written(new) == {}


class Enough(Exception):
    """The copy ends here."""


def test_workers_that_ran_before_a_copy_that_broke_off_judge_nothing_by_the_half_of_it() -> None:
    old = Beside("").play(*different(*"abcdefgh"), COMMIT, FLUSH).away()
    new = another(old, flush_entries=1, shards=2)
    found = drained(TwinPlace(old.world), old.name, old.policy, range(1))
    keys = iter(range(100))
    target = TwinPlace(new.world, patience=6)
    with pytest.raises(BrokeOff):
        copy(TwinPlace(old.world), target, ("", "b"), found, new.policy, lambda: next(keys).to_bytes(16, "big"))
    assert all(new.world.topics[INDEX, shard].end for shard in range(2))
    pages = new.world.topics[PAGES, 0]
    pages.forget(pages.end)  # the copy says that earlier pages are claimed: a worker that reads them refuses anyway
    with pytest.raises(Refused, match="made anew"):
        new.back(Page("http://x.example/", 1), COMMIT)
    assert new.verdicts() == []


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ((A, COMMIT), "is empty, so there is nothing to copy"),
        ((A, COMMIT, FLUSH, B, COMMIT), "in no block yet"),
        ((A, COMMIT, FLUSH, B, CLAIM), "in no block yet"),
        ((A, COMMIT, B, ANSWER, FLUSH), "judged but not committed"),
        ((A, COMMIT, LOSE_BLOCKS), "is empty, so there is nothing to copy"),
        ((), "is empty, so there is nothing to copy"),
    ],
    ids=["no-block", "not-flushed", "not-decided", "not-committed", "lost", "nothing"],
)
def test_what_is_not_at_rest_is_refused(script: tuple[Any, ...], why: str) -> None:
    old = Beside("").play(COMMIT, *script).away()
    with pytest.raises(Refused, match=f"{why}.*stop them with SIGTERM"):
        go(old, another(old))


def test_shards_that_end_differently_are_refused() -> None:
    old = Beside("").play(A, COMMIT, FLUSH, B, COMMIT, FLUSH).away()
    old.world.topics[INDEX, 1].records.pop()
    with pytest.raises(Refused, match="not all written up to the same batch, but up to batch 1, batch 0"):
        go(old, another(old))


def test_running_workers_are_refused() -> None:
    old = Beside("").play(A, COMMIT, FLUSH)
    with pytest.raises(Refused, match=r"(is|are) running \("):
        go(old, another(old))


def test_what_expires_does_so_an_hour_late_at_most() -> None:
    day = 24 * HOUR
    old = Beside("", ttl=day)
    old.world.clock = 30 * day
    for number, page in enumerate(different(*"abcdef")):
        old.play(page._replace(fetched=number * HOUR * 6), COMMIT)
    old.play(FLUSH).away()
    new = another(old, ttl=day, shards=1)
    result = go(old, new)
    assert result.entries == 5, "the first is older by 30 hours"
    (found,) = (cover(read_shard(TwinPlace(new.world), 0).blocks),)
    told = dict(found.clocks)
    assert [told[survivor.order[0]] - survivor.fetched for survivor in found.entries()] == [0] * 5
    assert new.world.topics[FINGERPRINTS, 0].end == 5
    late = [again(B)._replace(fetched=31 * HOUR), again(C)._replace(fetched=31 * HOUR)]
    new.back(late[0], COMMIT, late[1], COMMIT)
    assert [line.split()[1] for line in new.verdicts()] == ["duplicate", "duplicate"]


def test_suspects_are_copied_with_their_new_orders() -> None:
    old = grown(2)
    source = TwinPlace(old.world)
    found = drained(source, old.name, old.policy, range(2))
    names = survivors(old)
    (covered, *others) = found.covers
    known = next(iter(covered.entries()))
    marked = msgspec.structs.replace(covered.pieces[-1].block, suspects=pack_orders([known.order]))
    pieces = (*covered.pieces[:-1], dataclasses.replace(covered.pieces[-1], block=marked))
    found = dataclasses.replace(found, covers=(dataclasses.replace(covered, pieces=pieces), *others))
    new = another(old, shards=3, flush_entries=4, partitions=2)
    copy(source, TwinPlace(new.world), (old.name, new.name), found, new.policy, lambda: next(KEYS).to_bytes(16, "big"))
    covers = [cover(read_shard(TwinPlace(new.world), shard).blocks) for shard in range(3)]
    (suspect,) = [order for each in covers for order in each.suspects]
    assert [survivor.url for each in covers for survivor in each.entries() if survivor.order == suspect] == [known.url]
    assert survivors(new) == names


def test_pages_of_a_partition_that_nobody_has_claimed_yet_are_judged_by_the_new_generation_alone() -> None:
    old = Beside("").play(A, B, COMMIT, FLUSH).away()
    old.world.partitions = 2
    old.publish(again(A)._replace(partition=1))
    new = another(old, partitions=2)
    go(old, new)
    assert Note.from_metadata(old.world.committed[1].metadata, "").successor == "b"
    new.back(COMMIT)
    assert new.verdicts() == ["http://a.example/again duplicate http://a.example/"]


def test_what_was_given_to_another_generation_is_not_copied_to_a_third_one() -> None:
    old = Beside("").play(A, COMMIT, FLUSH).away()
    go(old, another(old))
    third = another(old)
    third.name = "c"
    with pytest.raises(Refused, match=r"has given the outputs to topics.generation='b': start the workers of that"):
        go(old, third)
    go(old, another(old))
