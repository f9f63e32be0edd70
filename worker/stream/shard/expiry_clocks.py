"""The watermark just after each batch that has left a survivor in a shard: it decides when the entries expire."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Final

from crawler_plugin.wire.messages import Order

NONE_BEFORE: Final = -1
"""Less than the offset of any batch."""


class Clocks:
    """Pairs of a batch and the watermark just after it, both ascending, 16 bytes each.

    Of batches with the same watermark only the last is kept: they expire together. So the kept pairs are a function of
    the batches alone, and two owners of a shard who cut their blocks differently let the same entries expire.
    """

    def __init__(self, known: Iterable[Order] = ()) -> None:
        self._batches = array("q")
        self._watermarks = array("q")
        self._gone = 0
        for batch, watermark in known:
            self.append(batch, watermark)

    def append(self, batch: int, watermark: int) -> None:
        if len(self) and self._watermarks[-1] == watermark:
            self._batches[-1] = batch
            return
        self._batches.append(batch)
        self._watermarks.append(watermark)

    def last_below(self, watermark: int) -> int:
        """The last batch with a smaller watermark; -1 if there is none."""
        place = bisect_left(self._watermarks, watermark, lo=self._gone)
        return self._batches[place - 1] if place > self._gone else NONE_BEFORE

    def drop(self, up_to: int) -> bool:
        """Forget the batches up to this one; returns whether there were any. Frees memory once dropped ones are half of
        all."""
        before, self._gone = self._gone, bisect_right(self._batches, up_to, lo=self._gone)
        dropped = self._gone > before
        if 2 * self._gone >= len(self._batches):
            del self._batches[: self._gone], self._watermarks[: self._gone]
            self._gone = 0
        return dropped

    def after(self, batch: int) -> Clocks:
        """A copy of the pairs later than ``batch``."""
        begin = bisect_right(self._batches, batch, lo=self._gone)
        copy = Clocks()
        copy._batches, copy._watermarks = self._batches[begin:], self._watermarks[begin:]
        return copy

    def __len__(self) -> int:
        return len(self._batches) - self._gone

    def __iter__(self) -> Iterator[Order]:
        batches, watermarks = self._batches[self._gone :], self._watermarks[self._gone :]
        return zip(batches, watermarks, strict=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Clocks) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Clocks({list(self)})"

    @property
    def nbytes(self) -> int:
        """Bytes of all pairs in memory, including dropped ones."""
        return 2 * self._batches.itemsize * len(self._batches)
