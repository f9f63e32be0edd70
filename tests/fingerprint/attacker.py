"""An attacker who wants pages to vanish: he first publishes pages that are near to them but have nothing in common with
them that a reader would see.

He knows the code, the settings and his victims' texts, and computes with the key of his recipe, if it has one. His work
takes milliseconds per victim, after a second of preparation.
"""

from __future__ import annotations

from random import Random
from string import ascii_lowercase
from typing import Final

import numpy as np
import numpy.typing as npt

from tests.fingerprint.definition.segment import characters_and_words
from tests.fingerprint.definition.sketch import GOLDEN
from worker.fingerprint.fingerprinter import Fingerprinter
from worker.fingerprint.hashing import hash_words
from worker.fingerprint.sketch import BANDS, ROWS, SLOTS, STEP, numbering_of
from worker.page.words.normalise import normalise

WORDS: Final = 1024
PICKED: Final = 64
"""Words that make up a fingerprint."""
TRIES: Final = 60
URL: Final = "https://attacker.example/"


class Attacker:
    """Makes pages that are near to a victim according to ``fingerprinter``."""

    def __init__(self, fingerprinter: Fingerprinter, seed: int = 1) -> None:
        self.chance = Random(seed)
        self.words = ["".join(self.chance.choices(ascii_lowercase, k=7)) for _ in range(WORDS)]
        self.fingerprinter = fingerprinter
        key = fingerprinter.recipe.key
        features, tokens = (key.features, key.tokens) if key else (None, None)
        hashes = hash_words(self.words, key=features)
        self.votes = ((hashes[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).astype(np.float64) * 2 - 1
        self.tokens_key = tokens
        self.numbering = numbering_of(key)
        self.of_slot = self._bigrams_of_slots()

    def with_the_fingerprint_of(self, victim: str) -> str:
        """As many words as the victim has, whose votes add up to its fingerprint."""
        made = self.fingerprinter.of_text(victim, URL)
        assert made.fingerprint is not None
        wanted = np.array([made.fingerprint >> bit & 1 for bit in range(64)]) * 2.0 - 1
        margins = np.zeros(64)
        agreeing = self.votes * wanted
        picked: list[int] = []
        for _ in range(PICKED):  # as in boosting, each word is the one that helps most where help is still most needed
            best = int((agreeing @ np.exp(-margins / 2)).argmax())
            agreeing[best] = 0
            margins += self.votes[best] * wanted
            picked.append(best)
        order = [self.words[number] for number in picked]
        text = ""
        for _ in range(TRIES):
            self.chance.shuffle(order)
            text = " ".join(order * max(1, round(made.tokens / PICKED)))
            found = self.fingerprinter.of_text(text, URL).fingerprint
            if found is not None and (found ^ made.fingerprint).bit_count() <= 1:
                break
        return text

    def with_the_sketch_of(self, victim: str) -> str:
        """For each slot two words that fill it as the victim's text does, and three of the victim's trigrams for a
        band."""
        made = self.fingerprinter.of_text(victim, URL)
        packed = int.from_bytes(made.sketch, "little")
        pairs = [self.of_slot[slot][packed >> 2 * slot & 3] for slot in range(SLOTS - 1)]
        longer = max(0, (made.tokens * 9 // 10 - 2 * len(pairs)) // 2)
        text = ""
        for band, trigrams in self._rarest_trigrams(victim)[:4] * (TRIES // 4):
            chunks = [" ".join(self.words[number] for number in pair) for pair in pairs]
            chunks[0] = " ".join(chunks[:1] * (1 + longer))
            chunks += trigrams
            self.chance.shuffle(chunks)
            text = " ".join(chunks)
            found = self.fingerprinter.of_text(text, URL)
            if found.bands[4 * band : 4 * band + 4] == made.bands[4 * band : 4 * band + 4]:
                break
        return text

    def _bigrams_of_slots(self) -> list[dict[int, tuple[int, int]]]:
        """For each slot and each value of its two bits the pair of words with the smallest number."""
        hashes = hash_words(self.words, key=self.tokens_key)
        low = _mixed(hashes[:, None] * np.uint64(STEP) + hashes).astype(np.uint32).ravel()
        found: list[dict[int, tuple[int, int]]] = []
        for multiplier in self.numbering.slots[: SLOTS - 1]:
            numbers = low * multiplier
            few = np.flatnonzero(numbers < np.uint32(2**32 // 2**14))
            few = few[np.argsort(-numbers[few].astype(np.int64))]
            bits = (numbers[few] * np.uint32(GOLDEN)) >> np.uint32(30)
            smallest_last = zip(bits.tolist(), few.tolist(), strict=True)
            found.append({value: divmod(pair, WORDS) for value, pair in smallest_last})
        return found

    def _rarest_trigrams(self, victim: str) -> list[tuple[int, list[str]]]:
        """By band the victim's trigrams with the smallest numbers, the bands with the smallest numbers first."""
        tokens = characters_and_words(normalise(victim))
        hashes = hash_words(tokens, key=self.tokens_key)
        pairs = hashes[:-2] * np.uint64(STEP) + hashes[1:-1]
        low = _mixed(pairs * np.uint64(STEP) + hashes[2:]).astype(np.uint32)
        numbers = low[:, None] * self.numbering.bands
        places, smallest = numbers.argmin(axis=0), numbers.min(axis=0).astype(np.float64)
        of_bands = sorted(range(BANDS), key=lambda band: float(smallest[ROWS * band : ROWS * (band + 1)].sum()))
        return [
            (band, [" ".join(tokens[place : place + 3]) for place in places[ROWS * band : ROWS * (band + 1)].tolist()])
            for band in of_bands
        ]


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    values = (values ^ values >> np.uint64(33)) * np.uint64(0xFF51AFD7ED558CCD)
    values = (values ^ values >> np.uint64(33)) * np.uint64(0xC4CEB9FE1A85EC53)
    return values ^ values >> np.uint64(33)
