"""Lines of a file, packed or not, with the place of each; lines larger than allowed are not held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from worker.scan.inputs.unpacking import UnpackedPiece


class Line(NamedTuple):
    """A line with its end, or why there is none: then ``broken`` is the reason, and ``content`` is empty.

    ``offset`` counts the bytes that were unpacked before it.
    """

    offset: int
    content: bytes
    broken: str = ""
    detail: str = ""


def line_end(beginning: bytes) -> bytes:
    """The line end of a file with this beginning: LF, or CR if there is no LF."""
    return b"\r" if b"\r" in beginning.rstrip() and b"\n" not in beginning else b"\n"


def lines_of(pieces: Iterable[UnpackedPiece], most_bytes: int, end_of_line: bytes = b"\n") -> Iterator[Line]:
    """All lines. Text that a damaged stretch has cut off is not a line; the text after it begins one."""
    offset = 0  # of the line that is not whole yet
    begun: list[bytes] = []
    size = 0
    for piece in pieces:
        if piece.damage:
            yield damaged(offset, piece)
            offset, begun, size = offset + size, [], 0
            continue
        content = piece.content
        start = 0
        while (end := content.find(end_of_line, start) + 1) > 0:
            if not size:
                line = content[start:end]
            else:
                size += end - start
                begun.append(content[start:end])
                line = b"".join(begun) if size <= most_bytes else b""
            length = size or len(line)
            yield Line(offset, line) if length <= most_bytes else too_large(offset, length, most_bytes)
            offset, begun, size, start = offset + length, [], 0, end
        if rest := content[start:]:
            size += len(rest)
            if size <= most_bytes:
                begun.append(rest)
            else:
                begun = []
    if size:
        yield Line(offset, b"".join(begun)) if size <= most_bytes else too_large(offset, size, most_bytes)


def damaged(offset: int, piece: UnpackedPiece) -> Line:
    """In place of text that a damaged stretch has cut off."""
    return Line(offset, b"", "damaged", f"{piece.damage} (byte {piece.begins} of the file as it is stored)")


def too_large(offset: int, size: int, most_bytes: int) -> Line:
    """In place of a line that is not held."""
    return Line(offset, b"", "too-large", f"{size} bytes, at most {most_bytes} are read")
