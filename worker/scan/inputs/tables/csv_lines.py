"""Lines of a table as text → its rows, some of which have cells with lines in them, and some a stray quote.

An opening quote may be a stray one: then the text after it is rows, and not its cell. So each line after it is read as
part of a cell, until one closes the quote. If that makes no row, the line with the quote is no row, and the next line
begins one. How a line reads within a cell does not depend on where the cell began: this is computed once, so that every
line is read a fixed number of times, however many quotes are stray.
"""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from worker.scan.inputs.tables.lines import Line

_MOST_LINES: Final = 250_000
"""Lines of one row: what is held of a line takes more memory than a short line itself."""
_SAMPLE_LINES: Final = 64
_SAMPLE_BYTES: Final = 64 * 1024
_NEVER: Final = 1_000_000_000
"""More cells than any row has: for a line that cannot be within a cell."""
_ESCAPED: Final = re.compile(r'\\(["\\])')


class Row(NamedTuple):
    """The bytes of a row and its cells, byte by byte; or the broken part."""

    offset: int
    content: bytes
    cells: list[str]
    broken: str = ""
    detail: str = ""


class _Inner(NamedTuple):
    """A line after an open quote, read as a part of that cell.

    ``cells`` counts the cells that it adds to the row, ``total`` those of all lines so far. ``closes`` says that the
    row can end with it.
    """

    line: Line
    cells: int
    total: int
    closes: bool


def rows_of(
    lines: Iterable[Line], columns: int, delimiter: str, most_bytes: int, *, escapes: bool = False
) -> Iterator[Row]:
    """All rows of this many cells, and in place of each other row the reason why it is none.

    A row of too few or too many cells is one line, if the lines after it look like rows; if not, it ends where its
    quotes say. A row that is larger than ``most_bytes`` is skipped in the same way. With ``escapes``, a backslash may
    stand before a quote in a cell, and before a backslash.
    """
    return _Rows(iter(lines), columns, delimiter, most_bytes, escapes).rows()


def cells_of(lines: Iterable[bytes], delimiter: str, escapes: bool = False) -> tuple[list[str], bool]:
    """The cells of a row that begins with the first line, byte by byte, and whether a quote is open after the last.

    Raises:
        csv.Error: there is a line end outside of quotes.
    """
    is_open = False

    def asked() -> Iterator[str]:
        nonlocal is_open
        for line in lines:
            yield _characters(line, escapes)
        is_open = True  # only within quotes the next line is a part of the row

    cells = next(csv.reader(asked(), delimiter=delimiter), [])
    return cells, is_open


def _characters(line: bytes, escapes: bool) -> str:
    """Byte by byte, with two quotes for one that a backslash escapes."""
    text = line.decode("latin-1")
    return _ESCAPED.sub(lambda escape: '""' if escape[1] == '"' else "\\", text) if escapes else text


