"""XML → elements and runs of text, and the part of them that feed readers show.

XML is read by its own rules (XML 1.0): an element ends by its own tag or ``/>`` and by nothing else, none holds raw
text, CDATA is text, names have case. Where a browser would stop at an error, reading goes on. Names mean something if
the first element is ``<html>`` or ``<svg>``; then it is a page like others, and a void element of HTML such as
``<br>`` stays empty. They may have a prefix that stands for XHTML. All text of other documents is their content. Of
feeds (RSS, Atom) it is the titles of their items and the items' content, which is HTML written as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from worker.page.elements.markup import (
    NAME,
    PARENT,
    TABLES,
    Rows,
    Tables,
    add_element,
    add_run,
    begins_markup,
    is_space,
    parse,
    read_attributes,
    read_name,
    room_for,
)
from worker.page.elements.parsed import BREAKS, OWNER, Parsed
from worker.page.elements.tags import (
    BANG,
    CDATA,
    LESS,
    MAX_STEPS,
    QUESTION,
    SLASH,
    after_xml_declaration,
    begins_cdata,
    end_of_cdata,
    find,
    is_foreign,
    is_in_unseen,
)
from worker.page.elements.vocabulary import (
    BLOCK,
    BREAK,
    EMPTY,
    IN_HEAD,
    INLINE,
    NOT_HTML,
    RAW,
    TITLE,
    VOID,
    Table,
    bits_of,
    hash_of,
    lean,
)
from worker.page.references import unescaped

_BINDS_XHTML: Final = re.compile(
    rb"""xmlns:([A-Za-z_][A-Za-z0-9_.-]{0,31}+)\s*+=\s*+["']http://www\.w3\.org/1999/xhtml["']"""
)
_COLON, _LINE = b":_"
_HTML, _HEAD, _SVG, _TITLE = map(hash_of, ("html", "head", "svg", "title"))
_FEEDS: Final = tuple(map(hash_of, ("rss", "feed", "rdf:RDF")))
_ATOM: Final = hash_of("feed")
_CHANNEL, _TYPE = map(hash_of, ("channel", "type"))
_ITEMS: Final = tuple(map(hash_of, ("item", "entry")))
_CONTENTS: Final = tuple(map(hash_of, ("content:encoded", "content", "description", "summary", "subtitle")))
"""Elements that hold the content of an item; of several the first one in this list is shown."""
_ALWAYS_HTML: Final = tuple(map(hash_of, ("content:encoded", "description")))


class XmlText(NamedTuple):
    """The title of a document that is no page, and its lines of text."""

    title: str | None
    lines: list[str]


def parse_xml(markup: str | bytes, tables: Tables = TABLES) -> Parsed:
    """Parse XML, as ``markup.parse`` parses HTML. A section of CDATA is an element without a name."""
    body, elements, runs, values = room_for(_without_prefix(markup))
    found = _parse_xml(body, tables, elements, runs, values)
    return Parsed(body, elements[: found[0]], runs[: found[1]], values[: found[2]])


def _without_prefix(markup: str | bytes) -> bytes:
    """The same with the names of XHTML as HTML has them: ``<h:p>`` is ``<p>`` where the document binds ``h`` to it."""
    encoded = markup if isinstance(markup, bytes) else markup.encode("utf-8", "replace")
    bound = _BINDS_XHTML.search(encoded)
    return encoded if bound is None else re.sub(rb"(</?)%b:" % re.escape(bound[1]), rb"\1", encoded)


def told_by(page: Parsed) -> XmlText | None:
    """The text of an XML document, or None if it is a page like those of HTML."""
    root = int(page.elements[1, NAME]) if len(page.elements) > 1 else 0
    if root in (_HTML, _SVG):
        return None
    if root in _FEEDS:
        return _told_by_feed(page)
    return XmlText(None, _lines(page, range(len(page.runs))))


def _told_by_feed(page: Parsed) -> XmlText:
    elements = page.elements[:, [NAME, PARENT]].tolist()
    types = {int(of): page.value(row) for row, (of, attribute, *_) in enumerate(page.values) if attribute == _TYPE}
    runs_of: dict[int, list[int]] = {}
    for run, owner in enumerate(page.runs[:, OWNER].tolist()):
        runs_of.setdefault(owner, []).append(run)
    title, lines = None, list[str]()
    row = 1
    while row < len(elements):
        name, parent = elements[row]
        if name == _TITLE and title is None and (parent == 1 or elements[parent][0] == _CHANNEL):
            title = " ".join(_shown(page, runs_of, elements, row, types))
        if name not in _ITEMS:
            row += 1
            continue
        item, row = row, _behind(elements, row)
        parts = {elements[part][0]: part for part in range(row - 1, item, -1) if elements[part][1] == item}
        shown = [parts[_TITLE]] if _TITLE in parts else []
        shown += [parts[content] for content in _CONTENTS if content in parts][:1]
        for part in shown:
            lines += _shown(page, runs_of, elements, part, types)
    return XmlText(title or None, lines)


