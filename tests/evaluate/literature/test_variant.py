"""Files of weights, and choices that do not go together."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler_plugin.wire.errors import UsageError
from worker.evaluate.literature.variant import Variant, read_idf, read_levels


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "words.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_an_idf_table_is_read_in_normalised_spelling(tmp_path: Path) -> None:
    path = written(tmp_path, "Fish\t2.5\nwater 0\n")
    assert read_idf(path, fold_traditional=True) == {"fish": 2.5, "water": 0.0}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("fish\t2\nwater\n", "line 2"),
        ("fish\tmany\n", "line 1"),
        ("fish\tnan\n", "line 1"),
        ("fish\t-1\n", "line 1"),
        ("fish\t1e300\n", "between 0 and 1000"),
        (b"\xff\xfe", "not UTF-8 at byte 0; save it as UTF-8"),
    ],
)
def test_a_table_that_cannot_be_read_is_named_with_option_and_line(
    tmp_path: Path, content: str | bytes, complaint: str
) -> None:
    path = written(tmp_path, content)
    with pytest.raises(UsageError, match=complaint) as raised:
        read_idf(path, fold_traditional=True)
    assert f"--idf-table: {path}" in str(raised.value)


def test_levels_are_read_in_normalised_spelling(tmp_path: Path) -> None:
    path = written(tmp_path, "# by hand\n美國\t4\n\nＦｉｓｈ\t 5\r\n")
    assert read_levels(path, fold_traditional=True) == {"美国": 4, "fish": 5}
    assert read_levels(path, fold_traditional=False) == {"美國": 4, "fish": 5}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("fish\t2\nwater\n", "line 2: not a word, a tab and its level from 1 to 5; correct the line"),
        ("fish 2\n", "line 1: not a word"),
        ("fish\t0\n", "line 1: not a word"),
        ("fish\t6\n", "line 1: not a word"),
        ("fish\t2.5\n", "line 1: not a word"),
        ("fish\tn\t2\n", "line 1: not a word"),
        ("# fish\nfish\t2\nwater\t1\nFish\t3\n", "line 4: fish has a level on a line before this; correct the line"),
        (b"\xff\xfe", "not UTF-8 at byte 0; save it as UTF-8"),
    ],
)
def test_a_line_that_gives_no_level_or_a_second_one_is_named(
    tmp_path: Path, content: str | bytes, complaint: str
) -> None:
    path = written(tmp_path, content)
    with pytest.raises(UsageError, match=complaint) as raised:
        read_levels(path, fold_traditional=True)
    assert str(raised.value).startswith(f"--levels-file: {path}")


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(UsageError, match="name a file in --idf-table"):
        Variant(weights="tf-idf")
    with pytest.raises(UsageError, match="--levels-file has no effect with --weights tf; choose five-levels"):
        Variant(levels={"fish": 5})
