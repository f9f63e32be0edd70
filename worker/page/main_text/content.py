"""Which part of a page is its content: by the meaning of its elements, by their names, and by where its prose is.

Words are counted so that languages compare: a run of letters and digits, or one Chinese character, kana or syllable of
Hangul. Words outside links are *prose*. In a *long line*, of eight and more, they weigh ``PROSE`` times as much as
words of links, in a short line ``SHORT`` times: navigation is made of links, and teasers of short lines, so both weigh
little, but a page of nothing else is still found.

1. **Everything outside the content goes** (``beside``): first comments, then navigation, sidebars, footers, headers of
   the page and hidden parts, by element, role, class or id. Names lie, so they are doubted where they would take too
   much; and nothing goes that holds the page's ``<main>``.
2. **The content is looked for from the outside in**, beginning with the first ``<main>`` that has some of the page. A
   child takes the place of its parent if it has nearly all of the parent's content; or if it has more than half and is
   no mere item of a list or table, no section, no introduction, and no page in pieces. A *section* begins with a
   heading of its own, and its parent with a heading of a higher rank, or with prose under no heading, or the section
   has the main heading of the page: that heading is a title to the neighbours of the section as well, so the parent is
   the content. An *introduction* has a few sentences, and fewer words than the links next to it: they are a list; but a
   part under the main heading, without it, is no introduction. A page is *in pieces* where the child's prose stands in
   several blocks and its neighbours have prose as well.
3. **The main heading belongs to it**, wherever it stands: some sites put it into the content, others above.

All limits are shares of the page's own content, and there are no lists of sites. Everything in the content stays,
including its lists, tables, code and links; but a notice that asks for scripts, or to wait for them, is no content.
``rules`` names each rule and its reason.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from worker.compiling import COMPILED
from worker.page.canonical import NamedByHead, named_by
from worker.page.elements.frames import with_frames
from worker.page.elements.markup import KIND, NAME, PARENT, Rows, is_space, parse
from worker.page.elements.parsed import BREAKS, FROM, OWNER, TO, Parsed
from worker.page.elements.vocabulary import (
    CELL,
    ELEMENT_OF,
    HEADING,
    HEADINGS,
    ITEM,
    LIST,
    PARAGRAPH,
    PREFORMATTED,
    RAW,
    ROW,
    TABLE,
    TERM,
    VOCABULARY,
    compiled,
    lean,
)
from worker.page.elements.vocabulary import TITLE as TITLE_ELEMENT
from worker.page.elements.xml import XmlText, parse_xml, told_by
from worker.page.embedded.pictures import pictures
from worker.page.embedded.prose import as_page
from worker.page.embedded.told import Told, told_instead
from worker.page.embedded.unread import unread_prose
from worker.page.main_text.beside import drop_beside, is_for_no_scripts, is_main, is_on
from worker.page.main_text.neighbours import drop_linked_lines, drop_neighbours
from worker.page.main_text.posts import drop_posts
from worker.page.main_text.repeats import drop_repeated
from worker.page.main_text.rules import (
    ALL,
    ANOTHER_PAGES,
    EMBEDDED,
    HIDDEN,
    LINKED_LINES,
    LISTING,
    NAMES,
    NO_SCRIPTS,
    NOTICE,
    OUTSIDE,
    REPEATED,
    SECTIONS,
    TITLE,
    UNSEEN,
)
from worker.page.main_text.shown import hide
from worker.page.main_text.tally import (
    BRIEF,
    ELSEWHERE,
    FLOW,
    GONE,
    LINKED,
    LINKS,
    LONG,
    OF_ELEMENTS,
    OF_RUNS,
    TAKEN,
    TITLED,
    WORDS,
    blank_line_numbers,
    survey,
    weight,
    words_in,
    words_of,
)
from worker.page.main_text.title_evidence import LONGEST_TITLE, is_announced, rank_of
from worker.page.references import unescaped

CONTENT: Final = f"content-9/{VOCABULARY}"
"""Name of all rules from markup to text; a part of the scheme, so change it when a rule changes."""

LEAST_MAIN: Final = 0.1
"""With this share of what is left or more, ``<main>`` is believed."""
NEARLY_ALL: Final = 0.85
MORE_THAN_HALF: Final = 0.5

LEAST_PROSE: Final = 10
"""Words of long lines that a neighbour must have to count; and words outside links that a page must have to be compared
by more than its whole text."""
_BARE: Final = f"it has fewer than {LEAST_PROSE} words outside links"
LEAST_TOTAL: Final = 30
"""Words, links included, with which a page of links is compared by some of them."""
MOST_LINKED: Final = 0.1
"""Share of links in such a neighbour. Teasers have more."""
NEIGHBOURS: Final = 0.2
"""Share of the prose that neighbours must have."""
ONE_PIECE: Final = 0.6
"""Share of a child's prose that stands in one block of an article. With .85 landing pages keep more of their prose, and
other text that a site writes below its articles is taken for pieces of them."""

MOST_OF_THREAD: Final = 0.7
"""Share of a thread's prose up to which one post is left for all of them."""

