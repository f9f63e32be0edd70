"""Lines of verdicts and of dead letters."""

from __future__ import annotations

import pytest

from crawler_plugin.wire.errors import UnreadableRecord
from worker.results.rows import DeadRow, VerdictRow

ROW = VerdictRow(file="a.warc", offset=7, id="x", url="http://a.example/", verdict="dead", reason="r", detail="d\n")


def test_a_line_is_read_as_it_was_written() -> None:
    assert VerdictRow.decode(ROW.encode()) == ROW
    assert ROW.encode().count(b"\n") == 1
    letter = DeadRow.of(ROW)
    assert (letter.file, letter.offset, letter.id, letter.reason, letter.detail) == ("a.warc", 7, "x", "r", "d\n")
    assert DeadRow.decode(letter.encode()) == letter


@pytest.mark.parametrize("line", [b"", b"{}", b'{"file": "a"}', b"[" * 100_000, ROW.encode().replace(b"dead", b"odd")])
def test_other_lines_are_refused(line: bytes) -> None:
    with pytest.raises(UnreadableRecord, match="not a verdict"):
        VerdictRow.decode(line)
    with pytest.raises(UnreadableRecord, match="not a dead letter"):
        DeadRow.decode(line.replace(b'"reason":"r"', b""))
