"""Which headings say what the page's title says, and which lead to other pages."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from worker.page.elements.markup import FROM, KIND, NAME, OWNER, TO, Rows, is_space
from worker.page.elements.vocabulary import (
    EMPTY,
    HEADINGS,
    TITLE,
    compiled,
    grown,
)
from worker.page.main_text.tally import ELSEWHERE, GONE, LINKED, TITLED

MOST_WORDS: Final = 48
"""Words of a title that are looked at."""
SAME: Final = 0.75
"""Share of the words of a heading, or of the title, that the other has where they say the same."""
LEAST_SAME: Final = 0.25
"""Share of the title's words that such a heading has: "Whales" is not what "Whales of the cold seas and their young"
says."""
MOST_LINKED: Final = 0.75
"""Share of a heading's words from which on it leads elsewhere."""
LEAST_COUNTED, MOST_COUNTED = 3, 199
"""A number in a title says how many things are told of; others are years and prices."""

SAYS, LEADS = 1, 2
"""What a heading means: it says what the title says, or leads to another page."""

Column = npt.NDArray[np.int32]
Flags = npt.NDArray[np.uint8]


@compiled("int64(int32[:, ::1], int64)")
def rank_of(elements: Rows, heading: int) -> int:
    """0 for the highest rank of headings; one more than the lowest for what is no heading."""
    for rank in range(len(HEADINGS)):
        if elements[heading, NAME] == HEADINGS[rank]:
            return rank
    return len(HEADINGS)


@compiled("int64(uint8[::1], int64, int64, int64[::1])")
def _next_word(body: Any, place: int, end: int, word: Any) -> int:
    """Where the next word ends; ``word`` holds its hash, 0 if there is none. Words are those of ``tally.words_in``."""
    name = EMPTY
    while place < end:
        byte = int(body[place])
        if 0xE3 <= byte < 0xEE and place + 2 < end:
            if name != EMPTY:
                break
            if byte != 0xE3 or body[place + 1] != 0x80:  # no punctuation
                word[0] = grown(grown(grown(EMPTY, byte), int(body[place + 1])), int(body[place + 2]))
                return place + 3
            place += 3
            continue
        upper = 65 <= byte <= 90
        if upper or 97 <= byte <= 122 or 48 <= byte <= 57 or byte >= 0xC3 or (byte >= 0x80 and name != EMPTY):
            name = grown(name, byte + 32 if upper else byte)
        elif name != EMPTY:
            break
        place += 1
    word[0] = name if name != EMPTY else 0
    return place


@compiled("boolean(int64)")
def _parts_numbers(character: int) -> bool:
    """Whether a number may begin or end at it: no point of a price, no stroke of a date."""
    return is_space(character) or character >= 128


@compiled("int64(uint8[::1], int64, int64)")
def _count_in(body: Any, begin: int, end: int) -> int:
    """The first number of a title that may be that of the things it tells of, 0 for none."""
    place = begin
    while place < end:
        number, first = 0, place
        while place < end and 48 <= body[place] <= 57:
            number = min(10 * number + int(body[place]) - 48, MOST_COUNTED + 1)
            place += 1
        parted = first == begin or _parts_numbers(int(body[first - 1]))
        parted = parted and (place == end or _parts_numbers(int(body[place])))
        if parted and LEAST_COUNTED <= number <= MOST_COUNTED:
            return number
        place = max(place, first + 1)
    return 0


@compiled("UniTuple(int64, 2)(uint8[::1], int32[:, ::1], int32[:, ::1], int64[::1])")
def _read_title(body: Any, elements: Rows, runs: Rows, title: Any) -> tuple[int, int]:
    """Write the distinct words of the page's title: how many there are, and the number of things that it tells of."""
    word = np.zeros(1, dtype=np.int64)
    for run in range(len(runs)):
        if elements[runs[run, OWNER], KIND] & TITLE:
            found, place, end = 0, int(runs[run, FROM]), int(runs[run, TO])
            counted = _count_in(body, place, end)
            while place < end and found < MOST_WORDS:
                place = _next_word(body, place, end, word)
                new = word[0] != 0
                for other in range(found):
                    new = new and title[other] != word[0]
                if new:
                    title[found] = word[0]
                    found += 1
            return found, counted
    return 0, 0


@compiled("UniTuple(int64, 2)(uint8[::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[::1], uint8[::1])")
def read_headings(
    body: Any, elements: Rows, runs: Rows, known: Rows, headings: Column, means: Flags
) -> tuple[int, int]:
    """Write the headings that have words, in the order of the page, and what each of them ``means``: that it says what
    the title says, or leads to another page; how many there are, none without a title, and the number of things that
    the title tells of, 0 for none."""
    title = np.zeros(MOST_WORDS, dtype=np.int64)
    of_title, counted = _read_title(body, elements, runs, title)
    if not of_title:
        return 0, 0
    count = current = words = linked = same = found = 0
    word = np.zeros(1, dtype=np.int64)
    for run in range(len(runs) + 1):
        heading = int(known[runs[run, OWNER], TITLED]) if run < len(runs) else 0
        if heading != current:
            if words:
                distinct = 0
                while found:
                    distinct += found & 1
                    found >>= 1
                within = same >= SAME * words and distinct >= LEAST_SAME * of_title
                if within or distinct >= SAME * of_title:
                    means[current] = SAYS
                elif linked >= MOST_LINKED * words:
                    means[current] = LEADS
                headings[count] = current
                count += 1
            current = heading
            words = linked = same = found = 0
        place, end = (int(runs[run, FROM]), int(runs[run, TO])) if heading else (0, 0)
        while place < end:
            place = _next_word(body, place, end, word)
            if word[0]:
                words += 1
                linked += 1 if known[runs[run, OWNER], LINKED] == ELSEWHERE else 0
                for other in range(of_title):
                    if title[other] == word[0]:
                        found |= 1 << other
                        same += 1
                        break
    return count, counted


@compiled("UniTuple(int64, 2)(int32[:, ::1], int32[:, ::1], int32[::1], uint8[::1])")
def own_heading(elements: Rows, known: Rows, headings: Column, means: Flags) -> tuple[int, int]:
    """The first of the highest rank of those that say the title, 0 for none; and its rank, -1 where it stands below a
    higher one that says another thing: that one may be the heading of a list, and it that of an item."""
    own, best, above = 0, len(HEADINGS), len(HEADINGS)
    shape = -1
    for heading in headings:
        rank = rank_of(elements, heading)
        if means[heading] == SAYS:
            if rank < best:
                own, best = heading, rank
                shape = rank if rank <= above else -1
        elif not means[heading] and not known[heading, GONE]:
            above = min(above, rank)
    return own, shape
