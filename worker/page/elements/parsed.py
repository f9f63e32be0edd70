"""A parsed page: its elements, the text in them, and the values of attributes."""

from __future__ import annotations

from typing import Any, NamedTuple

from worker.page.elements.tags import Rows
from worker.page.elements.vocabulary import ELEMENTS, EMPTY, RAW, bits_of
from worker.page.references import unescaped, unescaped_value

# Columns of runs: bytes [FROM, TO), the element that holds them, and whether a line begins before them.
FROM, TO, OWNER, BREAKS = 0, 1, 2, 3
# Columns of values: the element, the hash of the attribute's name, and the bytes [VALUE_FROM, VALUE_TO).
OF, ATTRIBUTE, VALUE_FROM, VALUE_TO = 0, 1, 2, 3


class Parsed(NamedTuple):
    """Elements and runs of text, each in the order of the page.

    ``body`` is the page in UTF-8, as an array of uint8 (or a ``bytearray`` where nothing is compiled). ``elements`` are
    int32 (n, 5): hash of the name, kind, mark, row of the parent, which is always an earlier one, and shape, which is
    equal for parts of a page that are made alike; row 0 is the document. ``runs`` are int32 (m, 4): first byte, the
    byte after the last, row of the element, and 1 if a line begins before the run. ``values`` are int32 (k, 4), for the
    attributes that ``vocabulary.VALUED`` names: row of the element, hash of the attribute's name, first byte of its
    value, the byte after the last; ``value`` reads it. The content of a script is kept as the value of an attribute
    without a name, ``EMPTY``.
    """

    body: Any
    elements: Rows
    runs: Rows
    values: Rows

    def value(self, row: int) -> str:
        """The value in this row of ``values``, its character references resolved; a script as it is."""
        _, *placed = self.values[row].tolist()
        return self.value_at(*placed)

    def value_at(self, attribute: int, begin: int, end: int) -> str:
        """The same for the other columns of such a row."""
        value = self._between(begin, end).replace("\0", "\ufffd")
        return value if attribute == EMPTY else unescaped_value(value)

    def text(self, row: int) -> str:
        """The text of this run, with its character references resolved if the element has such."""
        begin, end, owner, _ = self.runs[row].tolist()
        text = self._between(begin, end)
        name, kind, *_ = self.elements[owner].tolist()
        if "\0" in text and bits_of(ELEMENTS, name) & RAW:
            text = text.replace("\0", "\ufffd")
        return text if kind & RAW else unescaped(text)

    def _between(self, begin: int, end: int) -> str:
        text = bytes(self.body[begin:end]).decode("utf-8", "replace")
        return text.replace("\r\n", "\n").replace("\r", "\n")