AN_INTRODUCTION: Final = 80
"""The longest text of a part that may introduce a list has fewer words in long lines than this. With 60, introductions
of shops are taken for articles; without a limit, short news among links to others are lost."""

LONGEST_CAPTION: Final = 40
"""Words outside links, and in links, of a text that may stand under a picture or a player."""

_PARTS: Final = ITEM | TERM | CELL | ROW | LIST | TABLE | PARAGRAPH | PREFORMATTED | HEADING
_NO_CONTAINER: Final = PARAGRAPH | PREFORMATTED | LIST | HEADING

_AMPERSAND: Final = 0x26

Flags = npt.NDArray[np.uint8]


class Content(NamedTuple):
    """The text of a page's main content, with a line where a block is, and the page's title.

    ``bare`` says why the text is not enough to tell the page from others by some of it, None if it is. ``linked``: most
    of its words are those of links. ``named`` are the addresses in its head. ``short``: its words are so few that it
    may be the template's. ``pictures`` are the names of what comes with a short text: pictures or players that are
    shown, and prose that is unread. ``words`` are those outside links.
    """

    text: str
    title: str | None
    bare: str | None = None
    linked: bool = False
    named: NamedByHead | None = None
    short: bool = False
    pictures: tuple[str, ...] = ()
    words: int = 0


class PageBlock(NamedTuple):
    """A line of the page as it is read, and the name of the rule that dropped it, None where it is kept.

    ``unseen_in`` names the outermost element that is not shown, or whose own text is not; None if the line is shown.
    ``origin`` is where a line stands that is kept although it is not shown.
    """

    text: str
    dropped_by: str | None
    unseen_in: str | None = None
    origin: str | None = None


class _Decided(NamedTuple):
    """A parsed page, the known facts on its elements, the element with the content, the rule that drops each run, 0 for
    none, and the words of links, of long lines and of short ones in the content."""

    parsed: Parsed
    known: Rows
    top: int
    dropped: npt.NDArray[np.int32]
    counts: tuple[int, int, int]


def main_content(markup: str | bytes, off: int = ALL, *, xml: bool = False) -> Content:
    """The main content of a page, as text or in UTF-8. Each run of white space is one blank. Rules whose bits are set
    in ``off`` are off. ``xml``: the page is read by the rules of XML."""
    parsed = parse_xml(markup) if xml else with_frames(parse(markup))
    if xml and (read := told_by(parsed)):
        return _content_of_xml(read)
    page = _decided(parsed, off)
    content, title, named = _text(page), _title(page), named_by(parsed)
    if told := _told(page, content, title, off):
        return _content_of(told, title, off)._replace(named=named)
    links, long, brief = page.counts
    if links + long + brief <= LONGEST_NOTICE and is_on(NOTICE, off) and is_notice(content):
        return Content("", title, named=named)
    few = links + long + brief < LEAST_TOTAL and long + brief < LEAST_PROSE
    short = max(links, long + brief) <= LONGEST_CAPTION
    shown = pictures(parsed, page.known[:, GONE], page.top) if short else ()
    if short and is_on(EMBEDDED, off):
        shown += unread_prose(page.parsed, page.dropped != UNSEEN, links + long + brief)
    return Content(content, title, _BARE if few else None, links > long + brief, named, short, shown, long + brief)


def instead_of_title(markup: str | bytes) -> tuple[str, str]:
    """What tells a page of HTML from others of its site where its title does not: its first ``<h1>`` that leads to no
    other page, and all text that is shown."""
    page = _decided(with_frames(parse(markup)), ALL)
    owners = page.parsed.runs[:, OWNER]
    shown = ~np.isin(page.dropped, (UNSEEN, HIDDEN))
    headings = np.where(shown & (page.known[owners, LINKED] != ELSEWHERE), page.known[owners, TITLED], 0)
    headings[page.parsed.elements[headings, NAME] != HEADINGS[0]] = 0
    runs = np.flatnonzero(headings).tolist()
    texts = (
        " ".join("".join(map(page.parsed.text, together)).split())
        for _, together in groupby(runs, key=headings.__getitem__)
    )
    return next(filter(None, texts), ""), _text(page._replace(dropped=np.where(shown, 0, UNSEEN).astype(np.int32)))


