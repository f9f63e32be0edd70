"""What a short page repeats of an address is left out: "The page /old/press.html does not exist".

Error pages that name the address, and are sent with status 200, would else be as many pages as there are dead
addresses. What is repeated is the page's own address or its path, but for one word as ``/about``. Or it is the one
address that the text names, since many pages are known by another one than the server was asked for: a URL, or a path
of two names and more, or of one with a suffix or a query. The last name of a path by itself may be what the page is
about: a product.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote, urlsplit

ECHO: Final = "echo-1"
"""Name of the rule; a part of the scheme, so change it when the rule changes."""

MOST_WORDS: Final = 64
"""Of a text that may be an error page; longer ones that speak of an address are about it."""
LEAST_BESIDE_PATH: Final = 2
LEAST_BESIDE_URL: Final = 6
"""Words beside the address; with fewer it is what the page says, as in "Watch this: https://…"."""

_MOST_CHARACTERS: Final = 1024
_LEAST_OWN: Final = 6
"""Characters of the page's own path that is told from words."""
_ENDS: Final = r"\s<>\"'`«»“”„‘’‹›「」『』。，；：！？（）"
_ADDRESS: Final = re.compile(
    rf"(?:https?://|www\.)[^{_ENDS}]++|(?<![\w/.:<-])/(?=[^\s/.?=]*+[/.?=][\w%])[^/{_ENDS}][^{_ENDS}]*+",
    re.IGNORECASE,
)
_SIGNS: Final = ".,;:!?)]}…"
_HOST: Final = re.compile(r"\A(?:https?://|www\.)[^/]*+", re.IGNORECASE)
_WORD: Final = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u9fff]|[^\W\u0e00-\u0eff\u3040-\u9fff]+")


def without_echo(text: str, url: str = "") -> str:
    """A short text without the address that it repeats, each other text as it is. ``url`` is the page's own."""
    if len(text) > _MOST_CHARACTERS or "/" not in text:
        return text
    rest, is_url = text, False
    for address in sorted(_own(url) | _the_one_in(text), key=lambda address: (-len(address), address)):
        is_url |= "://" in address and address in rest
        rest = rest.replace(address, " ")
    least = LEAST_BESIDE_URL if is_url else LEAST_BESIDE_PATH
    return rest if rest != text and least <= len(_WORD.findall(rest)) <= MOST_WORDS else text


def _own(url: str) -> set[str]:
    """The page's address and its path, each as it is spelled there and without its percent signs."""
    try:
        told = urlsplit(url)
    except ValueError:
        return set()
    path = told.path.rstrip("/")
    spelled = {url, path, f"{path}?{told.query}" if told.query else path}
    spelled |= {unquote(address) for address in spelled}
    return {address for address in spelled if len(address) >= _LEAST_OWN and not address.removeprefix("/").isalpha()}


def _the_one_in(text: str) -> set[str]:
    """All spellings of the one address that a text names; none where there are several."""
    found = {address.rstrip(_SIGNS) for address in _ADDRESS.findall(text)}
    return found if len({_HOST.sub("", address) for address in found}) == 1 else set()
