from __future__ import annotations

import pytest

from crawler_plugin.wire.counted import counted


@pytest.mark.parametrize(("number", "said"), [(0, "0 pages"), (1, "1 page"), (2000, "2,000 pages")])
def test_one_of_a_thing_is_told_in_the_singular(number: int, said: str) -> None:
    assert counted(number, "page") == said


@pytest.mark.parametrize(("number", "said"), [(1, "1 entry is"), (2, "2 entries are")])
def test_other_plurals_are_given(number: int, said: str) -> None:
    assert counted(number, "entry is", "entries are") == said
