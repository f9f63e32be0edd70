"""HTML and XML → elements and runs of text, in one pass over the bytes.

The result is what a browser would make of the page (HTML Living Standard, section 13.2), as far as text and its place
are concerned: omitted and missing end tags, attributes of all spellings, comments, and elements whose content is no
markup. It does not repair errors that text cannot show, such as formatting that is closed in the wrong order, and it
makes no elements that are not there. It accepts every page as markup; time and memory grow with the page's length,
however deep the page is.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.compiling import COMPILED
from worker.page.elements.parsed import (
    ATTRIBUTE,
    BREAKS,
    FROM,
    OF,
    OWNER,
    TO,
    VALUE_FROM,
    VALUE_TO,
    Parsed,
)
from worker.page.elements.styles import mark_of_style
from worker.page.elements.tags import (
    APOSTROPHE,
    BANG,
    CDATA,
    EQUALS,
    GREATER,
    IN_NAME,
    KIND,
    LESS,
    MARK,
    NAME,
    NOT_IN_NAME,
    PARENT,
    QUESTION,
    QUOTE,
    SHAPE,
    SLASH,
    Rows,
    after_declaration,
    after_end_tag,
    before_start_tag,
    begins_cdata,
    end_of_cdata,
    end_of_raw,
    end_of_script,
    find,
    is_blank,
    is_foreign,
    is_in_unseen,
    is_letter,
    is_space,
    lower,
    out_of_foreign,
)
from worker.page.elements.vocabulary import (
    ARIA_HIDDEN,
    ATTRIBUTES,
    BLOCK,
    BREAK,
    BREAKOUT,
    BUTTON,
    CLASS,
    DISABLED,
    ELEMENTS,
    EMPTY,
    HAS_ADDRESS,
    HAS_PLACE,
    HEAD_ELEMENTS,
    HIDDEN,
    HREF,
    ID,
    IN_HEAD,
    INLINE,
    MARKED_FOLDED,
    MARKED_HIDDEN,
    MARKED_SHOWN,
    NOT_HTML,
    NOT_HTML_ELEMENTS,
    POPOVER,
    RAW,
    READONLY,
    ROLE,
    ROLES,
    SHADOW_ROOT_MODE,
    STYLE,
    TITLE,
    UNSEEN,
    VALUED,
    VOID,
    WHOLE,
    WORDS,
    Table,
    bits_of,
    grown,
    hash_of,
    lean,
)

__all__ = [
    "KIND",
    "MARK",
    "NAME",
    "PARENT",
    "SHAPE",
    "TABLES",
    "Rows",
    "Tables",
    "add_element",
    "add_run",
    "begins_markup",
    "is_space",
    "parse",
    "parse_head",
    "read_attributes",
    "read_name",
    "room_for",
]

Tables = tuple[Table, Table, Table, Table, Table, Table, Table, Table]

_SPACE: Final = 32
_SHAPE, _MARKS = 32, 0x7FFFFFFF
"""A mark is read with the shape above it, which takes another column."""
_BEGINNING: Final = 16 * 1024
"""Most heads end within this many bytes of a page."""
_OF_ANOTHER: Final = tuple(map(hash_of, ("has", "with", "no", "without")))
"""The words after them name another element, which stands there or not."""
_OF_A_SWITCH: Final = tuple(map(hash_of, ("enabled", "disabled")))
_TRUE, _OPEN, _CLOSED, _UNTIL = map(hash_of, ("true", "open", "closed", "until"))
_HTML, _HEAD, _P, _BR, _SCRIPT, _STYLE, _PAGE_TITLE, _TEXTAREA, _PLAINTEXT = map(
    hash_of, ("html", "head", "p", "br", "script", "style", "title", "textarea", "plaintext")
)
_UPPER_NAMES: Final = (0, _HTML, _HEAD)
"""Elements in which text stands outside the head; the document has no name."""


TABLES: Final = (ELEMENTS, VALUED, WORDS, ROLES, ATTRIBUTES, NOT_HTML_ELEMENTS, BREAKOUT, HEAD_ELEMENTS)


def parse(markup: str | bytes, *, tables: Tables = TABLES) -> Parsed:
    """Parse a page of HTML."""
    return _parsed(markup, tables, False)[0]


def parse_head(markup: bytes) -> Parsed:
    """Parse only a page's head; most heads end in the page's beginning, and then it looks at no more."""
    beginning = markup[: markup.rfind(b">", 0, _BEGINNING) + 1]  # cut inside no tag that has an end there
    page, is_over = _parsed(beginning, TABLES, True)
    return page if is_over else _parsed(markup, TABLES, True)[0]


def _parsed(markup: str | bytes, tables: Tables, head_only: bool) -> tuple[Parsed, bool]:
    body, elements, runs, values = room_for(markup)
    *found, is_over = _parse(body, tables, elements, runs, values, head_only)
    return Parsed(body, elements[: found[0]], runs[: found[1]], values[: found[2]]), is_over > 0


def room_for(markup: str | bytes) -> Parsed:
    """A page, and enough rows for all that it can hold."""
    encoded = bytearray(markup if isinstance(markup, bytes) else markup.encode("utf-8", "replace"))
    body: Any = np.frombuffer(encoded, dtype=np.uint8) if COMPILED else encoded
    # Each tag, and each section of CDATA but the last, has one of both signs. A run stands before some ``<``, or in a
    # section of CDATA, or reaches to the end of the page. No attribute and no script takes fewer than three bytes. The
    # system takes no memory for rows that are not written.
    begins, ends = _signs_in(body)
    elements = np.empty((min(begins, ends) + 3, 5), dtype=np.int32)
    runs = np.empty((begins + len(body) // CDATA + 2, 4), dtype=np.int32)
    return Parsed(body, elements, runs, np.empty((len(body) // 3 + 1, 4), dtype=np.int32))


@lean("UniTuple(int64, 2)(uint8[::1])", entry=True)
def _signs_in(body: Any) -> tuple[int, int]:
    """How often ``<`` and ``>`` stand in the page."""
    less = greater = 0
    for each in body:
        less += 1 if each == LESS else 0
        greater += 1 if each == GREATER else 0
    return less, greater


@lean("boolean(int64)")
def begins_markup(character: int) -> bool:
    """Whether a ``<`` before this byte is more than text."""
    return is_letter(character) or character in (SLASH, BANG, QUESTION)


@lean("int64(uint8[::1], int64, int64, int32[:, ::1])")
def _bits_of_words(body: Any, begin: int, end: int, table: Table) -> int:
    """Bits of all words of a class, id or role; ``side-bar``, ``side_bar`` and ``sideBar`` are two words.

    ``has-sidebar``, ``no-sidebar`` and ``modal-enabled`` say what stands in an element, or what it can do, not what it
    is.
    """
    bits = bits_of_name = 0
    word = EMPTY
    after_lower = is_of_another = False
    for place in range(begin, end + 1):
        character = int(body[place]) if place < end else _SPACE
        upper = 65 <= character <= 90
        is_between = not upper and not is_letter(character) and character < 128
        if is_between or (upper and after_lower):
            if word in _OF_ANOTHER:
                is_of_another = True
            elif word in _OF_A_SWITCH:
                bits_of_name = 0
            elif not is_of_another:
                bits_of_name |= bits_of(table, word)
            word = EMPTY
        if is_space(character):
            bits |= bits_of_name
            bits_of_name = 0
            is_of_another = False
        if not is_between:
            word = grown(word, lower(character))
        after_lower = not is_between and not upper
    return bits


@lean("int64(uint8[::1], int64, int64)")
def _hash_of_letters(body: Any, begin: int, end: int) -> int:
    """Hash of the first run of letters."""
    name = EMPTY
    for place in range(begin, end):
        if is_letter(int(body[place])):
            name = grown(name, lower(int(body[place])))
        elif name != EMPTY:
            break
    return name


@lean("int64(uint8[::1], int64, int64, int64, int32[:, ::1], int32[:, ::1])")
def _mark_of(body: Any, attribute: int, begin: int, end: int, words: Table, roles: Table) -> int:
    """The mark that an attribute with this value gives its element."""
    if attribute in (CLASS, ID):
        return _bits_of_words(body, begin, end, words)
    if attribute == HREF:
        return HAS_ADDRESS | (HAS_PLACE if begin < end and body[begin] == 35 else 0)
    if attribute == ROLE:
        return _bits_of_words(body, begin, end, roles)
    if attribute == HIDDEN:
        return 0 if _hash_of_letters(body, begin, end) == _UNTIL else MARKED_HIDDEN
    if attribute == POPOVER:
        return MARKED_HIDDEN
    if attribute == ARIA_HIDDEN and _hash_of_letters(body, begin, end) == _TRUE:
        return MARKED_HIDDEN
    if attribute == STYLE:
        return mark_of_style(body, begin, end)
    if attribute in (READONLY, DISABLED):
        return MARKED_SHOWN
    if attribute == SHADOW_ROOT_MODE and _hash_of_letters(body, begin, end) in (_OPEN, _CLOSED):
        return MARKED_SHOWN
    return 0


@lean("int64(uint8[::1], int64, int64)")
def _shape_of(body: Any, begin: int, end: int) -> int:
    """Hash of the first name of a class without its digits, which number elements; 0 for none."""
    shape = EMPTY
    for place in range(begin, end):
        character = int(body[place])
        if is_space(character):
            if shape != EMPTY:
                break
        elif not 48 <= character <= 57:
            shape = grown(shape, character)
    return shape if shape != EMPTY else 0


@lean(
    "UniTuple(int64, 4)(uint8[::1], int64, int64, int64, int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], "
    "int64)",
    inline=True,
)
def read_attributes(
    body: Any, place: int, element: int, wanted: int, known: Table, words: Table, roles: Table, values: Rows, count: int
) -> tuple[int, int, int, int]:
    """Read a tag from the end of its name on. Returns where it ends, after the ``>``, or -1 if the page was cut inside;
    the mark, and above it the shape; 1 if it ends with ``/``; and how many values there are now: ``count`` and those of
    ``wanted`` attributes. The tag is that of the element, an end tag if this is 0."""
    length = len(body)
    mark = seen = empty = 0
    while place < length and body[place] != GREATER:
        character = int(body[place])
        if is_blank(character) or character == SLASH:
            empty = 1 if character == SLASH else 0
            place += 1
            continue
        empty = 0
        attribute = EMPTY
        first = True
        while place < length:
            character = int(IN_NAME[body[place]])
            if character == NOT_IN_NAME or (character == EQUALS and not first):
                break
            attribute = grown(attribute, character)
            first = False
            place += 1
        while place < length and is_blank(int(body[place])):
            place += 1
        begin = end = place
        if place < length and body[place] == EQUALS:
            place += 1
            while place < length and is_blank(int(body[place])):
                place += 1
            begin = place
            if place < length and (body[place] == QUOTE or body[place] == APOSTROPHE):
                begin = place + 1
                end = find(body, int(body[place]), begin)
                place = end + 1
            else:
                while place < length and not is_blank(int(body[place])) and body[place] != GREATER:
                    place += 1
                end = place
        bit = bits_of(known, attribute) if element else 0
        if bit and not seen & bit:
            seen |= bit
            mark |= _mark_of(body, attribute, begin, min(end, length), words, roles)
            if attribute == CLASS:
                mark |= _shape_of(body, begin, min(end, length)) << _SHAPE
            if wanted & bit:
                values[count, OF], values[count, ATTRIBUTE] = element, attribute
                values[count, VALUE_FROM], values[count, VALUE_TO] = begin, min(end, length)
                count += 1
    return place + 1 if place < length else -1, mark, empty, count


@lean("int64(int32[:, ::1], int64, int64, int64, int64, int64)")
def add_run(runs: Rows, run_count: int, begin: int, end: int, owner: int, breaks: int) -> int:
    runs[run_count, FROM], runs[run_count, TO] = begin, end
    runs[run_count, OWNER], runs[run_count, BREAKS] = owner, breaks
    return run_count + 1


@lean("int64(int32[:, ::1], int64, int64, int64, int64, int64)")
def add_element(elements: Rows, count: int, name: int, kind: int, mark: int, parent: int) -> int:
    if mark & MARKED_FOLDED and kind & INLINE:
        mark |= MARKED_HIDDEN
    elements[count, NAME], elements[count, KIND] = name, kind
    elements[count, MARK], elements[count, PARENT] = mark & _MARKS, parent
    elements[count, SHAPE] = mark >> _SHAPE
    return count + 1


@lean("int64(int32[:, ::1], int64)")
def _out_of_head(elements: Rows, current: int) -> int:
    return int(elements[current, PARENT]) if elements[current, NAME] == _HEAD else current


@lean("UniTuple(int64, 2)(uint8[::1], int64, boolean)")
def read_name(body: Any, place: int, as_written: bool) -> tuple[int, int]:
    """The hash of the name that begins there, and where it ends."""
    name = EMPTY
    while place < len(body):
        character = int(IN_NAME[body[place]])
        if character == NOT_IN_NAME:
            break
        name = grown(name, int(body[place]) if as_written else character)
        place += 1
    return name, place


@lean(
    "UniTuple(int64, 4)(uint8[::1], UniTuple(int32[:, ::1], 8), int32[:, ::1], int32[:, ::1], int32[:, ::1], boolean)",
    entry=True,
)
def _parse(
    body: Any, tables: Tables, elements: Rows, runs: Rows, values: Rows, head_only: bool
) -> tuple[int, int, int, int]:
    """Fill ``elements``, ``runs`` and ``values``; returns how many there are of each.

    ``head_only``: only those of the head, and 1 if the head ends before the page does."""
    names, valued, words, roles, attributes, foreign_names, breakout, head_names = tables
    length = len(body)
    run_count = value_count = current = 0
    count = add_element(elements, 0, 0, 0, 0, -1)
    breaks = 1
    text = place = 0
    in_head, titled = True, False
    while text < length:
        place = find(body, LESS, place)
        following = int(body[place + 1]) if place + 1 < length else 0
        if place < length and (not begins_markup(following) or (following == SLASH and place + 2 == length)):
            place += 1  # a lone one is text
            continue
        if place > text:
            begin = text
            while text < place and is_space(int(body[text])):
                text += 1
            if text < place and in_head and elements[current, NAME] in _UPPER_NAMES:
                in_head = False
                current = _out_of_head(elements, current)
                if head_only:
                    return count, run_count, value_count, 1
            run_count = add_run(runs, run_count, begin, place, current, breaks)
            if text < place:
                breaks = 0
        if place >= length:
            break
        if following in (BANG, QUESTION):
            if elements[current, KIND] & NOT_HTML and begins_cdata(body, place):
                end = end_of_cdata(body, place + CDATA)
                run_count = add_run(runs, run_count, place + CDATA, end, count, breaks)
                count = add_element(elements, count, EMPTY, INLINE | RAW, 0, current)
                breaks = 0
                text = place = min(end + 3, length)
            else:
                text = place = after_declaration(body, place)
            continue
        ending = following == SLASH
        place += 2 if ending else 1
        if ending and not is_letter(int(body[place])):
            text = place = min(find(body, GREATER, place) + 1, length)
            continue

        name_at = place
        name, place = read_name(body, place, False)
        name_length = place - name_at
        foreign = is_foreign(elements, current)
        if foreign and (name in (_P, _BR) if ending else bits_of(breakout, name) > 0):
            current = out_of_foreign(elements, current)
            foreign = False
        kind = bits_of(foreign_names, name) | NOT_HTML if foreign else bits_of(names, name)
        wanted = 0 if foreign or ending else bits_of(valued, name)
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
            current = after_end_tag(elements, current, name, kind)
            continue

        late = kind & WHOLE or name == _HEAD  # a page has one of these; others are not opened
        if in_head:
            if elements[current, NAME] in _UPPER_NAMES and not bits_of(head_names, name):
                in_head, late = False, 0
                current = _out_of_head(elements, current)
                if head_only:
                    return count, run_count, before, 1
            else:
                mark |= IN_HEAD
                late = 0
        if not foreign:
            current = before_start_tag(elements, current, name, kind)
        if kind & TITLE:
            if titled or is_in_unseen(elements, current):
                kind &= ~TITLE
            titled = True
        if kind & RAW:
            if name == _SCRIPT:
                end = end_of_script(body, place)
                values[value_count, OF], values[value_count, ATTRIBUTE] = count, EMPTY
                values[value_count, VALUE_FROM], values[value_count, VALUE_TO] = place, end
                value_count += 1
            else:
                end = length if name == _PLAINTEXT else end_of_raw(body, name_at, name_length, place)
                if name != _STYLE and end > place:
                    run_count = add_run(runs, run_count, place, end, count, breaks)
                    breaks = 0
            if name in (_PAGE_TITLE, _TEXTAREA):
                kind &= ~RAW
            text = place = end
        opened = not kind & VOID and not late and not (kind & NOT_HTML and empty)
        # A button removes its content from the text; a button without an end removes nothing.
        own = kind & ~UNSEEN if kind & BUTTON else kind
        count = add_element(elements, count, name, own, mark, current)
        if opened:
            current = count - 1
    return count, run_count, value_count, 0
