"""The outputs pass to another generation: both together write each page once, whatever ends halfway."""

from __future__ import annotations

from typing import Any, Final

import pytest

from crawler_plugin.wire.errors import Refused
from tests.operations.generations import Beside, different, every_page, written
from tests.stream.script import COMMIT, Page
from worker.fingerprint.near import SimHashNear
from worker.fingerprint.scoped import ScopedNear
from worker.operations.switch import plan_switch, switch
from worker.stream.policy import OutputMode

A, B, C, D, E, F = different(*"abcdef")
A2 = Page("http://a2.example/", A.bits ^ 0b11)
DEAD: Final = Page("http://dead.example/", "dead")


def pair(**changes: Any) -> tuple[Beside, Beside]:
    """A generation that writes and a generation that counts, with a larger radius; both own all partitions."""
    old = Beside("", **changes)
    new = Beside("b", old, output="count", near=ScopedNear(SimHashNear(2)), **changes)
    return old.play(COMMIT), new.play(COMMIT)


def go(old: Beside, new: Beside) -> list[int]:
    """Run the command; returns the borders."""
    passings = plan_switch(old.generation, new.generation, range(old.world.partitions))
    switch(old.generation, new.generation, passings)
    return [passing.border for passing in passings]


def test_a_generation_that_counts_judges_by_its_own_rule_and_passes_no_page_on() -> None:
    old, new = pair()
    old.play(A, A2, DEAD, COMMIT)
    new.play(COMMIT)
    assert [line.split()[1] for line in old.verdicts()] == ["unique", "unique", "dead"]
    assert [line.split()[1] for line in new.verdicts()] == ["unique", "duplicate"]
    assert written(new) == {}
    assert written(old) == every_page(old)


def test_the_old_one_may_count_on_and_take_the_outputs_back() -> None:
    old, new = pair()
    old.play(A, COMMIT).away()
    new.away()
    go(old, new)
    new.back(B, COMMIT, output="tag")
    with pytest.raises(Refused, match=r"given to topics\.generation='b' from offset 1 on"):
        old.back(COMMIT)
    old.away().back(COMMIT, output="count")
    new.play(C, COMMIT).away()
    old.away()
    assert go(new, old) == [3]
    old.back(D, COMMIT, output="tag")
    assert written(old, new) == every_page(old)


def test_no_setting_leaves_pages_out_or_writes_them_twice() -> None:
    old, new = pair()
    old.play(A, COMMIT).away()
    with pytest.raises(Refused, match=r"a topics\.generation of their own"):
        old.back(COMMIT, output="count")
    old.away()
    new.play(COMMIT).away()
    with pytest.raises(Refused, match="python -m worker switch --from"):
        new.back(COMMIT, output="tag")


@pytest.mark.parametrize("output", ["drop", "verdicts"])
def test_a_generation_that_copies_other_pages_than_the_old_one_takes_over_as_any(
    output: OutputMode,
) -> None:
    old, new = pair()
    old.play(A, DEAD, COMMIT)
    new.play(COMMIT)
    with pytest.raises(Refused, match="python -m worker switch --from"):
        new.away().back(COMMIT, output=output)
    with pytest.raises(Refused, match=r"a topics\.generation of their own"):
        old.away().back(COMMIT, output="count")
    old.away()
    new.away()
    assert go(old, new) == [2]
    new.back(D, DEAD._replace(url="http://also-dead/"), COMMIT, output=output)
    found = every_page(old)
    if output == "verdicts":
        del found[0, 2]
    assert written(old, new) == found
    assert [line.split()[1] for line in new.verdicts()] == ["unique", "unique", "dead"], "the first dead one is old's"


def test_a_generation_that_has_gone_further_is_refused_until_the_old_one_has_passed_it() -> None:
    old, new = pair()
    old.play(A, COMMIT).away()
    new.play(B, COMMIT).away()
    with pytest.raises(Refused, match=r"counted the pages of partition 0 .*up to offset 2.*written them up to 1"):
        go(old, new)
    old.back(COMMIT).away()
    assert go(old, new) == [2]


def test_who_still_runs_is_named() -> None:
    old, new = pair()
    for running in (old, new):
        (old if running is new else new).away()
        with pytest.raises(Refused, match=rf"of topics\.generation='{running.name}' (is|are) running \("):
            go(old, new)
        running.away()
        (old if running is new else new).back(output=None)


def test_a_partition_that_was_never_consumed_is_refused() -> None:
    old, new = pair(partitions=2)
    old.play(A, COMMIT).away()
    new.play(COMMIT).away()
    del new.world.committed[1]
    with pytest.raises(Refused, match="'b' has no consumed offset for partition 1 of pages"):
        go(old, new)


def test_one_that_does_not_write_has_nothing_to_give() -> None:
    old, new = pair()
    old.play(A, COMMIT).away()
    new.play(COMMIT).away()
    with pytest.raises(Refused, match="does not write"):
        go(new, old)
    with pytest.raises(Refused, match="to itself"):
        go(old, old)
    third = Beside("c", old, output="count")
    third.play(COMMIT).away()
    assert go(old, new) == [1]
    with pytest.raises(Refused, match="does not write"):
        go(old, third)


def test_one_that_has_written_cannot_go_on_where_another_ends() -> None:
    old = Beside("")
    old.play(A, COMMIT).away()
    other = Beside("b", old)
    other.play(COMMIT).away()
    with pytest.raises(Refused, match="has written pages of partition 0"):
        go(old, other)
