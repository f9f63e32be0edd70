"""Text that a page repeats: posts that others quote, the same text for wide screens and for narrow ones."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.page.elements.markup import Rows, is_space
from worker.page.elements.parsed import BREAKS, FROM, TO
from worker.page.elements.vocabulary import EMPTY, compiled, grown, lean
from worker.page.main_text.rules import REPEATED
from worker.page.main_text.tally import WORDS
from worker.page.main_text.title_evidence import Column

LEAST_PASSAGE: Final = 60
"""Words of consecutive lines that all stood there before, with which they are read once. With 30, things that authors
say twice go as well: a warning, an offer, a line of code."""
LEAST_SHARE: Final = 0.1
"""Share of the text with which they go: a manual that repeats one note is left as its author wrote it."""
LONGEST_LINE: Final = 500
"""Words of a line that is compared with others. Longer lines have no paragraphs: a whole text written for machines. A
page that holds the text of another page in that form, twice, would be near to that page if it were read once."""
BEGINNING: Final = 12
"""Bytes that lines are first compared by, which may end within their first run."""
_STEPS: Final = 32
"""Steps of the search for a line when others are in its way."""


@lean("boolean(int32[::1], int64)")
def _is_known(table: Any, key: int) -> bool:
    """Whether the table holds this key, none of which is 0; it does from now on, unless it is crowded there."""
    row = key & (len(table) - 1)
    for _ in range(_STEPS):
        if table[row] == key:
            return True
        if table[row] == 0:
            table[row] = key
            return False
        row = (row + 1) & (len(table) - 1)
    return False


@lean("int64(uint8[::1], int32[:, ::1], int64, int64, int32[::1])")
def _key_of(body: Any, runs: Rows, begin: int, end: int, dropped: Column) -> int:
    """Hash of the kept part of a line, without its blanks."""
    key = EMPTY
    for run in range(begin, end):
        if not dropped[run]:
            for place in range(runs[run, FROM], runs[run, TO]):
                if not is_space(int(body[place])):
                    key = grown(key, int(body[place]))
    return max(key, 1)


@lean("boolean(uint8[::1], int32[:, ::1], int32[:, ::1], int32[::1], int32[::1])")
def _may_repeat(body: Any, runs: Rows, said: Rows, dropped: Column, table: Any) -> bool:
    """Whether enough lines begin like earlier lines of as many words: most pages have too few, and are not read
    again."""
    key, words, whole, repeated = EMPTY, 0, 0, 0
    for run in range(len(runs) + 1):
        if run == len(runs) or runs[run, BREAKS]:
            whole += words
            repeated += words if words and _is_known(table, max(grown(key, words), 1)) else 0
            key, words = EMPTY, 0
        if run < len(runs) and said[run, WORDS] and not dropped[run]:
            place, end = int(runs[run, FROM]), int(runs[run, TO])
            while not words and place < end and is_space(int(body[place])):
                place += 1
            if not words:
                for each in range(place, min(place + BEGINNING, end)):
                    key = grown(key, int(body[each]))
            words += said[run, WORDS]
    return bool(repeated >= max(LEAST_PASSAGE, LEAST_SHARE * whole))


@compiled("void(uint8[::1], int32[:, ::1], int32[:, ::1], int32[::1])")
def drop_repeated(body: Any, runs: Rows, said: Rows, dropped: Column) -> None:
    """Drop passages whose lines all stand among those before them, if that is much of the text."""
    lines = 0
    for run in range(len(runs)):
        lines += 1 if runs[run, BREAKS] else 0
    rows = 16
    while rows < 2 * lines:
        rows *= 2
    table = np.zeros(rows, dtype=np.int32)
    if not _may_repeat(body, runs, said, dropped, table):
        return
    table[:] = 0
    begin = words = passage = repeated = gone = whole = 0
    for run in range(len(runs) + 1):
        if run == len(runs) or runs[run, BREAKS]:
            known = 0 < words <= LONGEST_LINE and _is_known(table, _key_of(body, runs, begin, run, dropped))
            end = run if known else begin
            repeated += words if known else 0
            if repeated >= LEAST_PASSAGE and (run == len(runs) or (words and not known)):
                gone += repeated
                for each in range(passage, end):
                    dropped[each] = dropped[each] if dropped[each] else REPEATED
            if words and not known:
                passage, repeated = run, 0
            whole += words
            begin, words = run, 0
        if run < len(runs) and not dropped[run]:
            words += said[run, WORDS]
    if gone < LEAST_SHARE * whole:
        for run in range(len(runs)):
            dropped[run] = 0 if dropped[run] == REPEATED else dropped[run]
