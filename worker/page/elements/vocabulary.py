"""The meaning of element names, and of the names that authors give to parts of their pages.

A *kind* is a set of bits that an element has by its name (HTML Living Standard, sections 4, 13.1.2 and 13.2.6). A
*mark* is a set of bits that it has by its attributes: role, class and id.

Names and words are looked up by their hashes, of 31 bits: with some two hundred entries, an unknown name is mistaken
for a known one by chance in one of ten million.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from worker.compiling import Function, compiler_of

VOCABULARY: Final = "words-5"
"""Name of these lists; a part of the scheme, so change it when they change."""

# Kinds of elements.
BLOCK: Final = 1 << 0
"""Begins and ends a line of text."""
INLINE: Final = 1 << 1
"""Stands in a line; elements that HTML does not know are neither, like those of XML."""
VOID: Final = 1 << 2
RAW: Final = 1 << 3
"""Its content up to its end tag is no markup."""
UNSEEN: Final = 1 << 4
"""Its content is not shown, or no text."""
BREAK: Final = 1 << 5
PARAGRAPH: Final = 1 << 6
HEADING: Final = 1 << 7
LINK: Final = 1 << 8
ITEM: Final = 1 << 9
TERM: Final = 1 << 10
LIST: Final = 1 << 11
CELL: Final = 1 << 12
ROW: Final = 1 << 13
TABLE: Final = 1 << 14
PREFORMATTED: Final = 1 << 15
ASIDE: Final = 1 << 16
"""Outside the content by its meaning: navigation, sidebar, footer, dialog."""
HEADER: Final = 1 << 17
MAIN: Final = 1 << 18
ARTICLE: Final = 1 << 19
SECTION: Final = 1 << 20
WHOLE: Final = 1 << 21
"""The document or its body."""
TITLE: Final = 1 << 22
NOSCRIPT: Final = 1 << 23
"""Shown to readers that run no scripts, such as a crawler."""
BUTTON: Final = 1 << 24
TITLING: Final = 1 << 25
"""Names the content after it: a heading, the summary of details, a term."""
SHOWN_IF_MARKED: Final = 1 << 26
"""Unseen, unless an attribute says otherwise: ``MARKED_SHOWN``."""
SCOPE: Final = 1 << 28
"""Its content closes no element around it."""
SIBLING: Final = 1 << 29
"""Ends where another such element begins."""
NOT_HTML: Final = 1 << 30
"""SVG or MathML, and their content."""

# Marks of elements.
MARKED_COMMENTS: Final = 1 << 0
MARKED_ASIDE: Final = 1 << 1
"""Navigation, advertising and the like, by class or id."""
MARKED_WEAKLY: Final = 1 << 2
"""The same, by a word that means other things as well."""
MARKED_MAIN: Final = 1 << 3
HAS_ADDRESS: Final = 1 << 4
MARKED_HIDDEN: Final = 1 << 5
MARKED_ROLE: Final = 1 << 6
"""Navigation and the like by its role, which means as much as an element does."""
MARKED_NUMBERED: Final = 1 << 16
"""A column of numbers next to a listing, by its name."""
MARKED_CONSENT: Final = 1 << 17
"""Asks for consent to cookies, by class or id."""
MARKED_TAB: Final = 1 << 18
"""A panel of tabs, by its role or class."""
MARKED_SHOWN: Final = 1 << 7
"""A text area to be read, the template of a shadow root."""
MARKED_TITLING: Final = 1 << 8
"""A heading by its role."""
MARKED_SIZELESS: Final = 1 << 9
"""Its letters have no size, by its style."""
MARKED_SIZED: Final = 1 << 10
"""Its letters have a size, whatever stands around it."""
MARKED_FOLDED: Final = 1 << 11
"""Hidden if it stands in a line, where no script unfolds it."""
HAS_PLACE: Final = 1 << 12
"""Its address is a place on the same page."""
MARKED_CAPTION: Final = 1 << 13
"""Of a picture, if its name is a sentence; names of products have this class, too."""
MARKED_POST: Final = 1 << 14
"""A part of a thread."""
MARKED_SIGNATURE: Final = 1 << 15
"""The part that an author puts under each post, by class or id."""
IN_HEAD: Final = 1 << 30
"""Stands in the head of the document, whether that has tags or not."""

_ELEMENTS: Final = {
    "address blockquote center details dir div dl fieldset figcaption figure form hgroup hr p pre listing xmp summary "
    "table caption thead tbody tfoot tr td th ul ol menu li dd dt h1 h2 h3 h4 h5 h6 article section main header footer "
    "nav aside dialog search html head body frameset noframes title option optgroup colgroup plaintext": BLOCK,
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr output q rp rt ruby s samp "
    "small span strike strong sub sup time tt u var img wbr br image rb rtc map slot mi mn mo ms mtext": INLINE,
    "area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr": VOID,
    "script style title textarea iframe noembed noframes xmp plaintext": RAW,
    "script style title textarea iframe noembed noframes noscript template svg select button object audio video canvas "
    "datalist meter progress rp rt rtc": UNSEEN,
    "textarea template": SHOWN_IF_MARKED,
    "br legend textarea template": BREAK,
    "p": PARAGRAPH,
    "h1 h2 h3 h4 h5 h6": HEADING,
    "a": LINK,
    "li": ITEM,
    "dd dt": TERM,
    "ul ol dl menu dir": LIST,
    "td th caption": CELL,
    "tr colgroup": ROW,
    "table": TABLE,
    "pre listing xmp plaintext": PREFORMATTED,
    "nav aside footer dialog menu search figcaption": ASIDE,
    "header": HEADER,
    "main": MAIN,
    "article": ARTICLE,
    "section": SECTION,
    "html body": WHOLE,
    "title": TITLE,
    "noscript": NOSCRIPT,
    "button": BUTTON,
    "option optgroup rb rt rtc rp": SIBLING,
    "template": SCOPE,
    "svg math": NOT_HTML,
    "h1 h2 h3 h4 h5 h6 summary dt th legend caption figcaption": TITLING,
}

_NOT_HTML: Final = {
    "a": LINK,
    "text foreignobject": BLOCK,
    "desc metadata title script style defs symbol clippath mask pattern marker": UNSEEN,
    "annotation annotation-xml mphantom": UNSEEN,
    "tspan textpath mrow mi mn mo ms mtext mspace mfrac msqrt mroot mstyle mpadded menclose msub msup msubsup munder "
    "mover munderover semantics": INLINE,
    # HTML stands in these (section 13.2.6.5)
    "annotation-xml desc foreignobject title mi mn mo ms mtext": SCOPE,
}
"""Elements within SVG and MathML."""

_BREAKOUT: Final = (
    "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta "
    "nobr ol p pre ruby s small span strike strong sub sup table tt u ul var"
)
"""Start tags that end SVG and MathML."""

_HEAD: Final = "html head base basefont bgsound link meta noframes noscript script style template title"
"""Start tags that do not end the head."""

_WORDS: Final = {
    "comment comments commentlist disqus replies respond": MARKED_COMMENTS,
    # navigation
    "nav navbar navigation navigations navmenu sidenav topnav subnav navheader navfooter menu menus submenu breadcrumb "
    "breadcrumbs crumb crumbs pager pagination paging skip headerlink toolbar topbar masthead "
    # next to it and below
    "sidebar sidebars sphinxsidebar aside rail footer foot colophon copyright disclaimer legal legalnotice "
    # other pages
    "related recommend recommended recommendation recommendations suggested readmore trending latest popular "
    "recirc recirculation "
    # to be shared, bought, signed
    "share shares sharing sharebar sharedaddy sharethis addthis addtoany social socials "
    "ad ads adv advert advertisement advertising adsense banner promo promos promotion sponsor sponsored outbrain "
    "taboola newsletter newsletters subscribe subscription signup login popup modal overlay lightbox": MARKED_ASIDE,
    "cookie cookies gdpr consent onetrust cookielaw cookiebot cmplz cky didomi usercentrics truste trustarc osano "
    "iubenda klaro tarteaucitron termly axeptio orejime moove borlabs": MARKED_ASIDE | MARKED_CONSENT,
    "pane": MARKED_TAB,
    "caption captions": MARKED_CAPTION,
    "widget widgets button buttons btn btns cta sr visually": MARKED_WEAKLY,
    "ln lineno linenos linenr linenum linenumber linenumbers gutter": MARKED_NUMBERED,
    # letters between those of a post, which a style sheet hides from readers but which copies contain
    "jammer": MARKED_HIDDEN,
    "post posts poster posting postbit postbody postcontent posttext blockpost firstpost forumpost forumposts cpost "
    "message messages msg topic topics thread threads discussion discussions question questions answer answers "
    "forum forums bbs": MARKED_POST,
    "signature postsignature sig": MARKED_SIGNATURE,
}

_ROLES: Final = {
    "navigation banner contentinfo complementary search dialog alert alertdialog menu menubar toolbar tablist "
    "tooltip": MARKED_ROLE,
    "main article": MARKED_MAIN,
    "tabpanel": MARKED_TAB,
    "heading": MARKED_TITLING,
}

_ATTRIBUTES: Final = (
    *("class", "id", "role", "hidden", "style", "aria-hidden", "href", "rel", "hreflang", "media", "property", "name"),
    *("content", "http-equiv", "charset", "type", "src", "srcset", "alt", "srcdoc", "data", "poster"),
    "data-src data-lazy-src data-original data-srcset data-lazy-srcset",
    *("lang", "readonly", "disabled", "shadowrootmode", "popover", "videoid data-videoid data-video-id"),
    "data-page data-preloaded props",
)
"""All attributes that are read, in at most 31 groups: of a group, an element's first attribute counts."""

