"""Files of words: ignored lines, and the error where a file cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler_plugin.wire.errors import UsageError
from worker.config.word_files import read_lines


def test_blank_lines_remarks_and_the_mark_of_utf_8_are_no_words(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(b"\xef\xbb\xbf7 \r\n\n# a remark\n  8\n")
    assert [*read_lines("--numbers", path, int)] == [7, 8]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"7\n\nseven\n", r"--numbers: .*words\.txt, line 3: .*'seven'; correct the line"),
        (b"7\n\xff\n", r"--numbers: .*words\.txt is not UTF-8 at byte 2; save it as UTF-8"),
        (None, r"--numbers: .*words\.txt cannot be read \(No such file or directory\); name another file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_place(tmp_path: Path, content: bytes | None, told: str) -> None:
    path = tmp_path / "words.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=told):
        [*read_lines("--numbers", path, int)]
