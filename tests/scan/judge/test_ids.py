"""Ids of pages by their number, through flushes, cuts and gaps."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.errors import Refused
from worker.scan.judge.ids import Ids


def given_ids(folder: Path, *names: str, pages: int = 0) -> None:
    with closing(Ids(folder, pages)) as ids:
        ids.extend(names)
        ids.flush()


def test_an_id_is_known_before_and_after_it_is_flushed(tmp_path: Path) -> None:
    with closing(Ids(tmp_path, 0)) as ids:
        ids.extend(["first"])
        assert ids[0] == "first"
        ids.flush()
        ids.extend(["二"])
        assert (ids[0], ids[1]) == ("first", "二")
        ids.flush()
        ids.flush()
    with closing(Ids(tmp_path, 2)) as again:
        assert (again[0], again[1]) == ("first", "二")


def test_what_was_not_flushed_is_not_there(tmp_path: Path) -> None:
    given_ids(tmp_path, "a")
    with closing(Ids(tmp_path, 1)) as ids:
        ids.extend(["b"])
    assert (tmp_path / "ids").read_bytes() == b"a"


def test_pages_that_were_judged_without_ids_have_none(tmp_path: Path) -> None:
    given_ids(tmp_path, "a")
    with closing(Ids(tmp_path, 3)) as ids:
        ids.extend(["d"])
        assert [ids[number] for number in range(4)] == ["a", None, None, "d"]
        ids.flush()
    with closing(Ids(tmp_path, 4)) as again:
        assert [again[number] for number in range(4)] == ["a", None, None, "d"]


def test_ids_behind_the_last_page_are_forgotten(tmp_path: Path) -> None:
    given_ids(tmp_path, "a", "bb", "ccc")
    given_ids(tmp_path, "d", pages=1)
    with closing(Ids(tmp_path, 2)) as ids:
        assert (ids[0], ids[1]) == ("a", "d")


def test_files_that_do_not_fit_each_other_are_refused(tmp_path: Path) -> None:
    given_ids(tmp_path, "a", "bb")
    (tmp_path / "ids").write_bytes(b"a")
    with pytest.raises(Refused, match="put back a copy of both"):
        Ids(tmp_path, 2)
    with closing(Ids(tmp_path, 1)) as ids:
        assert ids[0] == "a"


@given(
    st.lists(
        st.tuples(st.lists(st.text(st.characters(codec="utf-8"), max_size=9), max_size=5), st.integers(0, 3)),
        max_size=6,
    )
)
def test_whatever_is_appended_flushed_and_cut_they_are_a_list(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[tuple[list[str], int]]
) -> None:
    folder, expected = tmp_path_factory.mktemp("ids"), list[str]()
    for names, forgotten in rounds:
        expected = expected[: max(0, len(expected) - forgotten)]
        given_ids(folder, *names, pages=len(expected))
        expected += names
    with closing(Ids(folder, len(expected))) as ids:
        assert [ids[number] for number in range(len(expected))] == [name or None for name in expected]
