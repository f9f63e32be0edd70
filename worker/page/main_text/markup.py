"""HTML and XML → elements and runs of text, in one pass over the bytes.

What it makes of a page is what a browser would (HTML Living Standard, section 13.2), as far as text and its place are
concerned: omitted and missing end tags, attributes of all spellings, comments, and elements whose content is no markup.
It does not mend what text cannot show, such as formatting that is closed in the wrong order, and it makes no elements
that are not there. Every page is markup to it; time and memory grow with the page's length, however deep it is.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from worker.compiling import COMPILED
from worker.page.main_text.vocabulary import (
    ARIA_HIDDEN,
    ARTICLE,
    ATTRIBUTES,
    BLOCK,
    BREAK,
    BUTTON,
    CELL,
    CLASS,
    ELEMENTS,
    EMPTY,
    HAS_ADDRESS,
    HIDDEN,
    HREF,
    ID,
    INLINE,
    ITEM,
    LINK,
    LIST,
    MAIN,
    MARKED_HIDDEN,
    PARAGRAPH,
    RAW,
    ROLE,
    ROLES,
    ROW,
    SECTION,
    STYLE,
    TABLE,
    TERM,
    TITLE,
    UNSEEN,
    VALUED,
    VOID,
    WHOLE,
    WORDS,
    Table,
    bits_of,
    compiled,
    grown,
    hash_of,
)
from worker.page.references import unescaped

Rows = npt.NDArray[np.int32]

# Columns of elements; row 0 is the document itself.
NAME, KIND, MARK, PARENT = 0, 1, 2, 3
# Columns of runs: bytes [FROM, TO), the element that they stand in, and whether a line begins before them.
FROM, TO, OWNER, BREAKS = 0, 1, 2, 3
# Columns of values: the element, the hash of the attribute's name, and the bytes [VALUE_FROM, VALUE_TO).
OF, ATTRIBUTE, VALUE_FROM, VALUE_TO = 0, 1, 2, 3

MAX_STEPS: Final = 256
"""How many open elements an end tag looks through for its own. A page in which none is found in so many is broken on
purpose; without a limit each end tag of such a page would look through all of it."""

_LESS, _GREATER, _SLASH, _BANG, _QUESTION, _EQUALS, _QUOTE, _APOSTROPHE = b"<>/!?=\"'"
_DASH, _BRACKET, _COLON = b"-[:"
_CASE: Final = 0x20
_DISPLAY, _NONE, _TRUE, _SCRIPT = map(hash_of, ("display", "none", "true", "script"))

_ENDS_ITEM: Final = LIST | TABLE | CELL | WHOLE | SECTION | ARTICLE | MAIN


class Parsed(NamedTuple):
    """Elements and runs of text, each in the order of the page.

    ``body`` is the page in UTF-8, as an array of uint8 (or a ``bytearray`` where nothing is compiled). ``elements``
    are int32 (n, 4): hash of the name, kind, mark, row of the parent, which is always an earlier one; row 0 is the
    document. ``runs`` are int32 (m, 4): first byte, the one behind the last, row of the element, and 1 if a line begins
    before the run. ``values`` are int32 (k, 4), for the attributes that ``vocabulary.VALUED`` names: row of the
    element, hash of the attribute's name, first byte of its value, the one behind the last; ``value`` reads it. What
    stands in a script is kept as the value of an attribute without a name, ``EMPTY``.
    """

    body: Any
    elements: Rows
    runs: Rows
    values: Rows

    def value(self, row: int) -> str:
        """The value in this row of ``values``, as it is after its character references are resolved."""
        _, _, begin, end = self.values[row].tolist()
        return unescaped(bytes(self.body[begin:end]).decode("utf-8", "replace"))


def parse(markup: str) -> Parsed:
    """Take a page apart."""
    encoded = bytearray(markup.encode("utf-8", "replace"))
    body: Any = np.frombuffer(encoded, dtype=np.uint8) if COMPILED else encoded
    # Each tag has one of both signs. A run stands before some ``<``, that of CDATA among them, which has no end of its
    # own, or reaches to the end of the page. No attribute and no script takes fewer than three bytes. Of what is not
    # written to, the system takes no memory.
    begins = _number_of(body, _LESS)
    elements = np.empty((min(begins, _number_of(body, _GREATER)) + 2, 4), dtype=np.int32)
    runs = np.empty((begins + 2, 4), dtype=np.int32)
    values = np.empty((len(body) // 3 + 1, 4), dtype=np.int32)
    found, found_runs, found_values = _parse(body, (ELEMENTS, WORDS, ROLES, ATTRIBUTES, VALUED), elements, runs, values)
    return Parsed(body, elements[:found], runs[:found_runs], values[:found_values])


@compiled("int64(uint8[::1], int64)")
def _number_of(body: Any, character: int) -> int:
    """How often the character stands in the page."""
    number = 0
    for each in body:
        number += 1 if each == character else 0
    return number


@compiled("boolean(int64)")
def is_space(character: int) -> bool:
    """Blank, tab, line feed, form feed, carriage return."""
    return character == 32 or 9 <= character <= 13


@compiled("boolean(int64)")
def _is_letter(character: int) -> bool:
    return 97 <= (character | _CASE) <= 122


@compiled("boolean(int64)")
def _begins_markup(character: int) -> bool:
    """Whether ``<`` before it is more than text."""
    return _is_letter(character) or character in (_SLASH, _BANG, _QUESTION)


@compiled("boolean(int64)")
def _ends_name(character: int) -> bool:
    return is_space(character) or character in (_GREATER, _SLASH)


@compiled("int64(int64)")
def _lower(character: int) -> int:
    return character + _CASE if 65 <= character <= 90 else character


@compiled("int64(uint8[::1], int64, int64)")
def _find(body: Any, character: int, place: int) -> int:
    """Where the character stands from ``place`` on, or the end of the page."""
    while place < len(body) and body[place] != character:
        place += 1
    return place


@compiled("int64(uint8[::1], int64, int64, int32[:, ::1])")
def _bits_of_words(body: Any, begin: int, end: int, table: Table) -> int:
    """Bits of all words of a class, id or role; ``side-bar``, ``side_bar`` and ``sideBar`` are two words."""
    bits = 0
    name = EMPTY
    after_lower = False
    for place in range(begin, end):
        character = int(body[place])
        upper = 65 <= character <= 90
        if not upper and not _is_letter(character) and character < 128:
            bits |= bits_of(table, name)
            name = EMPTY
            after_lower = False
            continue
        if upper and after_lower:
            bits |= bits_of(table, name)
            name = EMPTY
        name = grown(name, _lower(character))
        after_lower = not upper
    return bits | bits_of(table, name)


@compiled("int64(uint8[::1], int64, int64)")
def _hash_of_letters(body: Any, begin: int, end: int) -> int:
    """Hash of the first run of letters."""
    name = EMPTY
    for place in range(begin, end):
        if _is_letter(int(body[place])):
            name = grown(name, _lower(int(body[place])))
        elif name != EMPTY:
            break
    return name


@compiled("boolean(uint8[::1], int64, int64)")
def _not_displayed(body: Any, begin: int, end: int) -> bool:
    """Whether a style says ``display: none``."""
    while begin < end:
        colon = begin
        while colon < end and body[colon] != _COLON:
            colon += 1
        semicolon = colon
        while semicolon < end and body[semicolon] != 59:
            semicolon += 1
        if _hash_of_letters(body, begin, colon) == _DISPLAY and _hash_of_letters(body, colon, semicolon) == _NONE:
            return True
        begin = semicolon + 1
    return False


@compiled("int64(uint8[::1], int64, int64, int64, int32[:, ::1], int32[:, ::1])")
def _mark_of(body: Any, attribute: int, begin: int, end: int, words: Table, roles: Table) -> int:
    """What an attribute with this value marks its element as."""
    if attribute in (CLASS, ID):
        return _bits_of_words(body, begin, end, words)
    if attribute == HREF:
        return HAS_ADDRESS
    if attribute == ROLE:
        return _bits_of_words(body, begin, end, roles)
    if attribute == HIDDEN:
        return MARKED_HIDDEN
    if attribute == ARIA_HIDDEN and _hash_of_letters(body, begin, end) == _TRUE:
        return MARKED_HIDDEN
    if attribute == STYLE and _not_displayed(body, begin, end):
        return MARKED_HIDDEN
    return 0


@compiled("int64(uint8[::1], int64)")
def _after_declaration(body: Any, place: int) -> int:
    """Where the comment, declaration or instruction that begins at ``place`` ends. Text in CDATA is read as markup."""
    length = len(body)
    if body[place + 1] == _BANG and place + 3 < length:
        if body[place + 2] == _DASH and body[place + 3] == _DASH:
            if place + 4 < length and body[place + 4] == _GREATER:
                return place + 5
            end = place + 4
            while end + 2 < length:
                if body[end + 2] == _GREATER and body[end + 1] == _DASH and body[end] == _DASH:
                    return end + 3
                end += 1
            return length
        if place + 8 < length and body[place + 2] == _BRACKET and body[place + 8] == _BRACKET:
            return place + 9
    return min(_find(body, _GREATER, place + 2) + 1, length)


@compiled("int64(uint8[::1], int64, int64, int64)")
def _end_of_raw(body: Any, name: int, length: int, place: int) -> int:
    """Where the end tag of a raw element stands, whose name is ``length`` bytes at ``name``; or the end of the page."""
    last = len(body) - length - 2
    while place <= last:
        if body[place] == _LESS and body[place + 1] == _SLASH:
            same = 0
            while same < length and (body[place + 2 + same] | _CASE) == (body[name + same] | _CASE):
                same += 1
            if same == length:
                return place
        place += 1
    return len(body)


@compiled("int64(int32[:, ::1], int64, int64, int64)")
def _after_end_tag(elements: Rows, current: int, name: int, kind: int) -> int:
    """The element that is open after an end tag: the parent of what it closes; ``current`` if there is no such.

    The end of what stands in a line closes no block, unless it is the end of what is not shown; and nothing but a cell,
    row or table closes a cell.
    """
    candidate = current
    for _ in range(MAX_STEPS):
        if candidate == 0:
            return current
        if elements[candidate, NAME] == name:
            return int(elements[candidate, PARENT])
        passing = elements[candidate, KIND]
        if passing & BLOCK and not kind & (BLOCK | UNSEEN):
            return current
        if passing & CELL and not kind & (ROW | TABLE | WHOLE):
            return current
        candidate = elements[candidate, PARENT]
    return current


@compiled("int64(int32[:, ::1], int64, int64)")
def _before_start_tag(elements: Rows, current: int, kind: int) -> int:
    """The element that a new one of this kind stands in, after the end tags that may be omitted before it."""
    if kind & (CELL | ROW):
        ends = CELL | ROW if kind & ROW else CELL
        candidate, outermost = current, 0
        for _ in range(MAX_STEPS):
            if candidate == 0 or elements[candidate, KIND] & TABLE:
                break
            if elements[candidate, KIND] & ends:
                outermost = candidate
            candidate = elements[candidate, PARENT]
        if outermost and elements[candidate, KIND] & TABLE:
            return int(elements[outermost, PARENT])
        return current
    if kind & BLOCK:
        candidate = current
        for _ in range(MAX_STEPS):
            if candidate == 0 or elements[candidate, KIND] & BLOCK:
                break
            candidate = elements[candidate, PARENT]
        if elements[candidate, KIND] & PARAGRAPH:
            current = int(elements[candidate, PARENT])
    if kind & (ITEM | TERM):
        candidate = current
        for _ in range(MAX_STEPS):
            if candidate == 0 or elements[candidate, KIND] & (ITEM | TERM | _ENDS_ITEM):
                break
            candidate = elements[candidate, PARENT]
        if elements[candidate, KIND] & kind & (ITEM | TERM):
            return int(elements[candidate, PARENT])
    elif kind & (LINK | BUTTON):
        ends = LINK | BLOCK if kind & LINK else BUTTON
        candidate = current
        for _ in range(MAX_STEPS):
            if candidate == 0 or elements[candidate, KIND] & ends:
                break
            candidate = elements[candidate, PARENT]
        if elements[candidate, KIND] & kind & (LINK | BUTTON):
            return int(elements[candidate, PARENT])
    return current


@compiled(
    "UniTuple(int64, 3)(uint8[::1], UniTuple(int32[:, ::1], 5), int32[:, ::1], int32[:, ::1], int32[:, ::1])",
)
def _parse(
    body: Any, tables: tuple[Table, Table, Table, Table, Table], elements: Rows, runs: Rows, values: Rows
) -> tuple[int, int, int]:
    """Fill ``elements``, ``runs`` and ``values``; how many there are of each."""
    names, words, roles, attributes, valued = tables
    length = len(body)
    count, run_count, value_count = 1, 0, 0
    current = 0
    breaks = 1
    text = place = 0
    elements[0, NAME], elements[0, KIND], elements[0, MARK], elements[0, PARENT] = 0, 0, 0, -1
    while text < length:
        place = _find(body, _LESS, place)
        following = int(body[place + 1]) if place + 1 < length else 0
        if place < length and not _begins_markup(following):
            place += 1  # a lone one is text
            continue
        if place > text:
            runs[run_count, FROM], runs[run_count, TO] = text, place
            runs[run_count, OWNER], runs[run_count, BREAKS] = current, breaks
            run_count += 1
            while text < place and is_space(int(body[text])):
                text += 1
            if text < place:
                breaks = 0
        if place >= length:
            break
        if following in (_BANG, _QUESTION):
            text = place = _after_declaration(body, place)
            continue
        ending = following == _SLASH
        place += 2 if ending else 1
        if ending and not (place < length and _is_letter(int(body[place]))):
            text = place = min(_find(body, _GREATER, place) + 1, length)
            continue

        name_at = place
        name = EMPTY
        while place < length:
            character = int(body[place])
            if _ends_name(character):
                break
            name = grown(name, _lower(character))
            place += 1
        name_length = place - name_at
        kind = bits_of(names, name)

        wanted = 0 if ending else bits_of(valued, name)
        mark = seen = 0
        before = value_count
        empty = False
        while place < length and body[place] != _GREATER:
            character = int(body[place])
            if is_space(character) or character == _SLASH:
                empty = character == _SLASH
                place += 1
                continue
            empty = False
            attribute = EMPTY
            first = True
            while place < length:
                character = int(body[place])
                if _ends_name(character):
                    break
                if character == _EQUALS and not first:
                    break
                attribute = grown(attribute, _lower(character))
                first = False
                place += 1
            while place < length and is_space(int(body[place])):
                place += 1
            begin = end = place
            if place < length and body[place] == _EQUALS:
                place += 1
                while place < length and is_space(int(body[place])):
                    place += 1
                begin = place
                if place < length and (body[place] == _QUOTE or body[place] == _APOSTROPHE):
                    begin = place + 1
                    end = _find(body, int(body[place]), begin)
                    place = end + 1
                else:
                    while place < length and not is_space(int(body[place])) and body[place] != _GREATER:
                        place += 1
                    end = place
            bit = 0 if ending else bits_of(attributes, attribute)
            if bit and not seen & bit:
                seen |= bit
                mark |= _mark_of(body, attribute, begin, min(end, length), words, roles)
                if wanted & bit:
                    values[value_count, OF], values[value_count, ATTRIBUTE] = count, attribute
                    values[value_count, VALUE_FROM], values[value_count, VALUE_TO] = begin, min(end, length)
                    value_count += 1
        if place >= length:
            value_count = before
            break  # the page was cut inside a tag
        place += 1
        text = place
        if kind & (BLOCK | BREAK) or not kind:
            breaks = 1
        if ending:
            current = _after_end_tag(elements, current, name, kind)
            continue

        current = _before_start_tag(elements, current, kind)
        elements[count, NAME], elements[count, KIND] = name, kind
        elements[count, MARK], elements[count, PARENT] = mark, current
        if kind & RAW:
            end = _end_of_raw(body, name_at, name_length, place)
            if kind & TITLE and end > place:
                runs[run_count, FROM], runs[run_count, TO] = place, end
                runs[run_count, OWNER], runs[run_count, BREAKS] = count, 1
                run_count += 1
            if name == _SCRIPT:
                values[value_count, OF], values[value_count, ATTRIBUTE] = count, EMPTY
                values[value_count, VALUE_FROM], values[value_count, VALUE_TO] = place, end
                value_count += 1
            text = place = min(_find(body, _GREATER, end) + 1, length)
        elif not (kind & VOID or (empty and (not kind or (kind & INLINE and not kind & LINK)))):
            current = count
        count += 1
    return count, run_count, value_count
