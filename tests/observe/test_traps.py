"""A source of almost only duplicates gets a name, however small it is, and loses it once it is not a trap any more."""

from __future__ import annotations

import random

import pytest

from worker.observe import traps
from worker.observe.traps import FORGOTTEN_SECONDS, HIGHEST, LOSS, NAMED_FROM, Traps


def seen(found: Traps[str], value: str, duplicates: int, others: int = 0, now: float = 0.0) -> list[str | None]:
    """The values that lost their names in the process."""
    lost = [found.see(value, is_duplicate=True, now=now) for _ in range(duplicates)]
    return [*lost, *(found.see(value, is_duplicate=False, now=now) for _ in range(others))]


def test_a_value_is_named_after_so_many_duplicates_in_a_row_and_not_before() -> None:
    found = Traps[str](2)
    seen(found, "trap", NAMED_FROM - 1)
    assert not found.names("trap")
    seen(found, "trap", 1)
    assert found.names("trap")


def test_it_loses_its_name_with_a_few_dozen_other_pages_however_long_it_was_a_trap() -> None:
    found = Traps[str](2)
    seen(found, "trap", 100 * HIGHEST)
    lost = seen(found, "trap", 0, HIGHEST // LOSS)
    assert lost == [None] * (HIGHEST // LOSS - 1) + ["trap"]
    assert not found.names("trap")
    assert seen(found, "trap", 0, 1) == [None]


@pytest.mark.parametrize(("share", "named"), [(0.5, False), (0.75, False), (0.95, True), (1.0, True)])
def test_a_share_far_below_five_in_six_is_never_named_and_one_far_above_it_is(share: float, named: bool) -> None:
    chance, found, times = random.Random(1), Traps[str](1), 0
    for _ in range(2000):
        found.see("host", is_duplicate=chance.random() < share, now=0)
        times += found.names("host")
    assert found.names("host") == named
    assert (times > 1000) == named


def test_no_more_are_named_than_may_be_until_one_has_met_no_page_for_long() -> None:
    found = Traps[str](1)
    seen(found, "first", NAMED_FROM)
    assert seen(found, "second", NAMED_FROM, now=FORGOTTEN_SECONDS - 1) == [None] * NAMED_FROM
    assert found.names("first") and not found.names("second")
    assert seen(found, "second", 1, now=FORGOTTEN_SECONDS) == ["first"]
    assert found.names("second") and not found.names("first")


def test_none_is_named_where_none_may_be() -> None:
    found = Traps[str](0)
    assert seen(found, "trap", 3 * NAMED_FROM) == [None] * 3 * NAMED_FROM
    assert not found.names("trap")


def test_values_without_end_fill_no_memory_and_those_with_a_name_keep_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traps, "REMEMBERED", 10)
    found = Traps[str](1)
    seen(found, "trap", NAMED_FROM)
    seen(found, "nearly", NAMED_FROM - 1)
    for number in range(100):
        seen(found, f"once {number}", 1)
    assert found.names("trap")
    seen(found, "trap", 0, NAMED_FROM // LOSS)
    assert not found.names("trap")
    seen(found, "nearly", 1)
    assert found.names("nearly")
