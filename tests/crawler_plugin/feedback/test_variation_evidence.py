"""The evidence that is enough for a rule that a variation changes nothing."""

from __future__ import annotations

import random

from crawler_plugin.feedback.decision import FeedbackPolicy
from crawler_plugin.feedback.template_memory import TemplateMemory
from crawler_plugin.feedback.variation_evidence import (
    LEAST_PAGES,
    MOST,
    MOST_EXAMPLES,
    MOST_OF_SITE,
    MOST_VALUES,
    KindEvidence,
    VariationEvidence,
    VariationKind,
)

SITE = "https://a.example"


def memory_of(pages: int, share_different: float, seed: int = 0, addresses: int = 1) -> TemplateMemory:
    """Lists with further pages, which show the same list except on this share of the pages."""
    chance = random.Random(seed)
    known = TemplateMemory(FeedbackPolicy())
    for number in range(pages):
        page = f"{SITE}/{number}/"
        known.learn(page, "unique")
        differs = chance.random() < share_different
        for address in range(addresses):
            known.learn(f"{page}?page={address}", "unique" if differs else "duplicate", None if differs else page)
    return known


def seen(known: TemplateMemory, name: str = "?page") -> KindEvidence:
    return dict(known.variations)[VariationKind("a.example", name)]


def test_sixty_pages_are_enough_and_fifty_nine_are_not() -> None:
    assert not seen(memory_of(LEAST_PAGES - 1, 0)).is_enough
    assert seen(memory_of(LEAST_PAGES, 0)).is_enough


def test_a_thousand_addresses_of_few_pages_are_not_enough() -> None:
    assert not seen(memory_of(5, 0, addresses=200)).is_enough


def test_one_different_page_is_too_many_whenever_it_comes() -> None:
    known = memory_of(LEAST_PAGES, 0)
    known.learn(f"{SITE}/1/?page=9", "unique")
    assert not seen(known).is_enough
    assert seen(known).examples == [(f"{SITE}/1/?page=9", f"{SITE}/1/")]


def test_a_parameter_that_matters_on_a_twentieth_of_pages_is_named_in_less_than_a_twentieth_of_cases() -> None:
    named = sum(seen(memory_of(LEAST_PAGES, 0.05, seed)).is_enough for seed in range(300))
    assert named <= 0.08 * 300, "0.95 ** 60 of them are expected, 14"


def test_parameters_that_always_come_together_are_learned_each() -> None:
    known = TemplateMemory(FeedbackPolicy())
    for number in range(LEAST_PAGES):
        known.learn(f"{SITE}/{number}", "unique")
        known.learn(f"{SITE}/{number}?utm_medium=link&utm_source={number}", "duplicate", f"{SITE}/{number}")
    medium, source = seen(known, "?utm_medium"), seen(known, "?utm_source")
    assert medium.is_enough and source.is_enough
    assert (medium.values, len(source.values)) == ({"link"}, MOST_VALUES + 1)
    assert len(medium.examples) == MOST_EXAMPLES


def test_of_several_together_a_difference_says_nothing_of_each() -> None:
    known = TemplateMemory(FeedbackPolicy())
    for number in range(LEAST_PAGES):
        page = f"{SITE}/?id={number}"
        known.learn(page, "unique")
        known.learn(f"{page}&sid={number}", "duplicate", page)
    known.learn(SITE, "unique")
    assert VariationKind("a.example", "?id") not in dict(known.variations) or not seen(known, "?id").is_enough
    assert seen(known, "?sid").different == 0


def test_a_site_that_floods_neither_takes_the_room_of_others_nor_makes_the_crawl_forget() -> None:
    known = memory_of(LEAST_PAGES, 1.0)
    for number in range(1000):
        known.learn(f"https://b.example/{number}", "unique")
        known.learn(f"https://b.example/{number}?p{number}=1", "duplicate", f"https://b.example/{number}")
    assert sum(kind.site == "b.example" for kind, _ in known.variations) == MOST_OF_SITE
    assert not seen(known).is_enough
    full = VariationEvidence()
    for number in range(MOST):
        full.put(VariationKind(f"{number}.example", "?a"), KindEvidence())
    for number in range(10):
        flooding = TemplateMemory(FeedbackPolicy(), {}, full)
        flooding.learn(f"https://c{number}.example/", "unique")
        flooding.learn(f"https://c{number}.example/?sid=1", "unique")
    assert len(list(full)) == MOST
