"""A file of lines that goes on behind a checkpoint."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from crawler_plugin.wire.errors import Refused
from worker.scan.line_file import LineFile


def test_what_was_written_behind_the_last_sync_is_cut_off(tmp_path: Path) -> None:
    with closing(LineFile(tmp_path / "lines")) as file:
        file.write(b"a\n")
        length = file.sync()
        file.write(b"half of a li")
    assert length == 2
    with closing(LineFile(tmp_path / "lines", length)) as again:
        again.write(b"b\n")
        assert again.sync() == 4
    assert (tmp_path / "lines").read_bytes() == b"a\nb\n"


def test_one_that_has_lost_lines_since_is_not_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"a\n")
    with pytest.raises(Refused, match=r"behind its first 4 bytes, and has 2"):
        LineFile(tmp_path / "lines", 4)
    assert (tmp_path / "lines").read_bytes() == b"a\n"
