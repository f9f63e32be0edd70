"""A page's body → its fingerprint: the pure parts in a row, by a recipe of plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Literal, NamedTuple

import numpy as np

from crawler_plugin.wire.messages import PageMeta
from crawler_plugin.wire.url_templates import address_of
from crawler_plugin.wire.urls import canonical_url
from worker.fingerprint.fast import TextReader, sketch_and_bands
from worker.fingerprint.fingerprinted import Explained, Fingerprinted
from worker.fingerprint.hashing import WORD_BITS, Algorithm, Hashes, hash_bytes, hash_content, hash_text, hash_words
from worker.fingerprint.key import Key
from worker.fingerprint.scoped import ANNOUNCED, DOUBTED
from worker.fingerprint.simhash import as_ints, simhash_vectorised, simhash_votes
from worker.fingerprint.sketch import bands, numbering_of, sketch
from worker.page.canonical import NamedByHead, canonical_link, resolved
from worker.page.extract import MAX_BYTES, Extracted, Extractor, extract, from_text
from worker.page.words.noise import NOISE_WORDS, NoiseWords
from worker.page.words.normalise import normalise
from worker.page.words.scripts import language
from worker.page.words.segment import Engine, Segmenter, UserWord, characters_and_words, dictionary, said_once
from worker.page.words.weigh import SCALE, Features, Weights, parse_tagged, weigh_text
from worker.sites import server_or_site

MINIMUM: Final = 3
"""Least different features of a fingerprint, by default. The fingerprint of one feature is its hash, whatever else the
page holds; of two it is that of the heavier one; three are the fewest of which none decides alone. Two words that
stand side by side have them: their pair is the third."""

_U32: Final = (1 << 32) - 1

Units = Literal["words", "characters"]

# The stages of a page, as ``Fingerprinter.begin`` is told of them.
EXTRACT: Final = "extract"
SEGMENT: Final = "segment"
FINGERPRINT: Final = "fingerprint"


@dataclass(frozen=True, slots=True)
class Recipe:
    """How fingerprints are made, as plain values: frozen, and picklable for the processes that parse.

    ``units`` are what the fingerprint's features are made of: the words of ``Segmenter``, or ``characters_and_words``.
    ``idf`` maps words to weights for ``tf-idf`` and ``five-levels``, ``levels`` words to levels by hand for the latter.
    ``minimum`` is the least number of different features of a fingerprint. ``sketched`` adds sketch and bands.
    ``extractor`` finds the main text of markup; ``max_bytes`` is how much of a body is read. With a ``key`` nobody who
    lacks it can tell what a page comes to.
    """

    engine: Engine = "auto"
    hmm: bool = False
    user_words: tuple[UserWord, ...] = ()
    fold_traditional: bool = True
    noise_words: NoiseWords = NOISE_WORDS
    units: Units = "words"
    weights: Weights = "tf"
    idf: Mapping[str, float] | None = None
    levels: Mapping[str, int] | None = None
    minimum: int = MINIMUM
    hash: Algorithm = "xxh3"
    sketched: bool = False
    extractor: Extractor = "built-in"
    max_bytes: int = MAX_BYTES
    key: Key | None = field(default=None, repr=False)

    def segmenter(self) -> Segmenter:
        """A new one."""
        return Segmenter(
            hmm=self.hmm,
            user_words=self.user_words,
            noise=self.noise_words,
            fold_traditional=self.fold_traditional,
        )


def _reader(recipe: Recipe) -> TextReader | None:
    """What takes the compiled steps, None where the recipe wants what they do not know."""
    if recipe.engine != "auto" or recipe.hmm or recipe.weights != "tf" or recipe.hash != "xxh3":
        return None
    fold = recipe.fold_traditional
    words = dictionary(recipe.user_words, fold_traditional=fold) if recipe.units == "words" else None
    return TextReader(words, recipe.noise_words, recipe.key, fold_traditional=fold)


class _Reading(NamedTuple):
    """A text in tokens: all, those that are no noise words, and its ``characters_and_words`` with their hashes."""

    normalised: str
    tokens: list[str]
    words: list[str]
    units: list[str]
    hashes: Hashes


class Fingerprinter:
    """Makes fingerprints by a ``Recipe``. Loads what it needs for that once, when it is made; what explains a
    fingerprint is loaded when it is first asked for, or at once without the compiled steps.

    ``begin`` is called with the name of each stage that a page comes to: ``extract`` takes the text out, ``segment``
    normalises it and cuts it into tokens and their hashes, ``fingerprint`` makes of them all that is kept. It does
    nothing; whoever keeps time puts something else in its place.
    """

    def __init__(self, recipe: Recipe, *, compiled: bool = True) -> None:
        self.begin: Callable[[str], None] = _unheard
        self.recipe: Final = recipe
        key = recipe.key
        self._features_key: Final = key.features if key else None
        self._tokens_key: Final = key.tokens if key else None
        self._content_key: Final = key.content if key else None
        self._numbering: Final = numbering_of(key)
        self._reader: Final = _reader(recipe) if compiled else None
        if self._reader is None:
            _ = self.segmenter

    @cached_property
    def segmenter(self) -> Segmenter:
        """What cuts texts in readable steps."""
        return self.recipe.segmenter()

    def __call__(self, body: bytes, meta: PageMeta) -> Fingerprinted:
        """``of_page``: a fingerprinter is itself the task of a parsing process."""
        return self.of_page(body, meta)

    def of_page(self, body: bytes, meta: PageMeta) -> Fingerprinted:
        """The fingerprint of a page's main text; of a body in the form ``text`` that of the whole.

        Raises:
            PageError: the body cannot be read as a page.
        """
        page = self.read(body, meta)
        canonical = 0 if meta.form == "text" else _hash_of_canonical(page.named, body, meta.url)
        return self.of_extracted(page, meta.url, body).with_address(
            canonical=canonical, template=_hash_of_template(meta.url)
        )

    def of_extracted(self, page: Extracted, url: str, body: bytes) -> Fingerprinted:
        """The fingerprint of a page's text, with what its site and its title tell."""
        found = self.of_text(page.text, url, body, page.bare, page.shown)
        return found.with_title(**self.standing(page, url))

    def standing(self, page: Extracted, url: str) -> dict[str, int]:
        """``site``, ``title``, ``title_words`` and ``doubt`` of a page (``worker.fingerprint.scoped``).

        ``title`` is even where there is one. A doubted page without, as one under its site's name, has an odd number in
        place of it that stands for its URL: it agrees with itself, fetched again.
        """
        site = server_or_site(url)
        of_site = int(hash_words([site], key=self._tokens_key)[0]) & _U32 or 1 if site else 0
        title, words = 0, 0
        if page.thing.tokens:
            hashes = hash_words(page.thing.tokens, key=self._tokens_key)
            title = hash_content(hashes, b"", "", self._content_key) & _U32 - 1 or 2
            for place in as_ints(hash_words(page.thing.words, key=self._tokens_key)):
                words |= 1 << (place & 63)
        elif page.doubted:
            title = int(hash_words([url], key=self._tokens_key)[0]) & _U32 | 1
        return {"site": of_site, "title": title, "title_words": words, "doubt": DOUBTED if page.doubted else ANNOUNCED}

    def of_text(
        self, text: str, url: str, body: bytes | None = None, bare: str | None = None, shown: Sequence[str] = ()
    ) -> Fingerprinted:
        """The fingerprint of a text. In compiled steps where it can be.

        A ``bare`` text has none, for the reason given. With what it is ``shown`` with, as ``Extracted.shown``, it is as
        near to texts with the same as without, and near to no other. Where the text has no token, the ``body`` that it
        was taken from stands for the page, all of it: by default the text in UTF-8. Where that is empty, the ``url``
        does.
        """
        if self._reader is None:
            return self.by_definition(text, url, body, bare, shown)
        self.begin(SEGMENT)
        read = self._reader.read(text)
        self.begin(FINGERPRINT)
        mask = self._mask(shown)
        units = read.units ^ np.uint64(mask)
        fingerprint, features = self._reader.simhash(read)
        reason = bare or self._too_few(features)
        sketched = self.recipe.sketched and not reason
        of_sketch, of_bands = sketch_and_bands(units, self._numbering) if sketched else (b"", b"")
        return Fingerprinted(
            fingerprint=None if reason else fingerprint ^ mask,
            text_hash=hash_content(units, _body(text, body), url, self._content_key),
            tokens=len(read.units),
            language=read.language(),
            reason=reason,
            sketch=of_sketch,
            bands=of_bands,
        )

    def by_definition(
        self, text: str, url: str, body: bytes | None = None, bare: str | None = None, shown: Sequence[str] = ()
    ) -> Fingerprinted:
        """The same in readable steps."""
        self.begin(SEGMENT)
        reading = self._read(text)
        self.begin(FINGERPRINT)
        features = self._weigh(reading)
        reason = bare or self._too_few(len(features.words))
        sketched = self.recipe.sketched and not reason
        mask = self._mask(shown)
        units = reading.hashes ^ np.uint64(mask)
        return Fingerprinted(
            fingerprint=None if reason else self._fingerprint(features) ^ mask,
            text_hash=hash_content(units, _body(text, body), url, self._content_key),
            tokens=len(reading.hashes),
            language=language(reading.normalised),
            reason=reason,
            sketch=sketch(units, self._numbering) if sketched else b"",
            bands=bands(units, self._numbering) if sketched else b"",
        )

    def explain(
        self,
        page: Extracted,
        url: str,
        bits: int = WORD_BITS,
        body: bytes | None = None,
        words: Sequence[str] | None = None,
    ) -> Explained:
        """The same of a page's text with every step, at any width from 8 to 128 bits. ``words``, where they are given,
        take the place of those that the text would be cut into; noise words and punctuation are left out of them as
        ever.

        Raises:
            ValueError: a width that the recipe's hash does not have.
        """
        text = page.text
        reading = self._read(text, words)
        features = self._weigh(reading)
        hashes = hash_words(features.words, algorithm=self.recipe.hash, bits=bits, key=self._features_key)
        reason = page.bare or self._too_few(len(features.words))
        weighted = zip(features.words, (features.weights / SCALE).tolist(), strict=True)
        mask = self._mask(page.shown)
        units = reading.hashes ^ np.uint64(mask)
        return Explained(
            bits=bits,
            fingerprint=None if reason else simhash_vectorised(hashes, features.weights, bits) ^ mask & (1 << bits) - 1,
            text_hash=hash_content(units, _body(text, body), url, self._content_key),
            language=language(reading.normalised),
            reason=reason,
            words=tuple(reading.words),
            tokens=len(reading.hashes),
            features=tuple(sorted(weighted, key=lambda feature: -feature[1])),
            sums=tuple((simhash_votes(hashes, features.weights, bits) / SCALE).tolist()),
            ordinary={
                "blake2b": as_ints(hash_words([reading.normalised], algorithm="blake2b", bits=bits))[0],
                "xxh3": as_ints(hash_words([reading.normalised], algorithm="xxh3", bits=bits))[0],
            },
            sketch=sketch(units, self._numbering) if self.recipe.sketched and not reason else b"",
            bands=bands(units, self._numbering) if self.recipe.sketched and not reason else b"",
            shown=page.shown,
            site_name=server_or_site(url),
            thing=" ".join(page.thing.tokens),
            **self.standing(page, url),
            text=text.encode(errors="replace").decode(),
            units=tuple(reading.units),
        )

    def text_of(self, body: bytes, meta: PageMeta) -> str:
        """The main text of a page, as it stands there.

        Raises:
            PageError: the body cannot be read as a page.
        """
        return self.read(body, meta).text

    def read(self, body: bytes, meta: PageMeta) -> Extracted:
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
            extractor=self.recipe.extractor,
            url=meta.url,
        )

    def _read(self, text: str, words: Sequence[str] | None = None) -> _Reading:
        fold = self.recipe.fold_traditional
        normalised = normalise(text, fold_traditional=fold)
        units = characters_and_words(normalised)
        if words is not None:
            spelled = [normalise(word, fold_traditional=fold) for word in words]
            tokens = [word for word in spelled if characters_and_words(word)]
        else:
            featured = said_once(normalised)
            in_characters = self.recipe.units == "characters"
            tokens = characters_and_words(featured) if in_characters else self.segmenter.all_tokens(featured)
        return _Reading(
            normalised, tokens, self.segmenter.without_noise(tokens), units, hash_words(units, key=self._tokens_key)
        )

    def _weigh(self, reading: _Reading) -> Features:
        recipe = self.recipe
        return weigh_text(reading.words, reading.tokens, recipe.weights, recipe.idf, recipe.levels)

    def _fingerprint(self, features: Features) -> int:
        hashes = hash_words(features.words, algorithm=self.recipe.hash, key=self._features_key)
        return simhash_vectorised(hashes, features.weights)

    def _mask(self, shown: Sequence[str]) -> int:
        """64 bits by which texts shown with something else are far, and those with the same as near as their texts."""
        if not shown:
            return 0
        tokens = [token for each in shown for token in ("\n", *self._tokens_of(each))]
        return hash_content(hash_words(tokens, key=self._tokens_key), b"", "", self._content_key)

    def _tokens_of(self, text: str) -> list[str]:
        return characters_and_words(normalise(text, fold_traditional=self.recipe.fold_traditional))

    def _too_few(self, found: int) -> str | None:
        """Why so many features make no fingerprint."""
        if found >= self.recipe.minimum:
            return None
        return f"{found or 'no'} feature{'s' * (found != 1)}, {self.recipe.minimum} are needed"


