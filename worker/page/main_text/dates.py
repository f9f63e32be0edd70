"""Which lines of a page are those of a date, and which headings are titles."""

from __future__ import annotations

from typing import Any, Final

from worker.page.elements.markup import NAME, PARENT, Rows, is_space
from worker.page.elements.parsed import BREAKS, FROM, OWNER, TO
from worker.page.elements.vocabulary import EMPTY, grown, hash_of, lean
from worker.page.main_text.tally import GONE, LINKED, LONG_LINE, TITLED, WORDS

# Columns of lines, counted for each element with all in it: short ones with a date, short ones with a digit, and all
# lines without the latter; whether it holds any part of a longer line without a date, or a link of this many words; all
# lines; and the dates with prose between them and the date before.
DATES, BYLINES, OTHERS, LONGER, LINES, PIECES = 0, 1, 2, 3, 4, 5
OF_LINES: Final = 6
MANY: Final = 1 << 20
"""A line of a heading counts as this many lines, which no post has: cards of products and of features have headings."""
# The headings in an element: of titles the highest counts.
DATED, TITLE = 1, 2

LONGEST_BYLINE: Final = 12
LEAST_TITLE: Final = 5
"""Words of a heading that is the title of an article or a product. Names of authors are shorter."""
_ARABIC, _LEADS = 16, 32
_DASH, _DOT, _SLASH, _COLON = b"-./:"
_TIME: Final = hash_of("time")


@lean("int64(uint8[::1], int64)")
def _digit(body: Any, place: int) -> int:
    """The value of a digit, of an Arabic one ``ARABIC`` more; ``LEADS`` before the byte that decides it; otherwise
    -1."""
    byte = int(body[place])
    if byte < 0x80:
        return byte - 48 if 48 <= byte <= 57 else -1
    if byte in (0xD9, 0xDB):
        first = 0xA0 if byte == 0xD9 else 0xB0
        return _LEADS if place + 1 < len(body) and first <= body[place + 1] <= first + 9 else -1
    if 0xA0 <= byte <= 0xB9 and place:
        before = int(body[place - 1])
        if (before == 0xD9 and byte <= 0xA9) or (before == 0xDB and byte >= 0xB0):
            return _ARABIC + byte % 16
    return -1


@lean("int64(uint8[::1], int64, int64)")
def _numbers(body: Any, begin: int, end: int) -> int:
    """The number of numbers there."""
    numbers = 0
    within = False
    while begin < end and not (48 <= body[begin] <= 57 or body[begin] == 0xD9 or body[begin] == 0xDB):
        begin += 1
    for place in range(begin, end):
        is_digit = _digit(body, place) >= 0
        numbers += 1 if is_digit and not within else 0
        within = is_digit
    return numbers


@lean("boolean(uint8[::1], int64, int64)")
def _is_dated(body: Any, begin: int, end: int) -> bool:
    """Whether a year, a time of day or a date in numbers stands there; in Arabic digits a year of their calendars."""
    numbers = digits = value = joined = 0
    least = 1900
    for place in range(begin, end + 1):
        digit = _digit(body, place) if place < end else -1
        if digit == _LEADS:
            continue
        if digit >= 0:
            least = 1300 if digit >= _ARABIC else least
            digits += 1
            value = 10 * value + digit % _ARABIC if digits <= 4 else 0
            continue
        if digits:
            numbers += 1
            year = digits == 4 and least <= value < 2100
            clock = joined == _COLON and digits == 2
            if year or clock or (numbers == 3 and digits in (2, 4)):
                return True
        joined = int(body[place]) if digits and place < end else 0
        if joined not in (_DASH, _DOT, _SLASH, _COLON):
            numbers = joined = 0
        digits = value = 0
    return False


