"""The common parts of the readers of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scan.inputs.written import PACKED, put
from worker.scan.inputs.opening import stored
from worker.scan.inputs.packed_file import PackedFile
from worker.scan.inputs.unpacking import compression_of


class Some(PackedFile):
    kind = "some"


@pytest.mark.parametrize("end", PACKED)
def test_what_is_written_is_packed_as_the_file_is_and_always_the_same(end: str, tmp_path: Path) -> None:
    path = put(tmp_path, "a", PACKED[end](b"content"))
    file = Some(stored(str(path)), compression_of(path.read_bytes()), 100)
    assert file.form == "some" + end.replace(".", "+")
    written = []
    for name in ("b", "c"):
        with file.packed_target(tmp_path / name) as out:
            out.write(b"other")
        copy = Some(stored(str(tmp_path / name)), compression_of((tmp_path / name).read_bytes()), 100)
        assert b"".join(piece.content for piece in copy.pieces()) == b"other"
        assert copy.form == file.form and copy.bytes_read == copy.bytes_in_all
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]
