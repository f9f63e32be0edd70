"""JSON → its text: strings as they are meant, keys and values where they stand.

Words are compared and punctuation is not, so JSON need not be parsed: each escape in its strings is read. So it may be
as deep and hold numbers as large as it likes, be several values one below the other, or be cut in the middle of one.
"""

from __future__ import annotations

import json
import re
from typing import Final

# A string that has no end is one that was cut.
_TOKEN: Final = re.compile(r'[\s\[\]{},:0-9.eE+\-\ufeff\x1e]++|"(?:[^"\\]|\\.)*+["\\]?+|true|false|null', re.DOTALL)
_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*+)("?)', re.DOTALL)


def json_text(text: str) -> str | None:
    """The text of JSON, None where that is no JSON: its tokens are known, and not whether they belong together."""
    if _TOKEN.sub("", text):
        return None
    return _STRING.sub(_meant, text) if "\\" in text else text


def _meant(string: re.Match[str]) -> str:
    try:
        meant: str = json.loads(f'"{string[1]}"', strict=False)
    except ValueError:  # an escape that JSON does not have
        return string[0]
    return '"' + meant.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "") + string[2]
