"""Which part of a page is its content: by what its elements mean, what they are called, and where its prose is.

Words are counted so that languages compare: a run of letters and digits, or one Chinese character, kana or syllable of
Hangul. Words outside links are *prose* and weigh ``PROSE`` times as much as those of links: navigation is made of
links, so it weighs little, but a page of nothing else is still found.

1. **What is beside the content goes**: first comments, then navigation, sidebars, footers, headers of the page and what
   is hidden, by element, role, class or id. Names lie, so what is only called so stays if it holds most of the page and
   is not mostly links; and nothing goes that holds the page's ``<main>``.
2. **The content is looked for from the outside in**, beginning with the first ``<main>`` that has some of the page. A
   child takes the place of its parent if it has nearly all that is in it, or if it has more than half and is no mere
   item of a list or table and no section. A *section* begins with a heading of its own, and its parent with one of a
   higher rank, or it has the main heading of the page: that one is a title to the neighbours of the section as well, so
   the parent is the content.
3. **The main heading belongs to it**, wherever it stands: some sites put it into the content, others above.

All limits are shares of what the page itself holds: there are no least lengths and no lists of sites. What stands in
the content stays, its lists, tables, code and links included.
"""

from __future__ import annotations

import html
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from worker.page.markup import BREAKS, FROM, KIND, MARK, NAME, OWNER, PARENT, TO, Rows, is_space, parse
from worker.page.vocabulary import (
    ARTICLE,
    ASIDE,
    CELL,
    HAS_ADDRESS,
    HEADER,
    HEADING,
    HEADINGS,
    ITEM,
    LINK,
    LIST,
    MAIN,
    MARKED_ASIDE,
    MARKED_COMMENTS,
    MARKED_MAIN,
    MARKED_WEAKLY,
    PARAGRAPH,
    PREFORMATTED,
    ROW,
    TABLE,
    TERM,
    TITLE,
    UNSEEN,
    VOCABULARY,
    WHOLE,
    compiled,
)

CONTENT: Final = f"content-1/{VOCABULARY}"
"""Name of all rules from markup to text; a part of the scheme, so change it when a rule changes."""

PROSE: Final = 10
"""Words of links that weigh as much as one of prose. At 5 lists of links hide short articles; at 25 the three words
between the links to the next and last page outweigh a table of contents."""

MOST_COMMENTS: Final = 0.8
"""Share of the page up to which comments go: often there are more of them than article."""
MOST_ASIDE: Final = 0.5
"""Share of the page up to which an element goes that is only called beside the content. At .6 and above articles are
lost whose surroundings are called so as well."""
MOST_WEAK: Final = 0.2
"""The same for a name that means other things as well."""
LEAST_MAIN: Final = 0.1
"""Share of what is left from which on ``<main>`` is believed."""
NEARLY_ALL: Final = 0.85
MORE_THAN_HALF: Final = 0.5

_PARTS: Final = ITEM | TERM | CELL | ROW | LIST | TABLE | PARAGRAPH | PREFORMATTED | HEADING
_NO_CONTAINER: Final = PARAGRAPH | PREFORMATTED | LIST | HEADING

_SEPARATOR, _WORD, _CHARACTER, _WITHIN = range(4)
_PARTS_OF_WORDS: Final = np.full(256, _SEPARATOR, dtype=np.uint8)
"""What each byte of UTF-8 is of a word."""
_PARTS_OF_WORDS[[*range(0x30, 0x3A), *range(0x41, 0x5B), *range(0x61, 0x7B), *range(0xC3, 0x100)]] = _WORD
_PARTS_OF_WORDS[0xE3:0xEE] = _CHARACTER  # U+3000 to U+DFFF: Chinese, kana, Hangul
_PARTS_OF_WORDS[0x80:0xC3] = _WITHIN

Numbers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.uint8]


def main_content(markup: str) -> tuple[str, str | None]:
    """The text of a page's main content, and its title.

    Each run of white space is one blank, and a line ends where a block does.
    """
    body, elements, runs = parse(markup)
    gone, linked, heading, worth, weights, prose = np.zeros((6, max(len(elements), len(runs))), dtype=np.int32)
    _survey(elements, gone, linked, heading)
    _value(body, runs, gone, linked, worth)
    for comments in (True, False):
        _weigh(elements, runs, worth, linked, gone, weights, prose)
        _drop(elements, weights, prose, comments, gone)
    _weigh(elements, runs, worth, linked, gone, weights, prose)
    title = _main_heading(elements, runs, worth, gone, linked, heading)
    top = _content(elements, runs, worth, weights, gone, linked, heading, title)
    text = np.empty(len(body) + len(runs), dtype=np.uint8)
    written = _write(body, elements, runs, gone, top, title, text)
    return html.unescape(text[:written].tobytes().decode("utf-8", "replace")), _title(body, elements, runs)


