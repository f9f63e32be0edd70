"""Tables about words in files next to this one, each of which says where it comes from."""

from __future__ import annotations

from importlib import resources
from typing import Final


def _lines(name: str) -> list[str]:
    text = (resources.files(__package__) / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


_TRADITIONAL: Final = _lines("traditional.txt")

FUNCTION_WORDS: Final = {
    language: frozenset(words.split())
    for language, words in (line.split("\t") for line in _lines("function_words.txt"))
}
"""By language, of all except Chinese and English."""

SIMPLIFIED: Final = {
    ord(traditional): ord(simplified)
    for traditional, simplified in zip("".join(_TRADITIONAL[::2]), "".join(_TRADITIONAL[1::2]), strict=True)
}
"""Traditional to simplified characters by code point, for ``str.translate``."""
