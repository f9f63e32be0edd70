"""Bytes that come in pieces, joined once they are whole."""

from __future__ import annotations

from typing import Final

_SMALL: Final = 1 << 14
"""Bytes below which a piece is added to the one before it: as objects of their own, a million single bytes would take
forty times their size."""


class Pieces:
    """The pieces of a page or a line so far; ``size`` is the sum of their bytes."""

    def __init__(self) -> None:
        self._pieces: list[bytes | bytearray] = []
        self.size = 0

    def add(self, piece: bytes) -> None:
        """The next one. A large one is kept as it is: copying a page costs a hundredth of judging it."""
        self.size += len(piece)
        last = self._pieces[-1] if self._pieces else None
        if len(piece) >= _SMALL:
            self._pieces.append(piece)
        elif isinstance(last, bytearray):
            last += piece
        elif piece:
            self._pieces.append(bytearray(piece))

    def take(self) -> bytes:
        """All of them, joined; none is left."""
        pieces, self._pieces, self.size = self._pieces, [], 0
        return b"".join(pieces)
