"""Two holders per shard: apart, balanced, sticky, and never without a holder that could answer while there was one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from worker.stream.kafka.group.placement import HOLDERS, JoiningMember, Placement, place
from worker.stream.log import Held, Role

ROUNDS: Final = 12
"""More assignments than any change takes until nothing is left to do."""

RACKS: Final = st.sampled_from(["", "a", "b", "c"])


@st.composite
def workers(draw: st.DrawFn, most: int = 7, racks: st.SearchStrategy[str] = RACKS) -> list[JoiningMember]:
    """New members, each of another worker."""
    count = draw(st.integers(1, most))
    return [JoiningMember(f"member-{number}", f"worker-{number}", draw(racks)) for number in range(count)]


@st.composite
def members_with_pasts(draw: st.DrawFn, shards: int) -> list[JoiningMember]:
    """Members with all possible claims: owners of the same units, of units in both roles, of several generations."""
    units = st.frozensets(st.builds(Held, st.integers(0, shards - 1), st.sampled_from(Role)), max_size=2 * shards)
    return [
        JoiningMember(
            f"member-{number}",
            f"worker-{draw(st.integers(0, 3))}",
            draw(RACKS),
            owns := draw(units),
            frozenset(held.shard for held in owns if draw(st.booleans())),
            draw(st.integers(-1, 2)),
        )
        for number in range(draw(st.integers(1, 6)))
    ]


def joined(members: Collection[JoiningMember], placed: Placement, *, caught_up: bool) -> list[JoiningMember]:
    """The members as they join after this assignment; with ``caught_up`` all could answer for all their shards."""
    return [
        replace(
            member,
            owns=(now := placed.held[member.id]),
            caught_up=frozenset(h.shard for h in now if caught_up or h.shard in member.caught_up & shards_of(member)),
            generation=member.generation + 1,
        )
        for member in members
    ]


def settled(members: Collection[JoiningMember], shards: int) -> list[JoiningMember]:
    """The members after so many assignments that nothing changes any more, all caught up."""
    for _ in range(ROUNDS):
        placed = place(members, shards)
        after = joined(members, placed, caught_up=True)
        if [member.owns for member in after] == [member.owns for member in members] and not placed.provisional:
            return after
        members = after
    raise AssertionError(f"still not at rest after {ROUNDS} assignments: {place(members, shards)}")


def shards_of(member: JoiningMember) -> frozenset[int]:
    return frozenset(held.shard for held in member.owns)


def some_of(shards: frozenset[int]) -> st.SearchStrategy[frozenset[int]]:
    return st.frozensets(st.sampled_from(sorted(shards))) if shards else st.just(frozenset())


def holders(held: Mapping[str, frozenset[Held]], shard: int) -> dict[Role, list[str]]:
    """Ids of the members by role."""
    return {role: [id_ for id_, units in held.items() if Held(shard, role) in units] for role in Role}


def shares(members: Collection[JoiningMember], role: Role | None = None) -> list[int]:
    """How many units each member has, of both roles or of one."""
    return [sum(role in (None, held.role) for held in member.owns) for member in members]


def even(numbers: Collection[int]) -> bool:
    return max(numbers) - min(numbers) <= 1


def fair_shares(members: Collection[JoiningMember], shards: int) -> list[int]:
    """The most equal shares that racks allow, written plainly: give unit by unit to the allowed member that has
    least."""
    racks = {member.rack for member in members}
    group = {member.id: member.rack if len(racks) > 1 else member.worker for member in members}
    total = shards * min(HOLDERS, len(set(group.values())))
    share = dict.fromkeys(group, 0)
    for _ in range(total):
        of_groups = Counter(dict.fromkeys(group.values(), 0))
        for id_, count in share.items():
            of_groups[group[id_]] += count
        able = [id_ for id_ in group if of_groups[group[id_]] < shards]
        share[min(able, key=lambda id_: share[id_])] += 1
    return sorted(share.values())


# after any history


@given(st.data(), st.integers(1, 8))
def test_no_unit_is_given_twice_and_no_worker_holds_a_shard_twice_whatever_was_before(
    data: st.DataObject, shards: int
) -> None:
    members = data.draw(members_with_pasts(shards))
    worker_of = {member.id: member.worker for member in members}
    placed = place(members, shards)
    assert placed.held.keys() == worker_of.keys()
    for shard in range(shards):
        found = holders(placed.held, shard)
        assert len(found[Role.STANDBY]) <= len(found[Role.ACTIVE]) <= 1
        assert len({worker_of[id_] for ids in found.values() for id_ in ids}) == sum(map(len, found.values()))


@given(st.data(), st.integers(1, 8))
def test_a_few_assignments_later_nothing_moves_any_more_and_all_that_can_be_is_placed(
    data: st.DataObject, shards: int
) -> None:
    members = settled(data.draw(members_with_pasts(shards)), shards)
    placed = place(members, shards)
    groups = {member.worker for member in members}
    for shard in range(shards):
        assert len(holders(placed.held, shard)[Role.STANDBY]) == min(1, len(groups) - 1)
        assert (shard in placed.alone) == (len(groups) == 1)


@given(st.data(), st.integers(1, 8))
def test_the_order_in_which_members_come_does_not_matter(data: st.DataObject, shards: int) -> None:
    members = data.draw(members_with_pasts(shards))
    assert place(members, shards) == place(data.draw(st.permutations(members)), shards)


# apart and balanced


@given(workers(), st.integers(1, 24))
def test_the_two_holders_are_on_two_racks_where_there_are_two_and_shares_are_as_equal_as_that_allows(
    members: list[JoiningMember], shards: int
) -> None:
    members = settled(members, shards)
    rack_of = {member.id: member.rack for member in members}
    for shard in range(shards):
        on = [id_ for ids in holders({m.id: m.owns for m in members}, shard).values() for id_ in ids]
        assert (
            len({rack_of[id_] for id_ in on}) == min(HOLDERS, len(set(rack_of.values())))
            or len(set(rack_of.values())) == 1
        )
    assert sorted(shares(members)) == fair_shares(members, shards)


@given(workers(racks=st.just("")), st.integers(1, 24))
def test_without_racks_each_worker_has_as_many_shards_and_is_as_often_the_active_holder_as_any_other(
    members: list[JoiningMember], shards: int
) -> None:
    members = settled(members, shards)
    assert even(shares(members))
    assert even(shares(members, Role.ACTIVE))


def test_a_single_worker_has_every_shard_once_and_it_is_said_that_the_others_are_missing() -> None:
    placed = place([JoiningMember("only", "worker")], 4)
    assert placed.held == {"only": frozenset(Held(shard, Role.ACTIVE) for shard in range(4))}
    assert placed.alone == {0, 1, 2, 3}
    assert not placed.provisional


def test_two_members_of_one_worker_never_hold_the_same_shard() -> None:
    two = [JoiningMember("old", "worker"), JoiningMember("new", "worker")]
    assert place(two, 3).alone == {0, 1, 2}
    assert sum(map(len, place(two, 3).held.values())) == 3


# what moves


@given(workers(racks=st.just("")), st.integers(1, 16), st.integers(0, 6))
def test_when_a_worker_goes_its_standbys_are_promoted_where_they_are_and_nothing_else_moves_that_need_not(
    members: list[JoiningMember], shards: int, gone: int
) -> None:
    before = settled(members, shards)
    lost = before[gone % len(before)]
    left = [member for member in before if member is not lost]
    if not left:
        return
    placed = place(left, shards)
    for held in lost.owns:
        for other in left:
            if held.role is Role.ACTIVE and Held(held.shard, Role.STANDBY) in other.owns:
                assert Held(held.shard, Role.ACTIVE) in placed.held[other.id]
    missing, share = shards_of(lost), HOLDERS * shards // len(left)
    # A member that already holds a missing unit in the other role cannot get it: it gets another unit, so that shares
    # are equal.
    must_move = sum(max(0, share - len(shards_of(m) | missing)) for m in left) if len(left) > 1 else 0
    given_up = sum(len(shards_of(m) - {h.shard for h in placed.held[m.id]}) for m in left)
    assert given_up <= must_move


@given(workers(racks=st.just("")), st.integers(1, 16))
def test_a_worker_that_comes_gets_its_share_and_nobody_else_gets_anything(
    members: list[JoiningMember], shards: int
) -> None:
    before = settled(members, shards)
    comes = JoiningMember("member-new", "worker-new")
    after = settled([*before, comes], shards)
    assert even(shares(after))
    for was, now in zip(before, after, strict=False):
        assert shards_of(now) <= shards_of(was)


@given(st.data(), workers(), st.integers(1, 10))
def test_while_a_group_changes_every_shard_keeps_a_holder_that_could_answer(
    data: st.DataObject, members: list[JoiningMember], shards: int
) -> None:
    """Workers come and go one after the other; a holder has caught up with its shard only by chance."""
    now = settled(members, shards)
    comes = 0
    for _ in range(6):
        if data.draw(st.booleans()) or len(now) < 2:
            comes += 1
            now = [*now, JoiningMember(f"new-{comes}", f"new-{comes}", data.draw(RACKS))]
        else:
            now.pop(data.draw(st.integers(0, len(now) - 1)))
        able = {shard for member in now for shard in member.caught_up}
        placed = place(now, shards)
        now = joined(now, placed, caught_up=False)
        assert {shard for member in now for shard in member.caught_up} == able
        for shard in able:
            active = holders(placed.held, shard)[Role.ACTIVE]
            assert active == [m.id for m in now if m.id in active and shard in m.caught_up]
        now = [replace(member, caught_up=member.caught_up | data.draw(some_of(shards_of(member)))) for member in now]


@given(st.data(), workers(), st.integers(1, 10))
def test_a_shard_comes_to_a_new_worker_only_after_its_holder_has_given_it_up(
    data: st.DataObject, members: list[JoiningMember], shards: int
) -> None:
    before = settled(members, shards)
    comes = [JoiningMember(f"new-{n}", f"new-{n}", data.draw(RACKS)) for n in range(data.draw(st.integers(1, 3)))]
    gone = data.draw(st.sets(st.sampled_from([member.id for member in before]), max_size=len(before) - 1))
    now = [*(member for member in before if member.id not in gone), *comes]
    for _ in range(ROUNDS):
        placed = place(now, shards)
        for shard in range(shards):
            was = {member.id for member in now if shard in shards_of(member)}
            will = {id_ for ids in holders(placed.held, shard).values() for id_ in ids}
            assert not (was - will and will - was), "one comes while another still has it"
            if was - will:
                continue
            assert len(was | will) <= HOLDERS
        now = joined(now, placed, caught_up=data.draw(st.booleans()))


def test_who_takes_over_becomes_the_active_holder_only_when_it_has_caught_up() -> None:
    old, new = (JoiningMember(name, name) for name in ("old", "new"))
    (old,) = settled([old], 2)
    placed = place([old, new], 2)
    assert placed.held["old"] == {Held(0, Role.ACTIVE), Held(1, Role.ACTIVE)}
    assert placed.held["new"] == {Held(0, Role.STANDBY), Held(1, Role.STANDBY)}
    assert placed.provisional, "it would be the active holder of one, and is to say when it can"
    placed = place(joined([old, new], placed, caught_up=True), 2)
    assert shares([replace(m, owns=placed.held[m.id]) for m in (old, new)], Role.ACTIVE) == [1, 1]
    assert not placed.provisional


def test_of_two_that_say_that_they_own_a_shard_the_one_that_heard_last_does() -> None:
    mine = frozenset({Held(0, Role.ACTIVE)})
    late = JoiningMember("late", "late", owns=mine, caught_up=frozenset({0}), generation=3)
    current = JoiningMember("now", "now", owns=mine, caught_up=frozenset({0}), generation=4)
    assert place([late, current], 1).held == {"now": mine, "late": frozenset({Held(0, Role.STANDBY)})}
