"""Every step to a fingerprint, and its maker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np

from crawler_plugin.wire.page_headers import PageMeta
from worker.evaluate.literature.hashes import hashes_of
from worker.evaluate.literature.simhash import from_sums, sums
from worker.evaluate.literature.variant import Variant
from worker.evaluate.literature.weights import SCALE, parse_tagged, weigh_text
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.fingerprint.scoped import TEMPLATE
from worker.fingerprint.text_reader import sketch_and_bands
from worker.page.extract import Extracted
from worker.sites import server_or_site

_UNTITLED: Final = "; it has none but the site's, so to pages that show the same"


@dataclass(frozen=True, slots=True)
class Explained:
    """Every step to a fingerprint of ``bits`` bits, for people.

    ``words`` are the tokens in their order, without noise words; ``tokens`` as in ``Fingerprinted``. ``features`` are
    (word, or two words with a blank between, and their weight) by falling weight, ``sums`` the votes of each bit in
    units of those weights, most significant bit first. ``ordinary`` holds by name the results of hashes that know no
    similarity, for the same normalised text and as wide as the fingerprint. ``sketch`` and ``bands`` are as in
    ``Fingerprinted``. ``site_name`` is the registered domain, ``thing`` the compared part of the title, and ``site``,
    ``title``, ``title_words`` and ``doubt`` stand for these in a claim; ``shown`` is as in ``Extracted``. ``text`` is
    the text that all this was made of, and ``units`` are the tokens whose n-grams the sketch is made of.
    """

    bits: int
    fingerprint: int | None
    text_hash: int
    language: str
    reason: str | None
    words: tuple[str, ...]
    tokens: int
    features: tuple[tuple[str, float], ...]
    sums: tuple[float, ...]
    ordinary: Mapping[str, int]
    sketch: bytes = b""
    bands: bytes = b""
    shown: tuple[str, ...] = ()
    site_name: str = ""
    thing: str = ""
    site: int = 0
    title: int = 0
    title_words: int = 0
    doubt: int = 0
    text: str = ""
    units: tuple[str, ...] = ()

    @property
    def bounds(self) -> str:
        """What it is bound to, in words; empty if it is bound to nothing."""
        told = []
        if self.doubt:
            site = self.site_name or "its site"
            named = f": {self.thing}" if self.thing else _UNTITLED if self.title & 1 else ""
            near = f"near only to pages of its title{named}"
            doubted = f"its title does not announce its text, so on {site} {near}"
            told.append(f"a text under several titles of {site}, so {near}" if self.doubt >= TEMPLATE else doubted)
        if self.shown:
            told.append(f"near only to texts shown with {', '.join(self.shown)}")
        return "; ".join(told)

    def encode(self) -> bytes:
        """As JSON: MessagePack has no numbers of 128 bits."""
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, value: bytes) -> Explained:
        """Decode the output of ``encode``.

        Raises:
            ValueError: anything else.
        """
        try:
            return msgspec.json.decode(value, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ValueError(f"not an explained fingerprint: {error}") from error


class Explainer:
    """Explains pages by a ``Recipe``, and makes fingerprints that differ from the worker's by a ``Variant``: in a
    parsing process, like ``Fingerprinter``. ``tagged`` pages are texts of words with their tags, as ``parse_tagged``
    reads them; these are not cut again."""

    def __init__(self, recipe: Recipe, variant: Variant | None = None, *, tagged: bool = False) -> None:
        self.variant: Final = variant or Variant()
        self.tagged: Final = tagged
        self.fingerprinter: Final = Fingerprinter(recipe)

    def __call__(self, body: bytes, meta: PageMeta) -> bytes:
        """``explain`` of a page, encoded.

        Raises:
            PageError: the body cannot be read as a page.
        """
        page = self.fingerprinter.read(body, meta)
        words = parse_tagged(page.text) if self.tagged else None
        if words is not None:
            page = page._replace(text=" ".join(words))
        return self.explain(page, meta.url, body, words).encode()

    def fingerprinted(self, page: Extracted, url: str, body: bytes) -> Fingerprinted:
        """The data that the worker keeps of a page, but with the fingerprint of the variant, of at most 64 bits."""
        made = self.fingerprinter.of_extracted(page, url, body)
        if made.fingerprint is None:
            return made
        tokens = self.fingerprinter.reader.tokens(page.text)
        votes = self._votes(self._features(tokens.featured))
        mask = self.fingerprinter.mask(page.shown) & self._all_ones
        return msgspec.structs.replace(made, fingerprint=from_sums(votes) ^ mask)

    def explain(
        self, page: Extracted, url: str, body: bytes | None = None, words: Sequence[str] | None = None
    ) -> Explained:
        """A page's text with every step. ``words``, if given, replace the words that the text would be cut into; noise
        words and punctuation are left out of them as usual."""
        fingerprinter, bits = self.fingerprinter, self.variant.bits
        made = fingerprinter.of_extracted(page, url, body)
        tokens = fingerprinter.reader.tokens(page.text)
        featured = tokens.featured if words is None else self._spelled(words)
        features = self._features(featured)
        votes = self._votes(features)
        reason = page.bare or fingerprinter.too_few(len(features))
        mask = fingerprinter.mask(page.shown)
        sketched = fingerprinter.recipe.sketched and not reason
        units = fingerprinter.reader.read(page.text).units ^ np.uint64(mask)
        sketch, bands = sketch_and_bands(units, fingerprinter.numbering) if sketched else (b"", b"")
        return Explained(
            bits=bits,
            fingerprint=None if reason else from_sums(votes) ^ mask & self._all_ones,
            text_hash=made.text_hash,
            language=made.language,
            reason=reason,
            words=tuple(fingerprinter.recipe.noise_words.left_of(featured)),
            tokens=made.tokens,
            features=tuple(
                sorted(((word, weight / SCALE) for word, weight in features.items()), key=lambda each: -each[1])
            ),
            sums=tuple(vote / SCALE for vote in votes),
            ordinary={
                "blake2b": hashes_of([tokens.spelled], "blake2b", bits)[0],
                "xxh3": hashes_of([tokens.spelled], "xxh3", bits)[0],
            },
            sketch=sketch,
            bands=bands,
            shown=page.shown,
            site_name=server_or_site(url),
            thing=" ".join(page.thing.tokens),
            site=made.site,
            title=made.title,
            title_words=made.title_words,
            doubt=made.doubt,
            text=page.text.encode(errors="replace").decode(),
            units=tuple(tokens.units),
        )

    @property
    def _all_ones(self) -> int:
        return (1 << self.variant.bits) - 1

    def _spelled(self, words: Sequence[str]) -> list[str]:
        return [read.spelled for read in map(self.fingerprinter.reader.tokens, words) if read.units]

    def _features(self, featured: Sequence[str]) -> dict[str, int]:
        variant = self.variant
        words = self.fingerprinter.recipe.noise_words.left_of(featured)
        return weigh_text(words, featured, variant.weights, variant.idf, variant.levels)

    def _votes(self, features: dict[str, int]) -> list[int]:
        variant, key = self.variant, self.fingerprinter.recipe.key
        hashes = hashes_of(list(features), variant.hash, variant.bits, key.features if key else None)
        return sums(hashes, features.values(), variant.bits)
