"""The labelled pages that tests use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.labelled import URL_TESTS, folders, some_of_each, standards_in
from tests.sizing.documents import write_documents


@pytest.mark.parametrize(
    ("named", "found"),
    [
        (None, []),
        ("", []),
        ("/one", ["/one"]),
        (f"/one{os.pathsep}two", ["/one", "two"]),
        (f"{os.pathsep}/one{os.pathsep}{os.pathsep}/one", ["/one"]),
    ],
)
def test_folders_are_named_as_on_path(named: str | None, found: list[str]) -> None:
    assert folders(named) == [Path(folder) for folder in found]


def test_the_test_data_of_standards_is_no_set_of_labelled_pages(tmp_path: Path) -> None:
    (tmp_path / URL_TESTS).touch()
    named = f"/one{os.pathsep}{tmp_path}{os.pathsep}two"
    assert (folders(named), standards_in(named)) == ([Path("/one"), Path("two")], tmp_path)
    assert standards_in("/one") is None
    assert standards_in(None) is None


def test_as_many_pages_of_each_set_are_drawn_and_the_same_each_time(tmp_path: Path) -> None:
    sets = []
    for name, pages in (("small", 4), ("large", 40)):
        (tmp_path / name).mkdir()
        sets.append(write_documents(tmp_path / name, pages))
    drawn = some_of_each(sets, 20)
    assert len(drawn) == 4 + 10
    assert drawn == some_of_each(sets, 20)
    numbers = [int(meta.url.rsplit("/", 1)[1]) for meta, _ in drawn[4:]]
    assert numbers == sorted(set(numbers))
    assert numbers != list(range(10))
