"""Character references of HTML as text: ``&amp;``, ``&#38;`` (HTML Living Standard, section 13.2.5.72)."""

from __future__ import annotations

import re
from functools import lru_cache
from html.entities import html5
from typing import Final

_REFERENCE: Final = re.compile(r"&(?:#(?:[0-9]+|[xX][0-9a-fA-F]+);?|[A-Za-z][A-Za-z0-9]*;?)")
_LONGEST: Final = max(map(len, html5))
_MOST_DIGITS: Final = 8
_REPLACEMENT: Final = "\ufffd"
_WINDOWS_1252: Final = {
    0x80 + place: character
    for place, character in enumerate(bytes(range(0x80, 0xA0)).decode("cp1252", "replace"))
    if character != _REPLACEMENT
}
"""What pages mean by numbers of control characters."""


def unescaped(text: str) -> str:
    """The text that a browser makes of it."""
    return _REFERENCE.sub(_in_text, text) if "&" in text else text


def unescaped_value(value: str) -> str:
    """The same for an attribute's value: ``?a=1&copy=2`` is an address, and no sign of copyright."""
    return _REFERENCE.sub(_in_value, value) if "&" in value else value


def _in_text(reference: re.Match[str]) -> str:
    spelled = reference[0]
    return _known(spelled) if len(spelled) <= _LONGEST else _resolved(spelled)


@lru_cache(1024)
def _known(reference: str) -> str:
    return _resolved(reference)


def _resolved(reference: str) -> str:
    name = reference[1:]
    if name.startswith("#"):
        return _numbered(name[1:])
    if name in html5:
        return html5[name]
    for length in range(min(len(name), _LONGEST), 1, -1):
        if name[:length] in html5:
            return html5[name[:length]] + name[length:]
    return reference


def _in_value(reference: re.Match[str]) -> str:
    name = reference[0][1:]
    if name.startswith("#"):
        return _numbered(name[1:])
    if not name.endswith(";") and reference.string[reference.end() : reference.end() + 1] == "=":
        return reference[0]
    return html5.get(name, reference[0])


def _numbered(number: str) -> str:
    """The character that a number stands for; without leading zeros, as Python converts none of thousands of digits."""
    base, digits = (16, number[1:]) if number[0] in "xX" else (10, number)
    digits = digits.rstrip(";").lstrip("0")
    code = int(digits or "0", base) if len(digits) <= _MOST_DIGITS else -1
    if code in _WINDOWS_1252:
        return _WINDOWS_1252[code]
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else _REPLACEMENT
