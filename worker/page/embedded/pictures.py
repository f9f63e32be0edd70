"""The pictures, players and frames that are a page's content, each with a name that its mirrors use as well.

Hosts, directories, sizes and formats differ between mirrors, so the name is the last segment of the path without them:
``/2024/strip-1201-300x200.webp?w=800`` is ``strip-1201``. Where that segment says nothing, as ``embed`` or
``hqdefault``, the name is made of the parameters that name the picture or film, otherwise of the segment before. A
session number is not such a parameter.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl, unquote

from worker.page.elements.markup import NAME, PARENT, Rows
from worker.page.elements.parsed import Parsed
from worker.page.elements.tags import MAX_STEPS
from worker.page.elements.vocabulary import MARKED_ASIDE, MARKED_COMMENTS, WORDS, bits_of, hash_of
from worker.page.embedded.prose import names

MOST_SOURCES: Final = 64
LONGEST_SOURCE: Final = 2048

_BESIDE: Final = MARKED_ASIDE | MARKED_COMMENTS


def _hashes(names: str) -> tuple[int, ...]:
    return tuple(map(hash_of, names.split()))


_IMAGES: Final = _hashes("img amp-img")
_TRACKS: Final = _hashes("video audio")
_PLAYERS: Final = _TRACKS + _hashes(
    "iframe embed object lite-youtube lite-vimeo amp-youtube amp-vimeo amp-dailymotion amp-brightcove video-js"
)
_SOURCE: Final = hash_of("source")
_PICTURE: Final = hash_of("picture")
_ATTRIBUTES: Final = _hashes(
    "data-src data-lazy-src data-original data-srcset data-lazy-srcset videoid data-videoid data-video-id src data "
    "srcset poster"
)
"""In this order. Where one like ``data-src`` is given, ``src`` is a placeholder until it is loaded."""
_SETS: Final = _hashes("srcset data-srcset data-lazy-srcset")

_SCHEME: Final = re.compile(r"(?:https?:)?//[^/?#]*+", re.IGNORECASE)
_OTHER_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*+:", re.IGNORECASE)
_FORMAT: Final = re.compile(
    r"\.(?:jpe?g|jfif|png|gif|webp|avif|bmp|tiff?|svg|mp[34]|m4[av]|webm|og[gv]|wav|mov|m3u8|mpd|pdf|swf)$",
    re.IGNORECASE,
)
_PROGRAM: Final = re.compile(r"\.(?:php|aspx?|ashx|jsp|cgi|do|html?)$", re.IGNORECASE)
_SIZE: Final = re.compile(
    r"[-_.@](?:[0-9]{2,4}x[0-9]{2,4}|[0-9]{2,4}(?:px|w)|[1-4]x|scaled|small|medium|large|thumb|thumbnail|full|crop)$",
    re.IGNORECASE,
)
_SIZE_BEFORE: Final = re.compile(r"[0-9]{2,4}px-", re.IGNORECASE)
_ONLY_SIZE: Final = re.compile(
    r"[0-9]{2,4}x[0-9]{2,4}|(?:[whcqs][_-]?[0-9]{2,4}|[a-z]_[a-z0-9]+)(?:,[a-z0-9_.-]+)*+", re.IGNORECASE
)
_LETTERS: Final = re.compile(r"[A-Za-z]+")
_FEW_DIGITS: Final = re.compile(r"[0-9]{1,2}")

_SAYS_NOTHING: Final = names(
    "image img images photo photos picture pictures pic large small medium full original default hqdefault mqdefault "
    "sddefault maxresdefault thumb thumbnail preview poster cover main index embed player video videos audio media "
    "watch view show file files master playlist manifest stream download get render iframe frame map maps place chart "
    "viewer document doc e v p i s uploads assets static resize"
)
_PARAMETERS: Final = names(
    "v id vid videoid video_id clip clipid media mediaid track list url src source file video image img photo pic "
    "picture pb name slug n page p key episode chart embed docid href u link"
)
_ASKED: Final = "q"
"""Parameters that say what a map shows, and how good a picture is."""
_NO_CONTENT: Final = names(
    "logo logos icon icons avatar avatars gravatar spacer pixel blank transparent sprite badge button btn spinner "
    "loader loading placeholder emoji emojis smiley smilies smileys flag flags arrow bullet favicon captcha recaptcha "
    "counter googletagmanager doubleclick googlesyndication plugins beacon"
)


def pictures(page: Parsed, gone: Rows, top: int) -> tuple[str, ...]:
    """The names of the players in the content, whose element is ``top``, or of its pictures if it has no players.

    ``gone`` is not 0 for elements outside the content. If the content itself has neither, those next to it count.
    """
    distance = {top: 0}
    while top > 0:
        top = int(page.elements[top, PARENT])
        distance[top] = len(distance)
    sources: dict[int, dict[int, int]] = {}
    for row, (of, attribute, _, _) in enumerate(page.values.tolist()):
        name = int(page.elements[of, NAME])
        if attribute in _ATTRIBUTES and (name in _PLAYERS or name in _IMAGES or name == _SOURCE):
            if of not in sources and len(sources) == MOST_SOURCES:
                break
            sources.setdefault(of, {})[attribute] = row
    found: dict[tuple[int, bool], dict[str, None]] = {}
    named: set[int] = set()
    for of in sorted(sources, key=lambda of: _stands_in(page.elements, of)):
        rows, name, holder = sources[of], int(page.elements[of, NAME]), int(page.elements[of, PARENT])
        around, is_image = int(page.elements[holder, NAME]), name in _IMAGES
        if name == _SOURCE:
            if around not in _TRACKS and (around != _PICTURE or holder in named):
                continue
            is_image = around == _PICTURE
        step = _distance(
            page.elements, gone, distance, int(page.elements[holder, PARENT]) if name == _SOURCE else holder
        )
        spelled = next(filter(None, (_name(page, rows, each, is_image) for each in _ATTRIBUTES)), None)
        if step is not None and spelled:
            found.setdefault((step, is_image), {})[spelled] = None
            named.add(holder)
    return tuple(found[min(found)]) if found else ()


def _stands_in(elements: Rows, element: int) -> bool:
    """Whether it is a source of a picture, which counts where the picture's ``img`` names nothing."""
    return int(elements[element, NAME]) == _SOURCE and int(elements[int(elements[element, PARENT]), NAME]) == _PICTURE