_VALUED: Final = {
    "link": "rel href hreflang media",
    "base": "href",
    "meta": "property name content http-equiv charset",
    "script": "type id src",
    "img amp-img": "src srcset data-src alt",
    "iframe": "src srcdoc data-src",
    "embed": "src",
    "object": "data",
    "video": "src poster data-src data-video-id",
    "audio": "src data-src",
    "source": "src srcset data-src",
    "lite-youtube lite-vimeo amp-youtube amp-vimeo amp-dailymotion amp-brightcove video-js": "videoid",
    "div astro-island": "data-page",
    "html": "lang",
    "content": "type",
    "summary": "type",
    "title": "type",
}
"""Elements for which the places of some attributes are kept, with all of their groups."""

compiled: Final = compiler_of(
    "worker.page",
    [f"elements/{name}" for name in ("vocabulary", "search", "tags", "styles", "markup", "xml")]
    + [f"main_text/{name}" for name in ("rules", "tally", "shown", "beside", "dates", "threads", "posts")]
    + [f"main_text/{name}" for name in ("title_evidence", "neighbours", "repeats", "content")],
)
"""Makes the kernels of these files."""


def lean(signature: str, *, entry: bool = False, inline: bool = False) -> Callable[[Function], Function]:
    """The same for functions that make no arrays: numba counts no references in them, which took most of the time."""
    return compiled(signature, entry=entry, inline=inline, _nrt=False)


