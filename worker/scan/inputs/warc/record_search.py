"""Finds the records of a WARC or an ARC one after the other, and the next whole one after damage."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from worker.scan.inputs.unpacking import UnpackedPiece
from worker.scan.inputs.warc.web_record import RecordForm

_BOM: Final = b"\xef\xbb\xbf"
_BETWEEN: Final = 4
"""Bytes between two records."""
_LINE_ENDS: Final = re.compile(rb"[\r\n]*")
_MOST_FIRST: Final = 4096
"""Bytes of a header, before more of it is looked at: most are shorter."""
_BEGINNING: Final = 64 * 1024
"""Bytes of a record that is too large: enough to see its kind."""


class FoundRecord(NamedTuple):
    """A record, or a stretch that is none, with the reason in ``broken`` and ``detail``.

    ``at`` counts the unpacked bytes before it, ``member`` is where its member of the packed file begins. For a record
    that is a member of its own, ``stored`` says where that begins and ends. A record that is too large has its first
    bytes only.
    """

    at: int
    member: int
    content: bytes = b""
    stored: tuple[int, int] | None = None
    broken: str = ""
    detail: str = ""


class _Ahead:
    """Unpacked bytes that were not looked at yet, and the places where members begin and end in them."""

    def __init__(self, pieces: Iterable[UnpackedPiece], form: RecordForm) -> None:
        self.buffer: Final = bytearray()
        self.at = 0
        """Unpacked bytes before the buffer."""
        self.damage: UnpackedPiece | None = None
        """The pieces after the buffer; nothing is read on until they are passed."""
        self._pieces: Final = iter(pieces)
        self._form: Final = form
        self._barriers: Final[deque[int]] = deque()
        """The places of members that begin with a record."""
        self._unsure: int | None = None
        """The place of the last member, while too little of it is there to see how it begins."""
        self._begins: Final[deque[tuple[int, int]]] = deque()
        self._ends: Final[deque[tuple[int, int]]] = deque()
        self.has_ended = False

    def fill(self, size: int) -> bool:
        """Whether there are this many bytes that can belong to one record. There are fewer if the file ends, is
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
                self._unsure = end
            self.buffer.extend(piece.content)
            if self._unsure is not None and self._form.begins(self.buffer, self._unsure - self.at):
                self._barriers.append(self._unsure)
                self._unsure = None
            if piece.ends is not None:
                self._ends.append((end + len(piece.content), piece.ends))
            self._forget()

    def _barrier(self) -> int | None:
        """Bytes of the buffer before the next member that begins with a record."""
        return self._barriers[0] - self.at if self._barriers else None

    def drop(self, size: int) -> None:
        """Drop this many bytes of the buffer."""
        del self.buffer[:size]
        self.at += size
        self._forget()

    def _forget(self) -> None:
        while len(self._begins) > 1 and self._begins[1][0] <= self.at:
            self._begins.popleft()
        while self._ends and self._ends[0][0] < self.at:
            self._ends.popleft()
        while self._barriers and self._barriers[0] <= self.at:
            self._barriers.popleft()
        if self._unsure is not None and self._unsure < self.at:
            self._unsure = None

    def member(self) -> int:
        """The stored place where the member of the next byte begins."""
        return self._begins[0][1] if self._begins else 0

    def is_member_start(self) -> bool:
        """Whether the next byte is the first of a member."""
        return bool(self._begins) and self._begins[0][0] == self.at

    def end_of_member(self, at: int) -> int | None:
        """The stored end of the member whose last unpacked byte is the one before ``at``."""
        return next((stored for end, stored in self._ends if end == at), None)


