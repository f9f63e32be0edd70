"""How results are written."""

from __future__ import annotations

import pytest

from benchmarks import report


@pytest.mark.parametrize(
    ("number", "shown"), [(9, "9"), (1500, "1.5k"), (99_999, "100.0k"), (100_000, "0.10M"), (12_345_678, "12.3M")]
)
def test_numbers_are_shown_short(number: float, shown: str) -> None:
    assert report.short(number) == shown


def test_a_bar_in_a_cell_does_not_break_the_table() -> None:
    assert report.table(["a|b"], [["c"]]) == "| a/b |\n| --- |\n| c |"
