"""Lines for people: the same in a file, in a pipe and on a terminal, where lines end between words at its edge."""

from __future__ import annotations

import io
import os
import sys
import textwrap
from collections.abc import Collection, Iterable, Sequence
from typing import Final

_UNBOUNDED: Final = 1_000_000
"""Columns of an output that is no terminal: no line is broken, however long a URL in it is. The viewer may break it."""


def columns() -> int:
    """The columns of the terminal that standard output is, or those in the environment's ``COLUMNS``; otherwise
    practically no limit."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told):
        return int(told)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _UNBOUNDED
    except (ValueError, OSError):  # no file, or no terminal
        return _UNBOUNDED


def fitted(text: str) -> str:
    """The text's lines, with lines wider than ``columns`` broken between words; a word, such as a URL, is never cut."""
    return "\n".join(piece for line in text.split("\n") for piece in _broken(line))


def aligned(rows: Iterable[Sequence[str]], right: Collection[int] = (), gap: int = 2, indent: str = "") -> list[str]:
    """A line for each row, without colours or spaces at its end; if ``columns`` are too few, cells have several.

    Args:
        rows: cells in the form to show; a wide character takes two columns of the terminal.
        right: numbers of the columns whose cells end together, as figures do; cells of the others begin together.
        gap: spaces between columns.
        indent: the beginning of each line.
    """
    from rich.console import Console  # here: it takes half of a short command's time, and only tables need it
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, gap, 0, 0))
    for row in rows:
        table.add_row(*map(Text, row))
    for number, column in enumerate(table.columns):
        column.overflow = "fold"
        column.justify = "right" if number in right else "left"
    if not table.rows:
        return []  # rich makes an empty line of these
    shown = io.StringIO()
    Console(file=shown, width=max(columns() - len(indent), 1), color_system=None).print(table)
    return [f"{indent}{line}".rstrip() for line in shown.getvalue().split("\n")[:-1]]


def _broken(line: str) -> list[str]:
    width = columns()
    if len(line) <= width:
        return [line]
    begin = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(line, width, subsequent_indent=f"{begin}  ", break_long_words=False, break_on_hyphens=False)
