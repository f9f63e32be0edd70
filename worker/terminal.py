"""Tables for people: the same on a terminal, in a file and in a pipe."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

_WIDTH: Final = 1_000_000
"""Columns: no line is cut or broken, however long a URL in it is. What shows it may."""


def aligned(rows: Iterable[Sequence[str]], right: Collection[int] = (), gap: int = 2) -> list[str]:
    """A line a row, without colours and without spaces at its end.

    Args:
        rows: cells as they are shown; a wide character takes two columns of the terminal.
        right: numbers of the columns whose cells end together, as figures do; cells of the others begin together.
        gap: spaces between columns.
    """
    table = Table.grid(padding=(0, gap, 0, 0))
    for row in rows:
        table.add_row(*map(Text, row))
    for number, column in enumerate(table.columns):
        column.no_wrap = True
        column.justify = "right" if number in right else "left"
    if not table.rows:
        return []  # of which rich makes an empty line
    shown = io.StringIO()
    Console(file=shown, width=_WIDTH, color_system=None).print(table)
    return [line.rstrip() for line in shown.getvalue().split("\n")[:-1]]
