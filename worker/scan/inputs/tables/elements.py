"""Elements of a JSON array, packed or not, with the place of each; elements larger than allowed are not held."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import Enum, auto
from typing import Final

from worker.scan.inputs.tables.lines import Line, damaged, too_large
from worker.scan.inputs.unpacking import UnpackedPiece

_BETWEEN: Final = re.compile(rb"[\s\xef\xbb\xbf]*+")
_BLANK: Final = re.compile(rb"\s*+")
_STRUCTURE: Final = re.compile(rb'["{}\[\],]')
_IN_STRING: Final = re.compile(rb'[^"\\\n]*+(?:\\.[^"\\\n]*+)*+', re.DOTALL)
_FIRST_NAME: Final = re.compile(rb'\{\s*+("[^"\\]{0,100}+")')
_ANY_OBJECT: Final = re.compile(rb'\{\s{0,64}+"')
_TAIL: Final = 256
"""Bytes that the beginning of an object, in the form that is looked for, fits in."""
_DEEPEST: Final = 10_000
"""Brackets that are open at once. The decoder of elements goes a tenth as deep."""
_PAIRS: Final = {ord("}"): ord("{"), ord("]"): ord("[")}


class _At(Enum):
    """The position of the next byte."""

    NO_ARRAY = auto()
    GAP = auto()
    """Within the array and before an element."""
    ELEMENT = auto()
    STRING = auto()
    BEHIND_STRING = auto()
    LOST = auto()
    """After text that cannot be a part of an array, where the next object is looked for."""


def elements_of(pieces: Iterable[UnpackedPiece], most_bytes: int) -> Iterator[Line]:
    """All elements, as they are written, each as a ``Line`` without the comma after it.

    Every byte is looked at once. An array after the first one is read as if it were a part of it: a crawl that was
    appended to another leaves ``][``. Text that cannot be within an array is reported, and reading goes on at the next
    text that begins as the first element does; the same goes for text that a damaged stretch cuts off. An array that is
    not closed is reported, too.
    """
    cutter = _Cutter(most_bytes)
    for piece in pieces:
        yield from cutter.damaged(piece) if piece.damage else cutter.feed(piece.content)
    yield from cutter.end()


class _Cutter:
    def __init__(self, most_bytes: int) -> None:
        self._most: Final = most_bytes
        self._state = _At.NO_ARRAY
        self._offset = 0  # of the first byte that comes next
        self._ahead = b""
        self._escaped = 0  # bytes that come next and belong to a backslash
        self._open = bytearray()  # brackets, without that of the array
        self._begins = 0  # of the element
        self._parts: list[bytes] = []
        self._size = 0
        self._object = _ANY_OBJECT
        self._is_first = True

    def feed(self, content: bytes) -> Iterator[Line]:
        """The elements that end within the next bytes."""
        content = self._ahead + content
        self._ahead = b""
        at = begin = self._escaped and min(1, len(content))
        if content:
            begin, self._escaped = 0, 0
        while at < len(content):
            before = self._state
            if before is _At.NO_ARRAY:
                at = _end(_BETWEEN, content, at)
                if content[at : at + 1] == b"[":
                    at, self._state = at + 1, _At.GAP
                elif at < len(content):
                    yield self._broken(self._offset + at, "no array begins here")
            elif before is _At.GAP:
                at = _end(_BLANK, content, at)
                if (next_ := content[at : at + 1]) and next_ in b",]":
                    at, self._state = at + 1, _At.GAP if next_ == b"," else _At.NO_ARRAY
                elif next_:
                    begin, self._begins, self._state = at, self._offset + at, _At.ELEMENT
            elif before is _At.STRING:
                at = _end(_IN_STRING, content, at)
                if (next_ := content[at : at + 1]) == b'"':
                    at, self._state = at + 1, _At.BEHIND_STRING
                elif next_ == b"\\":  # the last byte
                    at, self._escaped = at + 1, 1
                elif next_:
                    yield self._broken(self._begins, f"a line ends within a string, at byte {self._offset + at}")
            elif before is _At.BEHIND_STRING:
                at = _end(_BLANK, content, at)
                if (next_ := content[at : at + 1]) and next_ in b",:}]":
                    self._state = _At.ELEMENT
                elif next_:
                    yield self._broken(self._begins, f"a stray quote before byte {self._offset + at}")
            elif before is _At.ELEMENT:
                found = _STRUCTURE.search(content, at)
                at = found.end() if found else len(content)
                if found and not self._open and found[0] in b",]":
                    yield self._element(content[begin : found.start()])
                    self._state = _At.GAP if found[0] == b"," else _At.NO_ARRAY
                elif found and not self._is_nested(found[0]):
                    yield self._broken(self._begins, f"an unmatched bracket at byte {self._offset + at - 1}")
            else:
                found = self._object.search(content, at)
                if found is None:
                    self._ahead = content[max(at, len(content) - _TAIL) :]
                    content = content[: len(content) - len(self._ahead)]
                    break
                begin = at = found.start()
                self._begins, self._state = self._offset + at, _At.ELEMENT
        if self._state in (_At.ELEMENT, _At.STRING, _At.BEHIND_STRING):
            self._hold(content[begin:])
        self._offset += len(content)

    def damaged(self, piece: UnpackedPiece) -> Iterator[Line]:
        """Bytes are missing here: the element is lost, and so is the place in the array."""
        self._lose()
        self._offset += len(self._ahead)
        self._ahead = b""
        yield damaged(self._offset, piece)

    def end(self) -> Iterator[Line]:
        """The element that the end of the file cuts off."""
        if self._state is _At.ELEMENT and not self._open:
            yield self._element(b"")
            self._state = _At.GAP
        if self._state is _At.GAP:
            yield Line(self._offset, b"", "damaged", "the file ends before its array does")
        elif self._state not in (_At.NO_ARRAY, _At.LOST):
            yield Line(self._begins, b"", "damaged", "the file ends within an element of its array")

    def _is_nested(self, character: bytes) -> bool:
        """Enter a string or a bracket, or leave it; returns whether that is possible."""
        if character == b'"':
            self._state = _At.STRING
        elif character in b"{[":
            self._open += character
            return len(self._open) <= _DEEPEST
        elif character in b"}]":
            return bool(self._open) and self._open.pop() == _PAIRS[character[0]]
        return True

    def _hold(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._most:
            self._parts.append(part)
        else:
            self._parts = []

    def _element(self, last: bytes) -> Line:
        self._hold(last)
        content, size = b"".join(self._parts), self._size
        self._parts, self._size = [], 0
        if size > self._most:
            return too_large(self._begins, size, self._most)
        if self._is_first and (name := _FIRST_NAME.match(content)):
            self._is_first = False
            self._object = re.compile(rb"\{\s{0,64}+" + re.escape(name[1]))
        return Line(self._begins, content)

    def _broken(self, offset: int, why: str) -> Line:
        self._lose()
        return Line(offset, b"", "no-json", why)

    def _lose(self) -> None:
        self._state = _At.LOST
        self._open = bytearray()
        self._parts, self._size, self._escaped = [], 0, 0


def _end(pattern: re.Pattern[bytes], content: bytes, at: int) -> int:
    """The end of the pattern's match, which may be empty."""
    found = pattern.match(content, at)
    return found.end() if found else at
