"""The explanation page, as a browser gets it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from worker.evaluate.literature.comparison import compare
from worker.evaluate.literature.explained import Explainer
from worker.evaluate.literature.measures import BlockLayout
from worker.evaluate.literature.variant import Variant
from worker.fingerprint.conditions import rules
from worker.fingerprint.fingerprinter import Recipe
from worker.fingerprint.near import AccurateNear
from worker.page.extract import from_text
from worker.results.explain.causes import causes
from worker.results.explain.explanation_page import Explanation, explanation_page
from worker.results.report.difference import difference_of
from worker.results.report.words import cut_by

RECIPE = Recipe(sketched=True)
HOSTILE = "<script>alert(1)</script> \u202e</style><img src=x onerror=alert(2)> "


class Elements(HTMLParser):
    """The names of all elements and attributes, and the text of marked words."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.marked: list[tuple[str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("ins", "del"):
            self.marked.append((self.open[-1], data))


def explained(a: str, b: str) -> str:
    explainer = Explainer(RECIPE)
    both = (
        explainer.explain(from_text(a), "http://a.example/"),
        explainer.explain(from_text(b), "http://b.example/"),
    )
    near = AccurateNear()
    comparison = compare(*both, near=near, layout=BlockLayout.parse("4x16"))
    texts, found = difference_of(a, b, cut_by(RECIPE.reader)), causes(*both, Variant())
    return explanation_page(Explanation((HOSTILE, "b.html"), comparison, rules(near, *both), texts, found))


def test_words_that_differ_are_marked_and_the_rule_that_decides_is_named() -> None:
    words = " ".join(f"word{number}" for number in range(60))
    page = explained(words, words.replace("word30", "another"))
    assert Elements(page).marked == [("del", "word30"), ("ins", "another")]
    assert re.search(r"The pages are near, by (hamming|sketch)\.", page)
    assert "(decides)" in page
    assert "word29 word30" in page, "a bigram that holds slots"


@pytest.mark.parametrize("other", ["", "a", HOSTILE * 20, "所有的飞碟 " * 40])
def test_nothing_of_a_page_becomes_markup_and_nothing_is_loaded(other: str) -> None:
    found = Elements(explained(HOSTILE * 20, other))
    assert not found.open
    assert not found.names & {"script", "img", "iframe", "object"}
    assert not {name for name in found.attributes if name.startswith("on") or name == "src"}
    page = explained(HOSTILE * 20, other)
    assert "\u202e" not in page
    assert "http://" not in page and "https://" not in page
    assert "default-src &#x27;none&#x27;" in page