class _Rows:
    def __init__(self, lines: Iterator[Line], columns: int, delimiter: str, most_bytes: int, escapes: bool) -> None:
        self._lines: Final = lines
        self._columns: Final = columns
        self._delimiter: Final = delimiter
        self._most: Final = most_bytes
        self._escapes: Final = escapes
        self._ahead: deque[_Inner] = deque()
        """Lines after an open quote. None but the last closes it."""
        self._behind: Line | None = None
        """The broken part that follows them."""
        self._total = 0
        self._sampled = 0
        """The offset up to which ``_looks_like_rows`` is known."""
        self._looks_like_rows = False

    def rows(self) -> Iterator[Row]:
        while (line := self._next()) is not None:
            if line.broken:
                yield Row(line.offset, b"", [], line.broken, line.detail)
            elif line.content.strip():
                try:
                    cells, is_open = cells_of([line.content], self._delimiter, self._escapes)
                except csv.Error as error:
                    yield Row(line.offset, b"", [], "no-columns", str(error))
                    continue
                if is_open:
                    yield self._quoted(line, len(cells))
                else:
                    yield self._row(line.offset, line.content, cells)

    def _row(self, offset: int, content: bytes, cells: list[str]) -> Row:
        if len(cells) == self._columns:
            return Row(offset, content, cells)
        return self._other(offset, len(cells))

    def _other(self, offset: int, cells: int) -> Row:
        return Row(offset, b"", [], "no-columns", f"{cells} cells, {self._columns} columns")

    def _quoted(self, first: Line, cells: int) -> Row:
        """The row that begins with a line after which a quote is open."""
        is_too_large = self._look_ahead(first)
        ahead = self._ahead
        if is_closed := not is_too_large and bool(ahead) and ahead[-1].closes:
            cells += ahead[-1].total - ahead[0].total + ahead[0].cells
            if cells == self._columns:
                parts = [first.content, *(inner.line.content for inner in ahead)]
                ahead.clear()
                return self._row(first.offset, b"".join(parts), cells_of(parts, self._delimiter, self._escapes)[0])
        why = self._other(first.offset, cells)
        if not is_closed:
            most = f"more than {self._most} bytes or {_MOST_LINES} lines are read at once"
            why = why._replace(
                broken="too-large" if is_too_large else "no-columns",
                detail=f"a quote is open, and {most if is_too_large else 'the file ends, or is damaged'}",
            )
        if not self._are_rows(first.offset):
            is_closed = bool(ahead) and ahead[-1].closes
            ahead.clear()
            if is_too_large and not is_closed:
                self._skip()
        return why

    def _look_ahead(self, first: Line) -> bool:
        """Read all lines ahead that may be in a row with this one; returns whether they are more than a row may
        have."""
        end = first.offset + self._most
        ahead = self._ahead
        while not ahead or not ahead[-1].closes:
            if ahead and (len(ahead) >= _MOST_LINES or ahead[-1].line.offset + len(ahead[-1].line.content) > end):
                return True
            if self._behind is not None:
                return False
            if (line := next(self._lines, None)) is None or line.broken:
                self._behind = line
                return False
            ahead.append(self._within(line))
        last = ahead[-1].line
        return last.offset + len(last.content) > end

    def _within(self, line: Line) -> _Inner:
        try:
            cells, is_open = cells_of([b'"', line.content], self._delimiter, self._escapes)
            added = len(cells) - 1
        except csv.Error:
            added, is_open = _NEVER, False
        self._total += added
        return _Inner(line, added, self._total, not is_open)

    def _are_rows(self, offset: int) -> bool:
        """Whether the lines after the one that begins here are rows, most of them, rather than its cell."""
        if offset >= self._sampled:
            sample: list[Line] = []
            for inner in islice(self._ahead, _SAMPLE_LINES):
                sample.append(inner.line)
                if inner.line.offset - offset > _SAMPLE_BYTES:
                    break
            self._looks_like_rows = bool(sample) and self._most_are_rows([line.content for line in sample])
            self._sampled = sample[-1].offset + 1 if sample else 0
        return self._looks_like_rows

    def _most_are_rows(self, lines: Sequence[bytes]) -> bool:
        good = bad = 0
        try:
            texts = (_characters(line, self._escapes) for line in lines)
            for cells in csv.reader(texts, delimiter=self._delimiter):
                good += len(cells) == self._columns
                bad += len(cells) not in (0, self._columns)
        except csv.Error:
            bad += 1
        return good >= bad

    def _skip(self) -> None:
        """Go past the line that closes a quote, or to where lines look like rows again."""
        size = 0
        while (line := next(self._lines, None)) is not None and not line.broken:
            self._ahead.append(self._within(line))
            size += len(line.content)
            if self._ahead[-1].closes:
                self._ahead.clear()
                return
            if len(self._ahead) == _SAMPLE_LINES or size > _SAMPLE_BYTES:
                if self._most_are_rows([inner.line.content for inner in self._ahead]):
                    return
                self._ahead.clear()
                size = 0
        self._ahead.clear()
        self._behind = line

    def _next(self) -> Line | None:
        if self._ahead:
            return self._ahead.popleft().line
        line, self._behind = self._behind, None
        return next(self._lines, None) if line is None else line
