"""The promises of the port to the log where each shard has two holders, in addition to ``tests.stream.contract``."""

from __future__ import annotations

from tests.stream.contract import SHARDS, LogUnderTest
from worker.stream.log import Held, Role


class RolesContract:
    """The promises of the group on ``index`` where each shard has two holders; the fixture ``world`` has two
    replicas."""

    def test_a_lone_member_is_the_active_holder_of_everything_and_nobodys_standby(self, world: LogUnderTest) -> None:
        member = world.started()
        assert member.held == {Held(shard, Role.ACTIVE) for shard in range(SHARDS)}

    def test_two_members_hold_each_shard_in_different_roles(self, world: LogUnderTest) -> None:
        one, other = world.started(), world.member("other")
        world.balance(one, other)
        assert one.shards == other.shards == set(range(SHARDS))
        assert not one.held & other.held
        assert [sum(held.role is Role.ACTIVE for held in member.held) for member in (one, other)] == [1, 1]

    def test_a_standby_becomes_active_and_loses_its_old_role_at_once_or_one_assignment_before_or_after(
        self, world: LogUnderTest
    ) -> None:
        one, other = world.started(), world.member("other")
        world.balance(one, other)
        (stood_by,) = (held.shard for held in one.held if held.role is Role.STANDBY)
        world.cut_off(other)
        world.balance(one)
        assert one.held == {Held(shard, Role.ACTIVE) for shard in range(SHARDS)}
        last = {(what, held): number for number, what, held in one.changes}
        lost, gained = last["lost", Held(stood_by, Role.STANDBY)], last["gained", Held(stood_by, Role.ACTIVE)]
        assert abs(lost - gained) <= 1

    def test_an_assignment_that_changes_nothing_for_a_member_is_told_all_the_same(self, world: LogUnderTest) -> None:
        one, other, third = world.started(), world.member("other"), world.member("third")
        world.balance(one, other)
        before = one.assignments, other.assignments

        def told() -> bool:
            for member in (one, other, third):
                member.poll()
            return one.assignments > before[0] and other.assignments > before[1]

        world.until("both hear that a third member came", lambda: world.joined(third) and told())

    def test_who_is_cut_off_hears_of_the_loss_of_each_role_before_any_is_given_back(self, world: LogUnderTest) -> None:
        one, other = world.started(), world.member("other")
        world.balance(one, other)
        held = set(one.held)
        one.changes.clear()
        world.cut_off(one)
        world.balance(one, other)
        changes = iter(one.changes)
        for number, what, role in changes:  # an assignment that was under way at the cut may be reported first
            held = held - {role} if what == "lost" else held | {role}
            if not held:
                assert all(later > number for later, _, _ in changes), "told by the assignment that gives"
        assert not held, "given back before all was lost"
