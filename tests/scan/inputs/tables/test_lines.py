"""Lines, whole and too large ones, and their offsets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from worker.scan.inputs.tables.lines import Line, lines_of
from worker.scan.inputs.unpacking import UnpackedPiece

MOST = 20


@given(st.lists(st.binary(max_size=40)), st.integers(1, 50))
def test_lines_are_those_of_the_content_however_it_is_cut_in_pieces(parts: list[bytes], step: int) -> None:
    content = b"\n".join(parts)
    pieces = [UnpackedPiece(content[at : at + step]) for at in range(0, len(content), step)]
    expected = []
    offset = 0
    for line in content.split(b"\n"):
        whole = content[offset : offset + len(line) + 1]
        if whole:
            expected.append((offset, whole if len(whole) <= MOST else b"", "" if len(whole) <= MOST else "too-large"))
        offset += len(whole)
    assert [(line.offset, line.content, line.broken) for line in lines_of(pieces, MOST)] == expected


def test_damage_costs_the_line_that_it_is_in() -> None:
    pieces = [UnpackedPiece(b"one\ntw"), UnpackedPiece(b"", 7, damage="a hole"), UnpackedPiece(b"three\nfour")]
    assert list(lines_of(pieces, MOST)) == [
        Line(0, b"one\n"),
        Line(4, b"", "damaged", "a hole (byte 7 of the file as it is stored)"),
        Line(6, b"three\n"),
        Line(12, b"four"),
    ]


def test_what_is_too_large_is_not_held() -> None:
    held = [0]

    def pieces() -> object:
        for _ in range(1000):
            held.append(0)
            yield UnpackedPiece(b"a" * 1_000_000)
        yield UnpackedPiece(b"\nb")

    import tracemalloc

    tracemalloc.start()
    found = list(lines_of(pieces(), 2_000_000))  # type: ignore[arg-type]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [(line.offset, line.broken) for line in found] == [(0, "too-large"), (1_000_000_001, "")]
    assert peak < 10_000_000