def _title(body: Any, elements: Rows, runs: Rows) -> str | None:
    run = _title_run(elements, runs)
    if run < 0:
        return None
    begin, end = runs[run, :2].tolist()
    return " ".join(html.unescape(bytes(body[begin:end]).decode("utf-8", "replace")).split()) or None


@compiled("int64(int32[:, ::1], int32[:, ::1])")
def _title_run(elements: Rows, runs: Rows) -> int:
    """The run that is the page's title, or -1."""
    for run in range(len(runs)):
        if elements[runs[run, OWNER], KIND] & TITLE:
            return run
    return -1


@compiled("int64(uint8[::1], int64, int64)")
def words_in(body: Any, begin: int, end: int) -> int:
    """Number of words in these bytes of UTF-8."""
    count = 0
    inside = 0
    for place in range(begin, end):
        part = _PARTS_OF_WORDS[body[place]]
        if part == _WORD:
            count += 1 - inside
            inside = 1
        elif part == _SEPARATOR:
            inside = 0
        elif part == _CHARACTER:
            punctuation = body[place] == 0xE3 and place + 1 < end and body[place + 1] == 0x80
            count += 0 if punctuation else 1
            inside = 0
    return count


@compiled("void(int32[:, ::1], int32[::1], int32[::1], int32[::1])")
def _survey(elements: Rows, gone: Numbers, linked: Numbers, heading: Numbers) -> None:
    """Which elements nobody sees, which stand in a link, and in which heading each stands, 0 for none."""
    for element in range(1, len(elements)):
        parent = elements[element, PARENT]
        kind = elements[element, KIND]
        gone[element] = 1 if gone[parent] or kind & UNSEEN else 0
        linked[element] = 1 if linked[parent] or (kind & LINK and elements[element, MARK] & HAS_ADDRESS) else 0
        heading[element] = element if kind & HEADING else heading[parent]


@compiled("void(uint8[::1], int32[:, ::1], int32[::1], int32[::1], int32[::1])")
def _value(body: Any, runs: Rows, gone: Numbers, linked: Numbers, worth: Numbers) -> None:
    """What the words of each run weigh."""
    for run in range(len(runs)):
        owner = runs[run, OWNER]
        if not gone[owner]:
            worth[run] = words_in(body, runs[run, FROM], runs[run, TO]) * (1 if linked[owner] else PROSE)


@compiled("void(int32[:, ::1], int32[:, ::1], int32[::1], int32[::1], int32[::1], int32[::1], int32[::1])")
def _weigh(
    elements: Rows, runs: Rows, worth: Numbers, linked: Numbers, gone: Numbers, weights: Numbers, prose: Numbers
) -> None:
    """What each element weighs, with all in it that is not gone; and how much of this is prose."""
    weights[:] = 0
    prose[:] = 0
    for run in range(len(runs)):
        owner = runs[run, OWNER]
        if not gone[owner]:
            weights[owner] += worth[run]
            prose[owner] += 0 if linked[owner] else worth[run]
    for element in range(len(elements) - 1, 0, -1):
        weights[elements[element, PARENT]] += weights[element]
        prose[elements[element, PARENT]] += prose[element]


@compiled("boolean(int32[:, ::1], int64)")
def _is_main(elements: Rows, element: int) -> bool:
    return bool(elements[element, KIND] & MAIN) or bool(elements[element, MARK] & MARKED_MAIN)


@compiled("void(int32[:, ::1], int32[::1], int32[::1], boolean, int32[::1])")
def _drop(elements: Rows, weights: Numbers, prose: Numbers, comments: bool, gone: Numbers) -> None:
    """Comments go; or else what is beside the content by its name."""
    holds_main, in_article = np.zeros((2, len(elements)), dtype=np.uint8)
    for element in range(len(elements) - 1, 0, -1):
        if holds_main[element] or _is_main(elements, element):
            holds_main[elements[element, PARENT]] = 1
    for element in range(1, len(elements)):
        parent = elements[element, PARENT]
        kind, mark = elements[element, KIND], elements[element, MARK]
        whole = kind & (MAIN | ARTICLE | WHOLE)
        in_article[element] = 1 if in_article[parent] or kind & (MAIN | ARTICLE) else 0
        if gone[parent]:
            gone[element] = 1
        if gone[element] or holds_main[element]:
            continue
        most = -1.0
        if comments:
            if mark & MARKED_COMMENTS and not whole:
                most = MOST_COMMENTS
        elif kind & ASIDE:
            most = 1.0
        elif (kind & HEADER and not in_article[element]) or (mark & MARKED_ASIDE and not whole):
            most = MOST_ASIDE
        elif mark & MARKED_WEAKLY and not whole:
            most = MOST_WEAK
        navigation = most > 0 and prose[element] <= PROSE * (weights[element] - prose[element])
        if navigation or weights[element] <= most * weights[0]:
            gone[element] = 1


