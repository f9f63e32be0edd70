"""Two main texts word by word."""

from __future__ import annotations

from itertools import islice
from typing import Final

from worker.fingerprint.fingerprinter import Recipe
from worker.report.difference import TextDifference, difference
from worker.report.words import cut_by, words

_MOST_WORDS: Final = 20_000
_MOST_CHARACTERS: Final = 400_000
"""Of a text; somebody wants to read what differs, and text without a blank is cut in one go."""


def difference_of(a: str, b: str, recipe: Recipe) -> TextDifference:
    """Words as the recipe cuts them, in the spelling of the texts; of long texts the beginnings."""
    cut = cut_by(recipe.reader)
    return difference(*(tuple(islice(words(text[:_MOST_CHARACTERS], cut), _MOST_WORDS)) for text in (a, b)))


def how_much(found: TextDifference) -> str:
    """What to say where the texts are longer than what was compared of them; nothing where they are not."""
    longer = found.same + max(found.removed, found.added)
    return f" (of the first {_MOST_WORDS:,} words)" if longer >= _MOST_WORDS else ""
