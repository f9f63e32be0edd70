"""Pages that make others vanish: an attack that works while all hashes are public fails against a key."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations, islice
from typing import NamedTuple

import pytest

from tests.fingerprint.attacker import Attacker
from tests.fingerprint.definition.segment import characters_and_words
from tools.quality.own_pages import originals
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.fingerprint.key import Key
from worker.fingerprint.near import HAMMING_RATIO, AccurateNear, SimHashNear
from worker.page.words.normalise import normalise

PUBLIC = Recipe(sketched=True)
KEYED = replace(PUBLIC, key=Key.of(b"the secret of this crawl"))
OTHER = replace(PUBLIC, key=Key.of(b"a secret of the attacker"))
SIMHASH = SimHashNear(3, HAMMING_RATIO)
ACCURATE = AccurateNear()
VICTIMS = 100
MOST = 90
"""How many of the victims must vanish."""


@pytest.fixture(scope="module")
def victims() -> list[str]:
    """Texts of the project's own in two parts, half of them Chinese: 240 to 600 tokens."""
    long = {language: [page for page in originals() if page.language == language] for language in ("zh", "en")}
    found: list[str] = []
    for pages in long.values():
        texts = ("\n".join((*one.paragraphs, *other.paragraphs)) for one, other in combinations(pages, 2))
        fitting = (text for text in texts if 240 <= len(characters_and_words(normalise(text))) <= 600)
        found += islice(fitting, VICTIMS // 2)
    assert len(found) == VICTIMS
    return found


class Crafted(NamedTuple):
    """An attacker's pages, one per victim: those made by fingerprint, and those made by sketch."""

    fingerprints: list[str]
    sketches: list[str]


@cache
def fingerprinter_of(recipe: Recipe) -> Fingerprinter:
    return Fingerprinter(recipe)


def vanished(victims: list[str], pages: list[str], crawl: Recipe, near: SimHashNear | AccurateNear) -> int:
    """How many victims are near to the page that was published before them, in a crawl with the recipe ``crawl``."""
    fingerprinter = fingerprinter_of(crawl)
    made = [
        (fingerprinter.of_text(page, "https://attacker.example/"), fingerprinter.of_text(victim, "https://a.example/"))
        for page, victim in zip(pages, victims, strict=True)
    ]
    return sum(near(ours, theirs) is not None for ours, theirs in made)


def crafted(victims: list[str], believed: Recipe) -> Crafted:
    attacker = Attacker(fingerprinter_of(believed))
    return Crafted(
        [attacker.with_the_fingerprint_of(text) for text in victims],
        [attacker.with_the_sketch_of(text) for text in victims],
    )


@pytest.fixture(scope="module")
def by_public_hashes(victims: list[str]) -> Crafted:
    return crafted(victims, PUBLIC)


@pytest.fixture(scope="module")
def by_another_key(victims: list[str]) -> Crafted:
    return crafted(victims, OTHER)


@pytest.fixture(scope="module")
def by_the_key_itself(victims: list[str]) -> Crafted:
    return crafted(victims, KEYED)


def test_without_a_key_most_victims_vanish_by_either_predicate(victims: list[str], by_public_hashes: Crafted) -> None:
    assert vanished(victims, by_public_hashes.fingerprints, PUBLIC, SIMHASH) >= MOST
    assert vanished(victims, by_public_hashes.sketches, PUBLIC, ACCURATE) >= MOST


def test_what_makes_them_vanish_has_next_to_nothing_in_common_with_them(
    victims: list[str], by_public_hashes: Crafted
) -> None:
    pages = by_public_hashes.fingerprints + by_public_hashes.sketches
    for victim, page in zip(victims * 2, pages, strict=True):
        ours, theirs = (characters_and_words(normalise(text)) for text in (page, victim))
        assert sum(token in set(theirs) for token in ours) <= 9


def test_with_a_key_that_the_attacker_lacks_none_does(
    victims: list[str], by_public_hashes: Crafted, by_another_key: Crafted
) -> None:
    for pages in (*by_public_hashes, *by_another_key):
        assert [vanished(victims, pages, KEYED, near) for near in (SIMHASH, ACCURATE)] == [0, 0]


def test_it_is_the_key_that_stands_in_the_way(victims: list[str], by_the_key_itself: Crafted) -> None:
    assert vanished(victims, by_the_key_itself.fingerprints, KEYED, SIMHASH) >= MOST
    assert vanished(victims, by_the_key_itself.sketches, KEYED, ACCURATE) >= MOST


def test_who_learns_the_hashes_in_fingerprints_from_verdicts_does_not_get_past_the_sketches(
    victims: list[str], by_the_key_itself: Crafted
) -> None:
    assert vanished(victims, by_the_key_itself.fingerprints, KEYED, ACCURATE) == 0
