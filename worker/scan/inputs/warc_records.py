"""Finds the records of a WARC one after the other, and the next whole one behind damage."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from worker.scan.inputs.unpacking import UnpackedPiece

START: Final = re.compile(rb"WARC/[01]\.\d{1,2}\r?\n(?=(?i:WARC-|Content-)[a-zA-Z-]+:)")
"""What records begin with. It is looked for only where something is wrong: it may stand in a page about WARC."""
_LONGEST_START: Final = 64
_MARK: Final = b"WARC/"
_VERSION: Final = re.compile(rb"WARC/\d{1,2}\.\d{1,2}\r?\n")
_BETWEEN: Final = 4
"""Bytes between two records."""
_HEADER_END: Final = re.compile(rb"\r?\n\r?\n")
_LENGTH: Final = re.compile(rb"^content-length:[ \t]*(\d{1,18})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_HEADER_BYTES: Final = 64 * 1024
"""Most of a record's own header."""
_BEGINNING: Final = 64 * 1024
"""Of a record that is too large: enough to see what it is."""


class FoundRecord(NamedTuple):
    """A record, or a stretch that is none and says why in ``broken`` and ``detail``.

    ``at`` counts the unpacked bytes before it, ``member`` is where its member of the packed file begins. A record that
    is a member of its own has ``stored``, where that begins and ends. A record that is too large has its first bytes
    only.
    """

    at: int
    member: int
    content: bytes = b""
    stored: tuple[int, int] | None = None
    broken: str = ""
    detail: str = ""


class _Ahead:
    """Unpacked bytes that were not looked at yet, and where members begin and end in them."""

    def __init__(self, pieces: Iterable[UnpackedPiece]) -> None:
        self.buffer: Final = bytearray()
        self.at = 0
        """Unpacked bytes before the buffer."""
        self.damage: UnpackedPiece | None = None
        """What comes behind the buffer; nothing is read on until it is passed."""
        self._pieces: Final = iter(pieces)
        self._begins: Final[deque[tuple[int, int]]] = deque()
        self._ends: Final[deque[tuple[int, int]]] = deque()
        self.has_ended = False

    def fill(self, size: int) -> bool:
        """Whether there are so many bytes that can belong to one record. There are fewer where the file ends, is
        damaged, or the next record begins a member.
        """
        while self.reach() < size and self.damage is None and not self.has_ended and self._barrier() is None:
            self._pull()
        return self.reach() >= size

    def reach(self) -> int:
        """Bytes of the buffer that can belong to one record."""
        barrier = self._barrier()
        return len(self.buffer) if barrier is None else barrier

    def _pull(self) -> None:
        piece = next(self._pieces, None)
        if piece is None:
            self.has_ended = True
        elif piece.damage:
            self.damage = piece
        else:
            end = self.at + len(self.buffer)
            if piece.begins is not None:
                self._begins.append((end, piece.begins))
            self.buffer.extend(piece.content)
            if piece.ends is not None:
                self._ends.append((end + len(piece.content), piece.ends))
            self._forget()

    def _barrier(self) -> int | None:
        """Bytes of the buffer before the next member that begins with a record."""
        for at, _ in self._begins:
            if at > self.at and self.buffer.startswith(_MARK, at - self.at):
                return at - self.at
        return None

    def drop(self, size: int) -> None:
        """Go on behind so many bytes of the buffer."""
        del self.buffer[:size]
        self.at += size
        self._forget()

    def _forget(self) -> None:
        while len(self._begins) > 1 and self._begins[1][0] <= self.at:
            self._begins.popleft()
        while self._ends and self._ends[0][0] < self.at:
            self._ends.popleft()

    def member(self) -> int:
        """Where, as stored, the member begins that the next byte is in."""
        return self._begins[0][1] if self._begins else 0

    def is_member_start(self) -> bool:
        """Whether the next byte is the first of a member."""
        return bool(self._begins) and self._begins[0][0] == self.at

    def end_of_member(self, at: int) -> int | None:
        """Where, as stored, the member ends whose last unpacked byte is the one before ``at``."""
        return next((stored for end, stored in self._ends if end == at), None)


