"""The metadata of consumed offsets, which any program of the group may write: ``Refused`` if it is not ours."""

from __future__ import annotations

from collections.abc import Iterator

from crawler_plugin.wire.errors import Refused
from worker.stream.policy import NOTHING, Note, ReplayPoint


def attack(data: bytes) -> None:
    """Read the data as text."""
    text = data.decode(errors="replace")
    try:
        note = Note.from_metadata(text, "partition 0")
    except Refused:
        return
    assert Note.from_metadata(note.to_metadata(), "partition 0") == note
    assert all(0 <= number < 1 << 63 for number in note.point)


def seeds() -> Iterator[bytes]:
    """Metadata in each form."""
    point = ReplayPoint(3, 17)
    for note in (Note(point), Note(point, 5), Note(point, NOTHING), Note(point, 0, "b"), Note(point, 7, "")):
        yield note.to_metadata().encode()
    yield b"1 " + b"9" * 5000 + b" 1"