def _distance(elements: Rows, gone: Rows, distance: dict[int, int], element: int) -> int | None:
    """How far outside the content an element stands, None if it is dropped or farther away."""
    for _ in range(MAX_STEPS):
        if gone[element]:
            return None
        if element in distance:
            return distance[element]
        element = int(elements[element, PARENT])
    return None


def _name(page: Parsed, rows: dict[int, int], attribute: int, is_image: bool) -> str:
    if attribute not in rows:
        return ""
    value = page.value(rows[attribute])
    return name_of(value.strip().partition(" ")[0] if attribute in _SETS else value, is_image=is_image)


def name_of(source: str, *, is_image: bool) -> str:
    """The part of a source that a mirror's source shares; empty for sources that are no content: icons,
    advertisements."""
    source = source.strip()
    host = _SCHEME.match(source)
    address = source[host.end() :] if host else source
    if len(source) > LONGEST_SOURCE or _OTHER_SCHEME.match(address):
        return ""
    path, _, query = address.partition("#")[0].partition("?")
    segments = [unquote(segment.partition(";")[0]) for segment in path.split("/")]
    segments = [segment for segment in segments if segment]
    words = _LETTERS.findall(" ".join(segments[-2:]) if is_image else f"{host[0] if host else ''} {path}")
    if any(word.lower() in _NO_CONTENT or bits_of(WORDS, hash_of(word.lower())) & _BESIDE for word in words):
        return ""
    is_file = bool(segments and _FORMAT.search(segments[-1]))
    named = [] if is_file else _parameters(query, is_image)
    around = [_stem(segment) for segment in segments[:-1] if not _ONLY_SIZE.fullmatch(segment)]
    telling = [stem for stem in around if stem.lower() not in _SAYS_NOTHING]
    own = _stem(segments[-1]) if segments else ""
    if own.lower() in _SAYS_NOTHING:
        return " ".join(filter(None, named)) or "".join(telling[-1:])
    if not is_file and _FEW_DIGITS.fullmatch(own):
        return " ".join([*telling[-1:], own, *named])
    return " ".join(filter(None, [own, *named]))


def _stem(segment: str) -> str:
    """A segment without format and size."""
    stem = _PROGRAM.sub("", _FORMAT.sub("", segment))
    return _SIZE_BEFORE.sub("", _SIZE.sub("", stem), count=1)


def _parameters(query: str, is_image: bool) -> list[str]:
    """The values that name the picture or film."""
    given = sorted((name.lower(), value) for name, value in parse_qsl(query))
    asked = [value for name, value in given if value and (name in _PARAMETERS or (name == _ASKED and not is_image))]
    return [value if "/" not in value or "?" in value else name_of(value, is_image=is_image) for value in asked]