Table = npt.NDArray[np.int32]
"""Row i holds a hash and its bits, or zeros; found from row (hash % rows) on."""

_SEED: Final = 0x1000193
_FACTOR: Final = 0x01000193
_MASK: Final = 0x7FFFFFFF
EMPTY: Final = _SEED
"""Hash of no characters; a hash grows by ``grown``."""


def _grown(name: int, character: int) -> int:
    """Hash of a name with one more character (FNV-1a, Fowler, Noll, Vo, of 31 bits)."""
    return ((name ^ character) * _FACTOR) & _MASK


grown: Final = lean("int64(int64, int64)")(_grown)
"""The same for kernels."""


@lean("int64(Array(int32, 2, 'C', readonly=True), int64)", entry=True)
def bits_of(table: Table, name: int) -> int:
    """The bits of a hash; 0 for one that the table does not hold."""
    last = len(table) - 1
    row = name & last
    while table[row, 0] != 0:
        if table[row, 0] == name:
            return int(table[row, 1])
        row = (row + 1) & last
    return 0


def hash_of(name: str) -> int:
    """Hash of a whole name."""
    value = EMPTY
    for byte in name.encode():
        value = _grown(value, byte)
    return value


def named_table(lists: Mapping[str, int]) -> Table:
    """A table of the names in these lists, with the bits of the lists that hold them."""
    entries: dict[int, int] = {}
    for names, bits in lists.items():
        for name in names.split():
            entries[hash_of(name)] = entries.get(hash_of(name), 0) | bits
    return table_of(entries)


def table_of(entries: Mapping[int, int]) -> Table:
    """A table of hashes and their bits."""
    table = np.zeros((_rows(entries), 2), dtype=np.int32)
    for name_hash, bits in entries.items():
        row = name_hash & (len(table) - 1)
        while table[row, 0]:
            row = (row + 1) & (len(table) - 1)
        table[row] = name_hash, bits
    return table


def _rows(entries: Iterable[int]) -> int:
    """A power of two that leaves three quarters of the rows free."""
    return 1 << (4 * len(list(entries)) - 1).bit_length()


ELEMENTS: Final = named_table(_ELEMENTS)
NOT_HTML_ELEMENTS: Final = named_table(_NOT_HTML)
BREAKOUT: Final = named_table({_BREAKOUT: 1})
HEAD_ELEMENTS: Final = named_table({_HEAD: 1})
WORDS: Final = named_table(_WORDS)
ELEMENT_OF: Final = {hash_of(name): name for names in (*_ELEMENTS, *_NOT_HTML) for name in names.split()}
"""The names of everything in the lists, by their hashes."""
ROLES: Final = named_table(_ROLES)
_BITS: Final = {name: 1 << number for number, group in enumerate(_ATTRIBUTES) for name in group.split()}
ATTRIBUTES: Final = named_table(_BITS)
"""A bit for each group."""
VALUED: Final = named_table({name: sum(_BITS[each] for each in each_of.split()) for name, each_of in _VALUED.items()})
"""The bits of the attributes whose places are kept, for each element that has such."""
CLASS, ID, ROLE, HIDDEN, STYLE, ARIA_HIDDEN, HREF = map(hash_of, _ATTRIBUTES[:7])
READONLY, DISABLED, SHADOW_ROOT_MODE, POPOVER = map(hash_of, ("readonly", "disabled", "shadowrootmode", "popover"))
HEADINGS: Final = tuple(hash_of(f"h{rank}") for rank in range(1, 7))
