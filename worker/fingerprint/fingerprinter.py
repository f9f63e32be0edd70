"""A page's body → its fingerprint: the pure parts in a row, by a recipe of plain values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.url_templates import address_of
from crawler_plugin.wire.urls import canonical_url
from worker.compiling import load_entries
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.fingerprint.hashing import hash_bytes, hash_content, hash_text, hash_word, hash_words
from worker.fingerprint.key import Key
from worker.fingerprint.scoped import ANNOUNCED, DOUBTED
from worker.fingerprint.sketch import numbering_of
from worker.fingerprint.text_reader import TextReader, sketch_and_bands
from worker.page.canonical import NamedByHead, canonical_link, resolved
from worker.page.extract import MAX_BYTES, Extracted, Extractor, extract, from_text
from worker.page.main_text.content import main_content
from worker.page.words.dictionary import UserWord, dictionary
from worker.page.words.noise import NOISE_WORDS, NoiseWords
from worker.sites import OF_AN_ID, server_or_site

MINIMUM: Final = 3
"""Least number of different features of a fingerprint, by default. The fingerprint of one feature is its hash, whatever
else the page holds; the fingerprint of two is that of the heavier one; three are the fewest of which none decides
alone. Two words that stand side by side have three: their pair is the third."""

_U32: Final = (1 << 32) - 1
_LONGEST_OWN: Final = 4096
"""Characters of the URL that a page names as its own; nearly all have fewer."""

# The stages of a page, as ``Fingerprinter.begin`` gets them.
EXTRACT: Final = "extract"
SEGMENT: Final = "segment"
FINGERPRINT: Final = "fingerprint"


@dataclass(frozen=True, slots=True)
class Recipe:
    """How fingerprints are made, as plain values: frozen, and picklable for the processes that parse.

    ``minimum`` is the least number of different features of a fingerprint. ``sketched`` adds sketch and bands, and
    ``addressed`` the URL that a page names as its own. ``max_bytes`` is how much of a body is read. With a ``key`` only
    its owner can compute the result for a page.
    """

    user_words: tuple[UserWord, ...] = ()
    fold_traditional: bool = True
    noise_words: NoiseWords = NOISE_WORDS
    minimum: int = MINIMUM
    sketched: bool = False
    addressed: bool = False
    max_bytes: int = MAX_BYTES
    key: Key | None = field(default=None, repr=False)

    def reader(self) -> TextReader:
        """A new reader, which takes a third of a second, and twice as long for the first one on a machine."""
        words = dictionary(self.user_words, fold_traditional=self.fold_traditional)
        return TextReader(words, self.noise_words, self.key, fold_traditional=self.fold_traditional)


class Fingerprinter:
    """Makes fingerprints by a ``Recipe``. Loads the data for that once, when it is made.

    ``begin`` is called with the name of each stage of a page: ``extract`` takes the text out, ``segment`` normalises it
    and cuts it into tokens and their hashes, ``fingerprint`` makes all values that are kept. By default ``begin`` does
    nothing; a process that measures time puts its own function there.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.begin: Callable[[str], None] = _unheard
        self.recipe: Final = recipe
        self.reader: Final = recipe.reader()
        load_entries("worker.page")
        self.numbering: Final = numbering_of(recipe.key)
        self._tokens_key: Final = recipe.key.tokens if recipe.key else None
        self._content_key: Final = recipe.key.content if recipe.key else None

    def __call__(self, body: bytes, meta: PageMeta) -> Fingerprinted:
        """``of_page``: a fingerprinter is itself the task of a parsing process."""
        return self.of_page(body, meta)

    def of_page(self, body: bytes, meta: PageMeta) -> Fingerprinted:
        """The fingerprint of a page's main text; for a body in the form ``text``, of the whole text.

        Raises:
            PageError: the body cannot be read as a page.
        """
        page = self.read(body, meta)
        found = None if meta.form == "text" else _canonical(page.named, body, meta.url)
        told = self.recipe.addressed and (page.named is None or page.verbatim)
        return self.of_extracted(page, meta.url, body).with_address(
            canonical=_hash_of_canonical(found), template=_hash_of_template(meta.url), own=_own(found) if told else None
        )

    def of_extracted(self, page: Extracted, url: str, body: bytes | None = None) -> Fingerprinted:
        """The fingerprint of a page's text, with the data from its site and its title."""
        found = self.of_text(page.text, url, body, page.bare, page.shown)
        return found.with_title(**self._standing(page, url))

    def of_text(
        self, text: str, url: str, body: bytes | None = None, bare: str | None = None, shown: Sequence[str] = ()
    ) -> Fingerprinted:
        """The fingerprint of a text.

        A ``bare`` text has none, for the given reason. ``shown``, as ``Extracted.shown``, stands for parts that the
        page shows with the text: texts with the same parts are as near as without them, texts with different ones are
        not near. If the text has no token, the ``body`` that it was taken from stands for the page, all of it: by
        default the text in UTF-8. If that is empty, the ``url`` does.
        """
        self.begin(SEGMENT)
        read = self.reader.read(text)
        self.begin(FINGERPRINT)
        mask = self.mask(shown)
        units = read.units ^ np.uint64(mask) if mask else read.units
        fingerprint, features = self.reader.simhash(read)
        reason = bare or self.too_few(features)
        sketched = self.recipe.sketched and not reason
        sketch, bands = sketch_and_bands(units, self.numbering) if sketched else (b"", b"")
        return Fingerprinted(
            fingerprint=None if reason else fingerprint ^ mask,
            text_hash=hash_content(units, _body(text, body), url, self._content_key),
            tokens=len(read.units),
            language=read.language(),
            reason=reason,
            sketch=sketch,
            bands=bands,
        )

    def text_of(self, body: bytes, meta: PageMeta) -> str:
        """The main text of a page, as it stands there.

        Raises:
            PageError: the body cannot be read as a page.
        """
        return self.read(body, meta).text

    def read(self, body: bytes, meta: PageMeta, extractor: Extractor = main_content) -> Extracted:
        """The main text of a page, and whether it is enough for a fingerprint.

        Raises:
            PageError: the body cannot be read as a page.
        """
        self.begin(EXTRACT)
        limit = self.recipe.max_bytes
        if meta.form == "text":
            return from_text(body[:limit].decode("utf-8", "replace"), max_chars=limit)
        return extract(
            body,
            content_type=meta.content_type,
            encoding=meta.encoding,
            max_bytes=limit,
            url=meta.url,
            extractor=extractor,
        )

    def mask(self, shown: Sequence[str]) -> int:
        """64 bits that keep texts shown with other parts apart, and texts with the same parts as near as their
        texts."""
        if not shown:
            return 0
        boundary = hash_words(["\n"], key=self._tokens_key)
        tokens = [part for each in shown for part in (boundary, self.reader.read(each).units)]
        return hash_content(np.concatenate(tokens), b"", "", self._content_key)

    def too_few(self, found: int) -> str | None:
        """The reason why this many features make no fingerprint."""
        if found >= self.recipe.minimum:
            return None
        return f"{found or 'no'} feature{'s' * (found != 1)}, {self.recipe.minimum} are needed"

    def _standing(self, page: Extracted, url: str) -> dict[str, int]:
        """``site``, ``title``, ``title_words`` and ``doubt`` of a page (``worker.fingerprint.scoped``).

        ``title`` is even where there is one. A doubted page without a title or heading of its own has an odd number
        instead, which stands for all that it shows, or where that was not read for its URL: so it agrees with itself
        when it is fetched again.
        """
        title, words = 0, 0
        if page.thing.tokens:
            hashes = hash_words(page.thing.tokens, key=self._tokens_key)
            title = hash_content(hashes, b"", "", self._content_key) & _U32 - 1 or 2
            words_of_title = page.thing.words
            alike = words_of_title == [*page.thing.tokens]
            for place in (hashes if alike else hash_words(words_of_title, key=self._tokens_key)).tolist():
                words |= 1 << (place & 63)
        elif page.doubted:
            title = hash_word(page.all_shown or url, key=self._tokens_key) & _U32 | 1
        return {
            "site": number_of_site(server_or_site(url), self._tokens_key),
            "title": title,
            "title_words": words,
            "doubt": DOUBTED if page.doubted else ANNOUNCED,
        }


def number_of_site(site: str, key: bytes | None) -> int:
    """The number that stands for a registered domain, or a server, in 32 bits; 0 for none."""
    return hash_word(site, key=key) & _U32 or 1 if site else 0


def _unheard(stage: str) -> None:
    """Does nothing: no time is measured."""


def _canonical(named: NamedByHead | None, body: bytes, url: str) -> str | None:
    return canonical_link(body, url) if named is None else resolved(named, url)


def _own(found: str | None) -> str | None:
    """As ``Fingerprinted.own``: a result is small, and of plain text."""
    told = found or ""
    return told if len(told) <= _LONGEST_OWN and told.isascii() else None


def _hash_of_canonical(found: str | None) -> int:
    try:
        return 0 if found is None else hash_bytes(canonical_url(found).encode())
    except ValueError:
        return 0


def _hash_of_template(url: str) -> int:
    """0 where the URL has no host: then it is no site's."""
    if url.startswith(OF_AN_ID):
        return 0
    address = address_of(url)
    return hash_text(address.shelf) & _U32 or 1 if address.host else 0


def _body(text: str, body: bytes | None) -> bytes:
    return text.encode("utf-8", "surrogatepass") if body is None else body