def _content_of_xml(told: XmlText) -> Content:
    text = "\n".join(told.lines)
    body = bytearray(text.encode())
    few = words_in(np.frombuffer(body, dtype=np.uint8) if COMPILED else body, 0, len(body)) < LEAST_PROSE
    return Content(text, told.title, _BARE if few else None, named=NamedByHead())


def blocks(markup: str, *, xml: bool = False) -> list[PageBlock]:
    """All text of a page in the order of the page, line by line, kept or dropped; without styles and scripts."""
    parsed = parse_xml(markup) if xml else with_frames(parse(markup))
    if xml and (read := told_by(parsed)):
        return [PageBlock(line, None) for line in read.lines]
    page = _decided(parsed, ALL)
    told = _told(page, _text(page), _title(page), ALL)
    notice = NAMES[EMBEDDED] if told else None if main_content(markup, xml=xml).text.strip() else NAMES[NOTICE]
    found = []
    lines = np.cumsum(page.parsed.runs[:, BREAKS]).tolist()
    unseen = [_unseen_in(page, run) if rule == UNSEEN else None for run, rule in enumerate(page.dropped.tolist())]
    numbered = enumerate(zip(lines, page.dropped.tolist(), unseen, strict=True))
    for (_, rule, element), runs in groupby(numbered, key=lambda run: run[1]):
        shown = " ".join("".join(page.parsed.text(number) for number, _ in runs).replace("\0", "").split())
        if shown:
            found.append(PageBlock(shown, NAMES[rule] if rule else notice, element))
    text = _content_of(told, None, ALL).text if told else ""
    return [*found, *(PageBlock(line, None, origin=told.origin) for line in text.splitlines() if told)]


def _unseen_in(page: _Decided, run: int) -> str:
    """The outermost element around an unseen run that is not shown itself, or the element that holds the run."""
    elements = page.parsed.elements
    element = int(page.parsed.runs[run, OWNER])
    while page.known[element, GONE] and page.known[elements[element, PARENT], GONE]:
        element = int(elements[element, PARENT])
    return ELEMENT_OF.get(int(elements[element, NAME]), "")


def _decided(page: Parsed, off: int) -> _Decided:
    body, elements, runs, _ = page
    blank_line_numbers(body, elements, runs)
    known = np.zeros((len(elements), OF_ELEMENTS), dtype=np.int32)
    dropped = np.zeros(len(runs), dtype=np.int32)
    top = _decide(body, elements, runs, known, dropped, off)
    counts = known[top].tolist()
    return _Decided(page, known, top, dropped, (counts[LINKS], counts[LONG], counts[BRIEF]))


def _text(page: _Decided) -> str:
    body, elements, runs, _ = page.parsed
    text = np.empty(2 * (len(body) + len(runs)), dtype=np.uint8)
    written = _write(body, elements, runs, page.dropped, text)
    return unescaped(str(text[:written].data, "utf-8", "replace")).replace("\0", "")


def _told(page: _Decided, content: str, title: str | None, off: int) -> Told | None:
    """The text in scripts that replaces the content."""
    if not is_on(EMBEDDED, off):
        return None
    return told_instead(page.parsed, title, content, sum(page.counts))


def _content_of(told: Told, title: str | None, off: int) -> Content:
    """It is read by the rules of all pages. Its own title replaces one that says nothing of it, such as a shell's."""
    found = main_content(as_page(told.title, told.texts), off | 1 << EMBEDDED)
    own = told.title if not title or not is_announced(found.text, title[:LONGEST_TITLE]) else None
    return found._replace(title=own or title)


def _title(page: _Decided) -> str | None:
    run = _title_run(page.parsed.elements, page.parsed.runs)
    return None if run < 0 else " ".join(page.parsed.text(run).split()) or None


@lean("int64(int32[:, ::1], int32[:, ::1])", entry=True)
def _title_run(elements: Rows, runs: Rows) -> int:
    """The run that is the page's title, or -1."""
    for run in range(len(runs)):
        if elements[runs[run, OWNER], KIND] & TITLE_ELEMENT:
            return run
    return -1


@lean("int64(int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1])")
def _main_heading(elements: Rows, runs: Rows, known: Rows, said: Rows) -> int:
    """The first of the headings of the highest rank that are not made of links alone; 0 for none."""
    found, best = 0, len(HEADINGS)
    for run in range(len(runs)):
        owner = runs[run, OWNER]
        if said[run, WORDS] and known[owner, TITLED] and not known[owner, LINKED] and not known[owner, GONE]:
            rank = rank_of(elements, known[owner, TITLED])
            if rank < best:
                found, best = known[owner, TITLED], rank
    return int(found)


