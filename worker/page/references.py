"""Character references of HTML as text: ``&amp;``, ``&#38;``."""

from __future__ import annotations

import html
import re
from typing import Final

_LONG: Final = re.compile(r"&#[0-9]{8,}")


def unescaped(text: str) -> str:
    """As ``html.unescape``, which raises at a number of thousands of digits (Python converts none): that is U+FFFD,
    as in browsers, and so is any other beyond Unicode."""
    return html.unescape(_LONG.sub(_short, text))


def _short(reference: re.Match[str]) -> str:
    """The same number without leading zeros; of one that is no character its first digits, which are none either."""
    return "&#" + (reference[0][2:].lstrip("0")[:8] or "0")