def _behind(elements: list[list[int]], row: int) -> int:
    """The row after the last row that stands in this one."""
    behind = row + 1
    while behind < len(elements) and elements[behind][1] >= row:
        behind += 1
    return behind


def _shown(
    page: Parsed, runs_of: dict[int, list[int]], elements: list[list[int]], row: int, types: dict[int, str]
) -> Iterator[str]:
    """The lines of a part of an item: for text that is HTML the lines that a browser would show."""
    lines = _lines(page, (run for each in range(row, _behind(elements, row)) for run in runs_of.get(each, ())))
    if elements[row][0] in _ALWAYS_HTML or types.get(row, "").strip().lower() in ("html", "text/html"):
        inner = parse("\n".join(lines))
        seen = [run for run, owner in enumerate(inner.runs[:, OWNER]) if not is_in_unseen(inner.elements, int(owner))]
        lines = _lines(inner, seen)
    elif elements[row][0] == _TITLE and row not in types:
        lines = list(map(unescaped, lines))  # RSS does not say whether a title is HTML
    yield from lines


def _lines(page: Parsed, runs: Iterable[int]) -> list[str]:
    """The text of these runs, line by line, its white space plain."""
    lines: list[list[str]] = [[]]
    for run in runs:
        if page.runs[run, BREAKS]:
            lines.append([])
        lines[-1].append(page.text(run).replace("\0", ""))
    return [line for line in (" ".join("".join(parts).split()) for parts in lines) if line]


@lean("int64(int32[:, ::1], int64, int64)")
def _after_xml_end(elements: Rows, current: int, name: int) -> int:
    """The element that is open after an end tag: it closes the next element of its name."""
    candidate = current
    for _ in range(MAX_STEPS):
        if candidate == 0:
            break
        if elements[candidate, NAME] == name:
            return int(elements[candidate, PARENT])
        candidate = elements[candidate, PARENT]
    return current


@lean("int64(int32[:, ::1], int64, int64, int32[:, ::1], int32[:, ::1])")
def _xml_kind(elements: Rows, current: int, name: int, names: Table, foreign_names: Table) -> int:
    """The kind of a new element: names mean something in XHTML and SVG, as the first element says."""
    root = name if current == 0 else elements[1, NAME]
    if root == _ATOM:  # its content may be XHTML
        return bits_of(names, name) & (INLINE | BLOCK | BREAK)
    if root not in (_HTML, _SVG):
        return 0
    if is_foreign(elements, current):
        kind = bits_of(foreign_names, name) | NOT_HTML
        return kind | TITLE if name == _TITLE and root == _SVG and current == 1 else kind
    kind = bits_of(names, name) & ~RAW
    return kind if elements[current, NAME] == _HEAD else kind & ~TITLE


@lean(
    "UniTuple(int64, 3)(uint8[::1], UniTuple(int32[:, ::1], 8), int32[:, ::1], int32[:, ::1], int32[:, ::1])",
    entry=True,
)
def _parse_xml(body: Any, tables: Tables, elements: Rows, runs: Rows, values: Rows) -> tuple[int, int, int]:
    """The same by the rules of XML: an element ends by its own tag, and its content is always markup."""
    names, valued, words, roles, attributes, foreign_names, _, _ = tables
    length = len(body)
    run_count = value_count = current = 0
    count = add_element(elements, 0, 0, 0, 0, -1)
    breaks = 1
    text = place = 0
    while text < length:
        place = find(body, LESS, place)
        following = int(body[place + 1]) if place + 1 < length else 0
        if place < length and not (begins_markup(following) or following in (_COLON, _LINE) or following >= 128):
            place += 1
            continue
        if place > text:
            run_count = add_run(runs, run_count, text, place, current, breaks)
            while text < place and is_space(int(body[text])):
                text += 1
            if text < place:
                breaks = 0
        if place >= length:
            break
        if following in (BANG, QUESTION):
            if begins_cdata(body, place):
                end = end_of_cdata(body, place + CDATA)
                run_count = add_run(runs, run_count, place + CDATA, end, count, breaks)
                count = add_element(elements, count, EMPTY, INLINE | RAW, 0, current)
                breaks = 0
                text = place = min(end + 3, length)
            else:
                text = place = after_xml_declaration(body, place)
            continue
        ending = following == SLASH
        name, place = read_name(body, place + (2 if ending else 1), True)
        kind = _xml_kind(elements, current, name, names, foreign_names)
        wanted = 0 if ending else bits_of(valued, name)
        before = value_count
        place, mark, empty, value_count = read_attributes(
            body, place, 0 if ending else count, wanted, attributes, words, roles, values, value_count
        )
        if place < 0:
            value_count = before
            break
        text = place
        if kind & (BLOCK | BREAK) or not kind:
            breaks = 1
        if ending:
            current = _after_xml_end(elements, current, name)
            continue
        if elements[current, NAME] == _HEAD:
            mark |= IN_HEAD
        count = add_element(elements, count, name, kind, mark, current)
        if not (empty or kind & VOID):
            current = count - 1
    return count, run_count, value_count
