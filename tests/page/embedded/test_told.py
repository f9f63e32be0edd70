"""Lists of names."""

from __future__ import annotations

from worker.page.embedded.told import names


def test_a_list_of_names_is_a_set_of_them() -> None:
    assert names("one two  one") == {"one", "two"}
