"""Lines of compressed files, and problems reported together."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from crawler_plugin.wire.errors import UsageError
from worker.evaluate.labels.lines import SHOWN, Problems, lines

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = '{"id": 1}\n\n  {"id": "第二"}  \n{"id": 3}'
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda content: content,
    "xz": lzma.compress,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "zstd": zstd.compress,
}


@pytest.mark.parametrize("kind", COMPRESSORS)
@pytest.mark.parametrize("name", ["docs.jsonl", "docs.jsonl.xz", "docs.gz"])
def test_the_first_bytes_say_how_a_file_is_compressed_whatever_its_name(tmp_path: Path, kind: str, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(COMPRESSORS[kind](TEXT.encode()))
    assert list(lines(path)) == [(1, '{"id": 1}'), (3, '{"id": "第二"}'), (4, '{"id": 3}')]


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_bytes(b"\xef\xbb\xbfone\ntwo")
    assert list(lines(path)) == [(1, "one"), (2, "two")]


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    path.touch()
    assert list(lines(path)) == []


@pytest.mark.parametrize("kind", ["xz", "gzip", "bzip2", "zstd"])
def test_a_file_that_was_cut_off_is_called_damaged(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "docs.jsonl"
    whole = COMPRESSORS[kind]("".join(f"{number * number}\n" for number in range(20_000)).encode())
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UsageError, match=rf"{path}: its compression breaks off or is damaged .* copy the file once"):
        list(lines(path))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"a\nb\n\xff\xfe", "line 3: not UTF-8 at its byte 0"),
        ("中文".encode("gb18030"), "line 1: not UTF-8 at its byte 0"),
        (b"PK\x03\x04\xfa", "line 1: not UTF-8 .* compressed with xz, gzip or zstd"),
    ],
)
def test_what_is_not_utf_8_is_named_with_its_line(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=says):
        list(lines(path))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere cannot be read .* name another file"):
        list(lines(tmp_path / "nowhere"))


def test_all_problems_are_told_at_once_up_to_a_number(tmp_path: Path) -> None:
    problems = Problems(tmp_path / "pairs")
    problems.raise_if_any()
    problems.add(3, "no such document; add it")
    with pytest.raises(UsageError, match=r"pairs, line 3: no such document; add it$"):
        problems.raise_if_any()
    for line in range(4, 4 + SHOWN + 1):
        problems.add(line, "the same; leave it out")
    with pytest.raises(UsageError) as told:
        problems.raise_if_any()
    assert str(told.value).count("line ") == SHOWN
    assert str(told.value).endswith("and 2 more; correct these first")
