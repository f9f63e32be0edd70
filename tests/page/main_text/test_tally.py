"""How words are counted."""

from __future__ import annotations

import numpy as np
import pytest

from worker.page.elements.markup import parse
from worker.page.main_text.shown import hide
from worker.page.main_text.tally import BRIEF, FLOW, LINKS, LONG, OF_ELEMENTS, OF_RUNS, survey, tally, words_in


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        (" .,;-", 0),
        ("one two-three 4", 4),
        ("网页的编码。", 5),
        ("python教程3", 4),
        ("ひらがなカタ", 6),
        ("한국어", 3),
        ("русский текст", 2),
        ("café", 1),
    ],
)
def test_words_of_all_languages_are_counted(text: str, words: int) -> None:
    assert words_in(parse(text).body, 0, len(text.encode())) == words


def counted(markup: str) -> dict[str, int]:
    """Words of a whole page."""
    body, elements, runs, _ = parse(markup)
    known = np.zeros((len(elements), OF_ELEMENTS), dtype=np.int32)
    said = np.zeros((len(runs), OF_RUNS), dtype=np.int32)
    hide(body, elements, runs, True, known, said)
    survey(elements, runs, known, said)
    tally(elements, runs, known, said)
    names = {"links": LINKS, "long": LONG, "brief": BRIEF, "flow": FLOW}
    return {name: int(known[0, column]) for name, column in names.items()}


LINE = "<p>jeden dwa trzy cztery pięć sześć siedem osiem</p>"


@pytest.mark.parametrize(
    ("markup", "links", "long", "brief", "flow"),
    [
        ("<p>jeden dwa</p>", 0, 0, 2, 0),
        (LINE, 0, 8, 0, 8),
        (f"<div>{LINE}<ul><li>{LINE}</ul></div>", 0, 16, 0, 16),
        (f"<div><div>{LINE}</div></div><div>{LINE}{LINE}</div>", 0, 24, 0, 16),
        ("<p>jeden <a href=/>dwa trzy</a></p>", 2, 0, 1, 0),
        ("<p>jeden <a name=x>dwa trzy</a></p>", 0, 0, 3, 0),
        (f"<script>{LINE}</script><noscript>{LINE}</noscript>", 0, 0, 0, 0),
    ],
)
def test_words_are_of_links_of_long_lines_or_of_short_ones(
    markup: str, links: int, long: int, brief: int, flow: int
) -> None:
    assert counted(markup) == {"links": links, "long": long, "brief": brief, "flow": flow}
