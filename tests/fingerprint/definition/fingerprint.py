"""``Fingerprinter.of_text`` by definition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.fingerprint.definition.segment import Segmenter, characters_and_words, language, said_once
from tests.fingerprint.definition.sketch import bands_by_definition, sketch_by_definition
from worker.evaluate.literature.simhash import simhash
from worker.evaluate.literature.weights import weigh_text
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.fingerprint.fingerprinter import Recipe
from worker.fingerprint.hashing import hash_content, hash_words
from worker.fingerprint.sketch import numbering_of
from worker.page.words.normalise import normalise


class Definition:
    """Makes fingerprints by a recipe."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        key = recipe.key
        self._features_key = key.features if key else None
        self._tokens_key = key.tokens if key else None
        self._content_key = key.content if key else None
        self.segmenter = Segmenter(recipe.user_words, fold_traditional=recipe.fold_traditional)

    def of_text(self, text: str, url: str, shown: Sequence[str] = ()) -> Fingerprinted:
        """The fingerprint and sketch of a text."""
        recipe = self.recipe
        normalised = normalise(text, fold_traditional=recipe.fold_traditional)
        units = hash_words(characters_and_words(normalised), key=self._tokens_key)
        tokens = self.segmenter.all_tokens(said_once(normalised))
        features = weigh_text(recipe.noise_words.left_of(tokens), tokens)
        count = len(features)
        reason = None
        if count < recipe.minimum:
            reason = f"{count or 'no'} feature{'s' * (count != 1)}, {recipe.minimum} are needed"
        mask = self._mask(shown)
        hashes = hash_words(list(features), key=self._features_key).tolist()
        units = units ^ np.uint64(mask)
        sketched, numbering = recipe.sketched and not reason, numbering_of(recipe.key)
        return Fingerprinted(
            fingerprint=None if reason else simhash(hashes, features.values(), 64) ^ mask,
            text_hash=hash_content(units, text.encode("utf-8", "surrogatepass"), url, self._content_key),
            tokens=len(units),
            language=language(normalised),
            reason=reason,
            sketch=sketch_by_definition(units.tolist(), numbering) if sketched else b"",
            bands=bands_by_definition(units.tolist(), numbering) if sketched else b"",
        )

    def _mask(self, shown: Sequence[str]) -> int:
        if not shown:
            return 0
        fold = self.recipe.fold_traditional
        tokens = [
            token for each in shown for token in ("\n", *characters_and_words(normalise(each, fold_traditional=fold)))
        ]
        return hash_content(hash_words(tokens, key=self._tokens_key), b"", "", self._content_key)