def records_of(pieces: Iterable[UnpackedPiece], most_bytes: int, form: RecordForm) -> Iterator[FoundRecord]:
    """All records, and the stretches that are none. The lengths in the file are trusted for no more bytes than are
    held. Damage costs only the record that it is in, and no other record that can be recognised.

    A wrong length shows in what follows: a record ends where the file ends or the next one begins.
    """
    ahead = _Ahead(pieces, form)
    if ahead.fill(len(_BOM)) and ahead.buffer.startswith(_BOM):
        ahead.drop(len(_BOM))
    is_told = False  # this place was reported
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
        ahead.fill(form.longest)
        if not form.begins(ahead.buffer, 0):
            if not is_told:
                yield here._replace(broken="damaged", detail="no record begins here")
            is_told = True
            _search(ahead, form)
            continue
        size = _announced(ahead, form)
        if size is not None and size > most_bytes:
            ahead.fill(_BEGINNING)
            next_one = form.start.search(ahead.buffer, 1, min(_BEGINNING, ahead.reach()))
            beginning = bytes(ahead.buffer[: next_one.start() if next_one else min(_BEGINNING, ahead.reach())])
            detail = f"{size} bytes, at most {most_bytes} are read"
            yield here._replace(content=beginning, broken="too-large", detail=detail)
            is_told = True
            _skip(ahead, size, form)
            continue
        detail = "its header has no end, or no length" if size is None else _mismatch(ahead, size, form)
        if ahead.damage is not None and (detail or _is_cut(ahead, here, size or 0)):
            # Its unpacked bytes cannot be trusted; the damage that comes next reports them.
            _search(ahead, form)
        elif detail or size is None:
            yield here._replace(broken="damaged", detail=detail)
            is_told = True
            _search(ahead, form)
        else:
            is_told = False
            content = bytes(ahead.buffer[:size])
            stored = _stored(ahead, here, size, form)
            ahead.drop(size)
            yield here._replace(content=content, stored=stored)


def _skip_line_ends(ahead: _Ahead) -> None:
    while ahead.fill(1) and (found := _LINE_ENDS.match(ahead.buffer, 0, ahead.reach())) and found.end():
        ahead.drop(found.end())


def _announced(ahead: _Ahead, form: RecordForm) -> int | None:
    """The number of the record's bytes by its header, header included; None if the header does not say it."""
    for most in (_MOST_FIRST, form.most_header):
        ahead.fill(most)
        size = form.size(ahead.buffer, min(most, ahead.reach()))
        if size is not None:
            return size
    return None


def _mismatch(ahead: _Ahead, size: int, form: RecordForm) -> str:
    """Why the record cannot have this size; empty if it can."""
    if not ahead.fill(size):
        return "the file ends, or another record begins, within it"
    following = _following(ahead, size, form)
    rest = following.lstrip(b"\r\n")
    if not rest or form.begins(rest, 0) or (ahead.has_ended and rest != following and b"\n" not in rest):
        return ""
    if form.start.search(ahead.buffer, 1, size):
        return "another record begins within it"
    return "" if following.startswith(form.ends) else "its length does not fit the bytes after it"


def _following(ahead: _Ahead, size: int, form: RecordForm) -> bytes:
    most = size + _BETWEEN + form.longest
    ahead.fill(most)
    return bytes(ahead.buffer[size : min(ahead.reach(), most)])


def _is_cut(ahead: _Ahead, here: FoundRecord, size: int) -> bool:
    """Whether the damage is in the record's own member: then its checksum is missing, or is wrong."""
    is_own = ahead.damage is not None and ahead.damage.begins == here.member and ahead.is_member_start()
    return is_own and not bytes(ahead.buffer[size:]).strip(b"\r\n")


def _stored(ahead: _Ahead, here: FoundRecord, size: int, form: RecordForm) -> tuple[int, int] | None:
    if not ahead.is_member_start():
        return None
    following = _following(ahead, size, form)
    line_ends = len(following) - len(following.lstrip(b"\r\n"))
    end = ahead.end_of_member(ahead.at + size + line_ends)
    return None if end is None else (here.member, end)


def _skip(ahead: _Ahead, size: int, form: RecordForm) -> None:
    """Go past a record that is too large, or to the next one before its end: then its length was wrong."""
    end = ahead.at + size
    while ahead.at < end and ahead.fill(min(end - ahead.at, _BEGINNING)) | bool(ahead.buffer):
        step = min(end - ahead.at, ahead.reach())
        if match := form.start.search(ahead.buffer, 1, step):
            ahead.drop(match.start())
            return
        is_last = ahead.at + step == end or step < len(ahead.buffer) or step <= form.longest
        ahead.drop(step if is_last else step - form.longest)
        if is_last and ahead.buffer:
            return


def _search(ahead: _Ahead, form: RecordForm) -> None:
    """Go to the next place where a record seems to begin; to the damage or to the end if there is none."""
    while True:
        reach = ahead.reach()
        if match := form.start.search(ahead.buffer, 1, reach):
            ahead.drop(match.start())
            return
        if reach < len(ahead.buffer):
            ahead.drop(reach)
            return
        kept = min(reach, form.longest)
        ahead.drop(reach - kept)
        ahead.fill(kept + _BEGINNING)
        if ahead.reach() == len(ahead.buffer) == kept:
            ahead.drop(len(ahead.buffer))
            return