@compiled("int64(int32[:, ::1], int64)")
def _rank(elements: Rows, heading: int) -> int:
    """0 for the highest rank of headings; one more than the lowest for what is no heading."""
    for rank in range(len(HEADINGS)):
        if elements[heading, NAME] == HEADINGS[rank]:
            return rank
    return len(HEADINGS)


@compiled("int64(int32[:, ::1], int32[:, ::1], int32[::1], int32[::1], int32[::1], int32[::1])")
def _main_heading(elements: Rows, runs: Rows, worth: Numbers, gone: Numbers, linked: Numbers, heading: Numbers) -> int:
    """The first of the headings of the highest rank that are not made of links alone; 0 for none."""
    found, best = 0, len(HEADINGS)
    for run in range(len(runs)):
        owner = runs[run, OWNER]
        if worth[run] and heading[owner] and not linked[owner] and not gone[owner]:
            rank = _rank(elements, heading[owner])
            if rank < best:
                found, best = heading[owner], rank
    return int(found)


@compiled("int64(int32[:, ::1], int32[:, ::1], int32[::1], int32[::1], int32[::1], int32[::1], int32[::1], int64)")
def _content(
    elements: Rows,
    runs: Rows,
    worth: Numbers,
    weights: Numbers,
    gone: Numbers,
    linked: Numbers,
    heading: Numbers,
    title: int,
) -> int:
    """The element that holds the content; ``title`` is the main heading."""
    titled, first, heaviest = np.zeros((3, len(elements)), dtype=np.int32)
    while title > 0:
        titled[title] = 1
        title = elements[title, PARENT]
    for run in range(len(runs) - 1, -1, -1):
        if worth[run] and not gone[runs[run, OWNER]]:
            first[runs[run, OWNER]] = run + 1
    top = 0
    for element in range(len(elements) - 1, 0, -1):
        if gone[element]:
            continue
        parent = elements[element, PARENT]
        if first[element] and (not first[parent] or first[element] < first[parent]):
            first[parent] = first[element]
        if not heaviest[parent] or weights[element] >= weights[heaviest[parent]]:
            heaviest[parent] = element
        if _is_main(elements, element) and weights[element] >= LEAST_MAIN * weights[0]:
            top = element
    while True:
        child = int(heaviest[top])
        if not child or not weights[child]:
            return top
        kind = elements[child, KIND]
        if weights[child] >= NEARLY_ALL * weights[top]:
            if kind & _NO_CONTAINER:
                return top
        else:
            part = kind & _PARTS or weights[child] < MORE_THAN_HALF * weights[top]
            own = _rank(elements, heading[runs[first[child] - 1, OWNER]])
            opening = runs[first[top] - 1, OWNER]
            above = _rank(elements, 0 if linked[opening] else heading[opening])
            section = own < len(HEADINGS) and (above < own or (titled[top] and not titled[child]))
            if part or section:
                return top
        top = child


@compiled("int64(uint8[::1], int32[:, ::1], int32[:, ::1], int32[::1], int64, int64, uint8[::1])")
def _write(body: Any, elements: Rows, runs: Rows, gone: Numbers, top: int, title: int, text: Flags) -> int:
    """Write the main heading and all that is left in the content; how many bytes of ``text`` it takes."""
    inside = np.zeros(len(elements), dtype=np.uint8)
    inside[top] = inside[title] = 1
    inside[0] = 1 if top == 0 else 0
    for element in range(1, len(elements)):
        if inside[elements[element, PARENT]] and not gone[element]:
            inside[element] = 1
    written = 0
    breaks = False
    for run in range(len(runs)):
        breaks = breaks or runs[run, BREAKS] == 1
        if not inside[runs[run, OWNER]]:
            continue
        for place in range(runs[run, FROM], runs[run, TO]):
            if not is_space(int(body[place])):
                if breaks and written:
                    if text[written - 1] == 32:
                        written -= 1
                    text[written] = 10
                    written += 1
                breaks = False
                text[written] = body[place]
                written += 1
            elif written and not breaks and text[written - 1] != 32:
                text[written] = 32
                written += 1
    return written
