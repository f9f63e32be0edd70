"""The first row of a table as text, which names its columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Final

from worker.scan.inputs.fields import EITHER, GUESSES
from worker.scan.inputs.tables.csv_lines import cells_of
from worker.scan.inputs.transcoding import BOM

_MOST: Final = 64 * 1024
_DELIMITERS: Final = ",\t;|"
_BEFORE: Final = re.compile(rb"(?:[ \t]*+[\r\n]|sep=[,;|\t][\r\n]++)*+")
"""Blank lines, and the line that gives Excel the delimiter."""


def delimiter_of(content: bytes, names: Collection[str | None] = ()) -> str | None:
    """The delimiter of a table that begins with this header; None if the line is no header.

    It is a header if one column has a name by which pages are known, or a name that the user gave; two such columns are
    needed if names are missing or occur twice. The first column, which a data frame has for its index, needs no name.
    """
    known = (
        {name for role in GUESSES for name in GUESSES[role]} | set(EITHER) | {name.lower() for name in names if name}
    )
    best: tuple[int, str] | None = None
    for delimiter in _DELIMITERS:
        header = header_of(content, delimiter)
        found = {name.lower().replace("-", "_").replace(" ", "_") for name in header} & known
        is_whole = all(header[1:]) and len(set(header)) == len(header)
        if len(header) > 1 and len(found) > (not is_whole):
            best = max(best or (0, ""), (len(header), delimiter), key=lambda one: one[0])
    return best[1] if best else None


def header_of(content: bytes, delimiter: str) -> list[str]:
    """The names in the first row."""
    content = content.removeprefix(BOM)[:_MOST]
    before = _BEFORE.match(content)
    text = content[before.end() if before else 0 :].decode(errors="replace")
    try:
        return [name.strip() for name in next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])]
    except csv.Error:
        return []


def lines_before_rows(first: Sequence[bytes], delimiter: str) -> tuple[int, list[str]]:
    """How many of the first lines are the header and the text before it, and the names of the columns."""
    before = 0
    while before < len(first) and _BEFORE.fullmatch(first[before].removeprefix(BOM)):
        before += 1
    count = min(1, len(first) - before)  # also if a quote is open that nothing closes
    with suppress(csv.Error):
        sizes = range(1, len(first) - before + 1)
        count = next((size for size in sizes if not _is_open(first[before : before + size], delimiter)), count)
    return before + count, header_of(b"".join(first[before : before + count]), delimiter)


def _is_open(lines: Sequence[bytes], delimiter: str) -> bool:
    return cells_of(lines, delimiter)[1]