@lean("boolean(int32[:, ::1], int64)")
def _has_prose(known: Rows, element: int) -> bool:
    """Whether it is a neighbour that counts."""
    few_links = known[element, LINKS] <= MOST_LINKED * words_of(known, element)
    return bool(known[element, LONG] >= LEAST_PROSE and few_links)


@lean("boolean(int32[:, ::1], int64, int64, int64)")
def _in_pieces(known: Rows, top: int, child: int, long: int) -> bool:
    """Whether the neighbours of a child have prose as well, of ``long`` words with its own, and it consists of
    pieces."""
    if _has_prose(known, child):
        long -= known[child, LONG]
    return bool(long > NEIGHBOURS * known[top, LONG] and known[child, FLOW] < ONE_PIECE * known[child, LONG])


@lean("boolean(int32[:, ::1], int64, int64)")
def _introduces(known: Rows, top: int, child: int) -> bool:
    """Whether a child is a few sentences before or after links of more words."""
    longest = known[child, FLOW] if known[child, FLOW] else known[child, LONG]  # for a block without blocks, its own
    beside = known[top, LINKS] - known[child, LINKS]
    return bool(longest < AN_INTRODUCTION and words_of(known, child) < beside)


@compiled("int64(int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int64, int64)")
def _content(elements: Rows, runs: Rows, known: Rows, said: Rows, title: int, off: int) -> int:
    """The element that holds the content; ``title`` is the main heading."""
    titled, first, heaviest, long, onward = np.zeros((5, len(elements)), dtype=np.int32)
    while title > 0:
        titled[title] = 1
        title = elements[title, PARENT]
    for run in range(len(runs) - 1, -1, -1):
        if said[run, WORDS] and not known[runs[run, OWNER], GONE]:
            first[runs[run, OWNER]] = run + 1
    top = 0
    for element in range(len(elements) - 1, 0, -1):
        if known[element, GONE]:
            continue
        parent = elements[element, PARENT]
        if first[element] and (not first[parent] or first[element] < first[parent]):
            first[parent] = first[element]
        if not heaviest[parent] or weight(known, element) >= weight(known, heaviest[parent]):
            heaviest[parent] = element
        if _has_prose(known, element):
            long[parent] += known[element, LONG]
        onward[element] = long[parent]
        if is_main(elements, element) and weight(known, element) >= LEAST_MAIN * weight(known, 0):
            top = element
    while True:
        child = int(heaviest[top])
        if not child or not weight(known, child):
            return top
        kind = elements[child, KIND]
        if weight(known, child) >= NEARLY_ALL * weight(known, top):
            if kind & _NO_CONTAINER:
                return top
        else:
            part = kind & _PARTS or weight(known, child) < MORE_THAN_HALF * weight(known, top)
            own = rank_of(elements, known[runs[first[child] - 1, OWNER], TITLED])
            opening = runs[first[top] - 1, OWNER]
            above = rank_of(elements, 0 if known[opening, LINKED] else known[opening, TITLED])
            untitled = titled[top] and not titled[child]
            untold = above == len(HEADINGS) and not titled[child]
            follows = untold and long[top] - onward[child] > NEIGHBOURS * known[top, LONG]
            section = own < len(HEADINGS) and (above < own or untitled or follows)
            if part or section or (is_on(LISTING, off) and not untitled and _introduces(known, top, child)):
                return top
            if is_on(SECTIONS, off) and _in_pieces(known, top, child, long[top]):
                return top
        top = child


