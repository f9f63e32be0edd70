"""Texts of pages by their number, through cuts and gaps."""

from __future__ import annotations

import struct
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.errors import Refused
from worker.scan.judge.texts import IDS, Texts


def given_ids(folder: Path, *names: str | None, pages: int = 0) -> None:
    with closing(Texts(folder, IDS, pages)) as ids:
        ids.extend(pa.array(names, pa.string()))
        ids.sync()


def all_of(ids: Texts) -> list[str | None]:
    found: list[str | None] = ids.at(np.arange(len(ids))).to_pylist()
    return found


def test_pages_that_were_judged_without_ids_have_none(tmp_path: Path) -> None:
    given_ids(tmp_path, "a")
    with closing(Texts(tmp_path, IDS, 3)) as ids:
        ids.extend(pa.array(["not this", "二", None], pa.large_string()).slice(1))
        assert all_of(ids) == ["a", None, None, "二", None]
    with closing(Texts(tmp_path, IDS, 4)) as again:
        assert all_of(again) == ["a", None, None, "二"]


def test_files_that_do_not_fit_each_other_are_refused(tmp_path: Path) -> None:
    given_ids(tmp_path, "a", "bb")
    (tmp_path / "ids").write_bytes(b"a")
    with pytest.raises(Refused, match="put back a copy of both"):
        Texts(tmp_path, IDS, 2)
    with closing(Texts(tmp_path, IDS, 1)) as ids:
        assert all_of(ids) == ["a"]

    (tmp_path / "ids").write_bytes(b"abb")
    (tmp_path / "ids.ends").write_bytes(struct.pack("<3Q", 1, 99, 3))
    with closing(Texts(tmp_path, IDS, 3)) as ids, pytest.raises(Refused, match=r"ids.ends is damaged"):
        all_of(ids)


@given(
    st.lists(
        st.tuples(st.lists(st.text(st.characters(codec="utf-8"), max_size=9), max_size=5), st.integers(0, 3)),
        max_size=6,
    )
)
def test_whatever_is_appended_and_cut_they_are_a_list(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[tuple[list[str], int]]
) -> None:
    folder, expected = tmp_path_factory.mktemp("ids"), list[str]()
    for names, forgotten in rounds:
        expected = expected[: max(0, len(expected) - forgotten)]
        given_ids(folder, *names, pages=len(expected))
        expected += names
    with closing(Texts(folder, IDS, len(expected))) as ids:
        assert all_of(ids) == [name or None for name in expected]
