"""The prose that a page holds and nothing here shows: in templates, comments, attributes, programs.

Shells of one site have one visible text. Where the article stands in a place that is not read, this prose alone tells
one page from another. Tokens, time stamps and other values that differ in each fetch are no prose, and a part that all
pages of the site have tells nothing. Time grows with the length, whatever the page holds.
"""

from __future__ import annotations

import re
import zlib
from typing import Final

import numpy as np
import numpy.typing as npt

from worker.page.elements.parsed import FROM, TO, Parsed
from worker.page.embedded.prose import is_prose, number_of_words
from worker.page.references import unescaped

LEAST_UNREAD: Final = 50
"""Words of the prose. Descriptions in metadata have fewer."""
TIMES: Final = 2
"""How many times the words of the visible text it has."""

_TOKEN: Final = r"[^\s/=<>{}\\_\"]"
_RUN: Final = re.compile(rf"(?<!{_TOKEN})(?:{_TOKEN}++\s){{19}}(?:{_TOKEN}++\s?)*+|[^\x00-\x7f]{{20,}}+")
"""Twenty words without a sign of programs, or as many signs of a script without blanks."""


def unread_prose(page: Parsed, shown: npt.NDArray[np.bool_], words: int) -> tuple[str, ...]:
    """A name for the prose outside the ``shown`` runs, none where it is little next to this many visible words."""
    rest = bytearray(page.body)
    for begin, end in page.runs[shown][:, (FROM, TO)].tolist():
        rest[begin:end] = b"<" * (end - begin)
    found = {run[0].strip() for run in _RUN.finditer(unescaped(rest.decode("utf-8", "replace")))}
    prose = sorted(filter(is_prose, found))
    if sum(map(number_of_words, prose)) < max(LEAST_UNREAD, TIMES * words):
        return ()
    return (f"unread {zlib.crc32(' '.join(prose).encode('utf-8', 'replace')):010d}",)
