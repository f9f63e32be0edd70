"""Header lines of WARC records, of HTTP responses and of mail: read however they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_FIELD: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,256})[ \t]*:(.*)", re.DOTALL)


class Headers(NamedTuple):
    """Names in lower case and values, in their order; a name may come again."""

    fields: tuple[tuple[str, str], ...] = ()

    def get(self, name: str) -> str | None:
        """The first value of this name."""
        return next((value for each, value in self.fields if each == name.lower()), None)

    def all(self, name: str) -> list[str]:
        """Every value of this name."""
        return [value for each, value in self.fields if each == name.lower()]


class Headed(NamedTuple):
    """``end`` is where the content after the header begins; None if no blank line ends the header."""

    headers: Headers
    end: int | None


def headers_at(content: bytes, begin: int) -> Headed:
    """The header whose first line begins there. Lines end with CR LF or LF; a line that begins with a blank continues
    the line before it. Of lines that are no field, a line of markup ends the header, any other is skipped.
    """
    fields: list[tuple[str, list[str]]] = []
    end: int | None = None
    for at, line in _lines(content, begin):
        stripped = line.rstrip(b"\r\n")
        if not stripped and line:
            end = at + len(line)
            break
        if stripped[:1] in (b" ", b"\t"):
            if fields:
                fields[-1][1].append(_text(stripped))
        elif field := _FIELD.match(stripped):
            fields.append((_text(field[1]).lower(), [_text(field[2])]))
        elif stripped.startswith(b"<"):
            end = at
            break
    return Headed(Headers(tuple((name, " ".join(filter(None, parts))) for name, parts in fields)), end)


def _lines(content: bytes, begin: int) -> Iterator[tuple[int, bytes]]:
    while begin < len(content):
        end = content.find(b"\n", begin) + 1 or len(content)
        yield begin, content[begin:end]
        begin = end


def _text(content: bytes) -> str:
    try:
        return content.decode().strip()
    except UnicodeDecodeError:
        return content.decode("latin-1").strip()