def records_of(pieces: Iterable[UnpackedPiece], most_bytes: int) -> Iterator[FoundRecord]:
    """All records, and what is none. Damage costs the record in which it is, and no other one that can be told apart.

    A length that does not fit is found by what follows: a record ends where the file ends or the next one begins.
    """
    ahead = _Ahead(pieces)
    is_told = False  # of what stands here
    while True:
        _skip_line_ends(ahead)
        here = FoundRecord(ahead.at, ahead.member())
        if not ahead.buffer:
            if ahead.damage is None:
                return
            yield here._replace(member=ahead.damage.begins or 0, broken="damaged", detail=ahead.damage.damage)
            ahead.damage = None
            is_told = True
            continue
        ahead.fill(_LONGEST_START)
        if not _VERSION.match(ahead.buffer):
            if not is_told:
                yield here._replace(broken="damaged", detail="here begins what is no record")
            is_told = True
            _search(ahead)
            continue
        size = _announced(ahead)
        if size is not None and size > most_bytes:
            ahead.fill(_BEGINNING)
            beginning = bytes(ahead.buffer[: min(_BEGINNING, ahead.reach())])
            detail = f"{size} bytes, at most {most_bytes} are read"
            yield here._replace(content=beginning, broken="too-large", detail=detail)
            is_told = True
            _skip(ahead, size)
            continue
        detail = "its header has no end, or no length" if size is None else _mismatch(ahead, size)
        if ahead.damage is not None and (detail or _is_cut(ahead, here, size or 0)):
            _search(ahead)  # what is unpacked of it cannot be trusted; it is told of as the damage that comes next
        elif detail or size is None:
            yield here._replace(broken="damaged", detail=detail)
            is_told = True
            _search(ahead)
        else:
            is_told = False
            content = bytes(ahead.buffer[:size])
            stored = _stored(ahead, here, size)
            ahead.drop(size)
            yield here._replace(content=content, stored=stored)


def _skip_line_ends(ahead: _Ahead) -> None:
    while ahead.fill(1) and ahead.buffer[0] in b"\r\n":
        ahead.drop(1)


def _announced(ahead: _Ahead) -> int | None:
    """How many bytes the record has by its header, the header included; None where that does not say it."""
    for size in (_HEADER_BYTES // 16, _HEADER_BYTES):
        ahead.fill(size)
        if end := _HEADER_END.search(ahead.buffer, 0, min(size, ahead.reach())):
            length = _LENGTH.search(ahead.buffer, 0, end.end())
            is_one = not START.search(ahead.buffer, 1, end.end())
            return end.end() + int(length[1]) if length and is_one else None
    return None


def _mismatch(ahead: _Ahead, size: int) -> str:
    """Why the record cannot have this size; empty where it can."""
    if not ahead.fill(size):
        return "the file ends, or another record begins, within it"
    following = _following(ahead, size)
    rest = following.lstrip(b"\r\n")
    if rest.startswith(_MARK) or _MARK.startswith(rest):
        return ""
    if START.search(ahead.buffer, 1, size):
        return "another record begins within it"
    return "" if following.startswith((b"\r\n\r\n", b"\n\n")) else "its length does not fit what follows"


def _following(ahead: _Ahead, size: int) -> bytes:
    ahead.fill(size + _BETWEEN + len(_MARK))
    return bytes(ahead.buffer[size : min(ahead.reach(), size + _BETWEEN + len(_MARK))])


def _is_cut(ahead: _Ahead, here: FoundRecord, size: int) -> bool:
    """Whether the damage is in the record's own member: then its checksum is not to be had, or is wrong."""
    is_own = ahead.damage is not None and ahead.damage.begins == here.member and ahead.is_member_start()
    return is_own and not bytes(ahead.buffer[size:]).strip(b"\r\n")


def _stored(ahead: _Ahead, here: FoundRecord, size: int) -> tuple[int, int] | None:
    if not ahead.is_member_start():
        return None
    following = _following(ahead, size)
    line_ends = len(following) - len(following.lstrip(b"\r\n"))
    end = ahead.end_of_member(ahead.at + size + line_ends)
    return None if end is None else (here.member, end)


def _skip(ahead: _Ahead, size: int) -> None:
    """Go behind a record that is too large, or to the next one before its end: then its length was wrong."""
    end = ahead.at + size
    while ahead.at < end and ahead.fill(min(end - ahead.at, _BEGINNING)) | bool(ahead.buffer):
        step = min(end - ahead.at, ahead.reach())
        if match := START.search(ahead.buffer, 1, step):
            ahead.drop(match.start())
            return
        is_last = ahead.at + step == end or step < len(ahead.buffer) or step <= _LONGEST_START
        ahead.drop(step if is_last else step - _LONGEST_START)
        if is_last and ahead.buffer:
            return


def _search(ahead: _Ahead) -> None:
    """Go to the next place where a record seems to begin; to the damage or to the end where there is none."""
    while True:
        reach = ahead.reach()
        if match := START.search(ahead.buffer, 1, reach):
            ahead.drop(match.start())
            return
        if reach < len(ahead.buffer):
            ahead.drop(reach)
            return
        kept = min(reach, _LONGEST_START)
        ahead.drop(reach - kept)
        if not ahead.fill(kept + 1) and ahead.reach() == len(ahead.buffer):
            ahead.drop(len(ahead.buffer))
            return