@lean("void(uint8[::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1])")
def find_lines(body: Any, elements: Rows, runs: Rows, known: Rows, said: Rows, lines: Rows) -> None:
    """Count for each element the lines in it: short ones with a date, short ones with a digit, and others; and mark
    elements that hold part of a longer line without a date."""
    begin = owner = words = links = 0
    titled = False
    said_since = True
    for run in range(len(runs) + 1):
        if run == len(runs) or runs[run, BREAKS]:
            if words + links:
                numbers, of_text, dated = 0, 0, 0
                if 2 <= words + links <= LONGEST_BYLINE:
                    for earlier in range(begin, run):
                        own = int(runs[earlier, OWNER])
                        if said[earlier, WORDS] and not known[own, GONE]:
                            count = _numbers(body, runs[earlier, FROM], runs[earlier, TO])
                            numbers += count
                            of_text += 0 if known[own, LINKED] else count
                            is_date = count and _is_dated(body, runs[earlier, FROM], runs[earlier, TO])
                            dated = own if not dated and (is_date or elements[own, NAME] == _TIME) else dated
                dated = dated if words - of_text < LONG_LINE - 1 else 0
                lines[owner, LINES] += 1
                if dated:
                    lines[dated, DATES] += 1
                    lines[dated, PIECES] += 1 if said_since else 0
                    said_since = False
                if titled:
                    lines[owner, OTHERS] = MANY
                elif numbers and (dated or words < LONG_LINE):
                    lines[owner, BYLINES] += 1
                else:
                    lines[owner, OTHERS] += 1
                if words >= LONG_LINE and not dated:
                    said_since = True
                    for earlier in range(begin, run):
                        if said[earlier, WORDS]:
                            lines[runs[earlier, OWNER], LONGER] = 1
            begin, words, links = run, 0, 0
            titled = False
        if run == len(runs):
            break
        own = int(runs[run, OWNER])
        if said[run, WORDS] and not known[own, GONE]:
            owner = owner if words + links else own
            titled = titled or known[own, TITLED] > 0
            if known[own, LINKED]:
                links += said[run, WORDS]
                if said[run, WORDS] >= LONG_LINE:
                    lines[own, LONGER] = 1
            else:
                words += said[run, WORDS]
    for element in range(len(elements) - 1, 0, -1):
        if not (lines[element, LINES] or lines[element, DATES] or lines[element, LONGER]):
            continue
        parent = elements[element, PARENT]
        lines[parent, DATES] += lines[element, DATES]
        lines[parent, PIECES] += lines[element, PIECES]
        lines[parent, LINES] += lines[element, LINES]
        lines[parent, BYLINES] += lines[element, BYLINES]
        lines[parent, OTHERS] = min(lines[parent, OTHERS] + lines[element, OTHERS], MANY)
        lines[parent, LONGER] = max(lines[parent, LONGER], lines[element, LONGER])


@lean("void(uint8[::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:])")
def find_titles(body: Any, elements: Rows, runs: Rows, known: Rows, said: Rows, titles: Any) -> None:
    """Mark elements with a heading that has a date, and elements with a heading of several words that differs from the
    one before: in some threads each post has the title of the first."""
    heading = words = before = 0
    name = EMPTY
    dated = False
    for run in range(len(runs) + 1):
        own = int(known[runs[run, OWNER], TITLED]) if run < len(runs) else 0
        if not own and not heading:
            continue
        if own != heading:
            if dated:
                titles[heading] = DATED
            elif words >= LEAST_TITLE:
                titles[heading] = TITLE if name != before else 0
                before = name
            heading, words, name, dated = own, 0, EMPTY, False
        if run < len(runs) and own and said[run, WORDS] and not known[own, GONE]:
            words += said[run, WORDS]
            dated = dated or _is_dated(body, runs[run, FROM], runs[run, TO])
            for place in range(runs[run, FROM], runs[run, TO]):
                if not is_space(int(body[place])) and not 48 <= body[place] <= 57:
                    name = grown(name, int(body[place]))
    for element in range(len(elements) - 1, 0, -1):
        parent = elements[element, PARENT]
        titles[parent] = max(titles[parent], titles[element])