class Explainer:
    """Explains pages by a ``Recipe`` at a width of ``bits``, in a parsing process like ``Fingerprinter``. ``tagged``
    ones are texts of words with their tags, as ``parse_tagged`` reads them, that are not cut again."""

    def __init__(self, recipe: Recipe, bits: int, tagged: bool = False) -> None:
        self.bits: Final = bits
        self.tagged: Final = tagged
        self.fingerprinter: Final = Fingerprinter(recipe, compiled=False)

    def __call__(self, body: bytes, meta: PageMeta) -> bytes:
        """``Fingerprinter.explain`` of the page's text, encoded.

        Raises:
            PageError: the body cannot be read as a page.
        """
        page = self.fingerprinter.read(body, meta)
        words = parse_tagged(page.text) if self.tagged else None
        if words is not None:
            page = replace(page, text=" ".join(words))
        return self.fingerprinter.explain(page, meta.url, self.bits, body, words).encode()


def _unheard(stage: str) -> None:
    """Nobody keeps time."""


def _hash_of_canonical(named: NamedByHead | None, body: bytes, url: str) -> int:
    found = canonical_link(body, url) if named is None else resolved(named, url)
    try:
        return 0 if found is None else hash_bytes(canonical_url(found).encode())
    except ValueError:
        return 0


def _hash_of_template(url: str) -> int:
    """0 where the URL has no host: then it is no site's."""
    address = address_of(url)
    return hash_text(address.shelf) & _U32 or 1 if address.host else 0


def _body(text: str, body: bytes | None) -> bytes:
    return text.encode("utf-8", "surrogatepass") if body is None else body
