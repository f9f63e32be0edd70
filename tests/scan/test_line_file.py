"""A file of lines that goes on behind a checkpoint."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

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