@compiled("int64(uint8[::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[::1], int64)", entry=True)
def _decide(body: Any, elements: Rows, runs: Rows, known: Rows, dropped: Any, off: int) -> int:
    """Apply all rules, and fill ``known`` and ``dropped``; returns the element that holds the content."""
    said = np.zeros((len(runs), OF_RUNS), dtype=np.int32)
    has_noscript = hide(body, elements, runs, False, known, said)
    survey(elements, runs, known, said)
    if has_noscript and not (is_on(NO_SCRIPTS, off) and is_for_no_scripts(elements, runs, known, said)):
        hide(body, elements, runs, True, known, said)
        survey(elements, runs, known, said)
    drop_beside(body, elements, runs, known, said, off)
    thread = drop_posts(body, elements, runs, known, said, off)
    if is_on(ANOTHER_PAGES, off) and not thread:
        drop_neighbours(body, elements, runs, known, said)
    title = _main_heading(elements, runs, known, said)
    top = _content(elements, runs, known, said, title, off) if is_on(OUTSIDE, off) else 0
    if known[top, LONG] <= MOST_OF_THREAD * known[thread, LONG]:
        while top > thread > 0:
            top = elements[top, PARENT]
    inside = np.zeros(len(elements), dtype=np.uint8)
    inside[top] = 1
    if is_on(TITLE, off):
        inside[title] = 1
    inside[0] = 1 if top == 0 else 0
    for element in range(1, len(elements)):
        if inside[elements[element, PARENT]] and not known[element, GONE]:
            inside[element] = 1
    for run in range(len(runs)):
        owner = runs[run, OWNER]
        if said[run, TAKEN]:
            dropped[run] = said[run, TAKEN]
        elif not inside[owner]:
            dropped[run] = known[owner, GONE] if known[owner, GONE] else OUTSIDE
    if is_on(LINKED_LINES, off) and not thread:
        drop_linked_lines(body, elements, runs, known, said, top, dropped)
    if is_on(REPEATED, off):
        drop_repeated(body, runs, said, dropped)
    return int(top)


@lean("int64(uint8[::1], int32[:, ::1], int32[:, ::1], int32[::1], uint8[::1])", entry=True)
def _write(body: Any, elements: Rows, runs: Rows, dropped: Any, text: Flags) -> int:
    """Write all that no rule drops; returns how many bytes of ``text`` it takes. A NUL stands where a character
    reference must not go on: after each ``&`` of raw text, and between two runs."""
    written = 0
    breaks = False
    for run in range(len(runs)):
        breaks = breaks or runs[run, BREAKS] == 1
        if dropped[run]:
            continue
        raw = elements[runs[run, OWNER], KIND] & RAW
        if written and not breaks and text[written - 1] != 32:
            text[written] = 0
            written += 1
        place, end = int(runs[run, FROM]), int(runs[run, TO])
        while place < end and is_space(int(body[place])):
            if written and not breaks and text[written - 1] != 32:
                text[written] = 32
                written += 1
            place += 1
        if place == end:
            continue
        if breaks and written:
            if text[written - 1] == 32:
                written -= 1
            text[written] = 10
            written += 1
        breaks = False
        # A processor guesses worst where words end: so arithmetic decides whether a written byte stays.
        blank = 0
        for at in range(place, end):
            byte = int(body[at])
            is_blank = int((byte == 32) | ((byte >= 9) & (byte <= 13)))
            text[written] = 32 if is_blank else byte
            written += 1 - (is_blank & blank)
            blank = is_blank
            if raw and byte == _AMPERSAND:
                text[written] = 0
                written += 1
    return written


LONGEST_NOTICE: Final = 40
"""Most words of a notice. A page about scripts has more."""
_LONGEST_WAIT: Final = 8

_SCRIPTS: Final = re.compile(r"\bjava ?script\b", re.IGNORECASE)
_ASKS: Final = re.compile(
    r"enable|disabled|turn(ed)? (it )?on|activate|requires?\b|without|browser|aktivier|activer|activez|habilit|activa"
    r"|abilita|ativ[ae]|inschakel|schakel|включ|отключ|увімкн|włącz|zapn|engedély|activați|etkinleştir|ενεργοπο"
    r"|aktifkan|bật|启用|开启|啟用|開啟|浏览器|瀏覽器|有効|활성화|브라우저|تفعيل|فعال|सक्षम|הפעל|เปิดใช้",
    re.IGNORECASE,
)
_WAITS: Final = re.compile(
    r"\b(loading|please wait|just a moment|checking your browser|redirecting|laden|wird geladen|lädt|bitte warten"
    r"|chargement|veuillez patienter|cargando|espere|caricamento|attendere|carregando|aguarde|загрузка|загружается"
    r"|подождите|завантаження|зачекайте|ładowanie|wczytywanie|proszę czekać|načítání|betöltés|se încarcă|yükleniyor"
    r"|lütfen bekleyin|φόρτωση|memuat|mohon tunggu|đang tải)\b"
    r"|加载中|载入中|載入中|請稍候|请稍候|正在加载|読み込み中|読込中|お待ちください|로딩|불러오는 중|잠시만"
    r"|جار[ٍي]? التحميل|در حال بارگذاری|טוען|लोड हो रहा|กำลังโหลด",
    re.IGNORECASE,
)


def is_notice(text: str) -> bool:
    """Whether a text of few words asks for scripts, or a text of very few says that the page is still to come."""
    if _SCRIPTS.search(text) and _ASKS.search(text):
        return True
    return len(text.split()) <= _LONGEST_WAIT and _WAITS.search(text) is not None
