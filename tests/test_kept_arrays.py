"""Arrays that are made once on a machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from worker import kept_arrays
from worker.fingerprint import text_reader
from worker.kept_arrays import kept, version_of
from worker.page.words import dictionary as words


class Maker:
    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> kept_arrays.Arrays:
        self.times += 1
        return {"codes": np.arange(1000, dtype=np.uint32), "sums": np.array([2**40, 3])}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kept_arrays, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def same(found: kept_arrays.Arrays) -> None:
    for name, array in Maker()().items():
        assert found[name].dtype == array.dtype
        assert found[name].flags.c_contiguous
        np.testing.assert_array_equal(found[name], array)


def test_they_are_made_once_and_again_for_another_version(folder: Path) -> None:
    make = Maker()
    for version in ("1", "1", "2", "1"):
        same(kept("table", version, make))
    assert make.times == 2
    assert sorted(file.name for file in folder.iterdir()) == ["table-1.npz", "table-2.npz"]


@pytest.mark.parametrize(
    "damage", [lambda file: file[:-1], lambda file: file[: len(file) // 2], lambda file: b"", bytes]
)
def test_a_damaged_file_is_made_anew(folder: Path, damage: object) -> None:
    make = Maker()
    kept("table", "1", make)
    file = folder / "table-1.npz"
    whole = file.read_bytes()
    assert callable(damage)
    changed = damage(whole) if damage is not bytes else whole[:200] + bytes([whole[200] ^ 1]) + whole[201:]
    file.write_bytes(changed)
    same(kept("table", "1", make))
    assert make.times == 2
    assert file.read_bytes() == whole


def test_where_nothing_can_be_kept_they_are_made_each_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = Maker()
    folder.write_text("a file in the place of the folder")
    same(kept("table", "1", make))
    monkeypatch.setattr(kept_arrays, "cache_folder", lambda: None)
    same(kept("table", "1", make))
    assert make.times == 2


def test_objects_are_not_unpickled(folder: Path) -> None:
    folder.mkdir()
    np.savez(folder / "table-1.npz", codes=np.array([{"a": 1}], dtype=object))
    same(kept("table", "1", Maker()))


def test_the_version_changes_with_any_file_and_with_what_is_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "tables_of_a_test"
    package.mkdir()
    for name in ("__init__.py", "words.txt"):
        (package / name).write_text("")
    monkeypatch.syspath_prepend(tmp_path)

    def versions() -> set[str]:
        return {version_of(package.name, *more) for more in ((), (b"more",), ("worker.places",))}

    before = versions()
    (package / "words.txt").write_text("a")
    assert len(before | versions()) == 6


@pytest.mark.parametrize("fold", [True, False])
def test_a_reader_s_tables_and_the_dictionary_come_back_as_they_were_made(folder: Path, fold: bool) -> None:
    made = text_reader._made(fold)
    for _ in range(2):
        found = text_reader._tables.__wrapped__(fold)
        for name, array in made._asdict().items():
            assert getattr(found, name).dtype == array.dtype
            np.testing.assert_array_equal(getattr(found, name), array)
    first, again = (words._entries(fold, usable=True) for _ in range(2))
    assert first[3:] == again[3:]
    for one, other in ((first.codes, again.codes), (first.ends, again.ends), (first.counts, again.counts)):
        assert (one.dtype, one.tolist()) == (other.dtype, other.tolist())
    assert len(list(folder.iterdir())) == 2
