"""Words are counted by element, and line numbers are not words."""

from __future__ import annotations

import numpy as np
import pytest

from worker.page.elements.markup import parse
from worker.page.main_text.content import main_content
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


WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota")
LINES = [f"{word} = harbour({word}, tide)" for word in WORDS]


def rows(numbers: list[int], cell: str) -> str:
    pairs = zip(numbers, LINES, strict=False)
    return f"<table>{''.join(f'<tr>{cell.format(number, line)}</tr>' for number, line in pairs)}</table>"


def lines(form: str, first: int = 1) -> str:
    return "\n".join(form.format(number, line) for number, line in enumerate(LINES, first))


def column(between: str, first: int = 1) -> str:
    return between.join(str(first + number) for number in range(len(LINES)))


def words(markup: str) -> list[str]:
    return main_content(f"<title>boat.py</title><main><h1>boat.py</h1>{markup}</main>").text.split()


BARE = words(f"<pre>{lines('{1}')}</pre>")


@pytest.mark.parametrize(
    "markup",
    [
        rows([*range(1, 10)], "<td class=lineno>{}</td><td><pre>{}</pre></td>"),
        rows([*range(120, 129)], "<td>{}</td><td><code>{}</code></td>"),
        f"<table><tr><td><pre>{column(chr(10))}</pre></td><td><pre>{lines('{1}')}</pre></td></tr></table>",
        f"<div>{column('<br>')}</div><pre>{lines('{1}')}</pre>",
        f"<pre>{lines('<span class=ln>{0}</span>{1}')}</pre>",
        f"<pre>{lines('<span class=ln>{0:4} </span>{1}', 997)}</pre>",
        f"<pre>{lines('<a id=L{0} href=#L{0}>{0}</a> {1}')}</pre>",
        f"<pre>{lines('{0:3}: {1}', 0)}</pre>",
        f"<pre>{lines('{0}&nbsp;{1}')}</pre>",
        f"<pre>{lines('{0}| {1}').replace(chr(10), chr(13) + chr(10))}</pre>",
        "".join(f"<div><span>{number}</span><code>{line}</code></div>" for number, line in enumerate(LINES, 1)),
        "".join(f"<div><i class=lineno>{number}</i><b>{line}</b></div>" for number, line in enumerate(LINES, 1)),
        f"<ol>{lines('<li>{1}</li>')}</ol>",
    ],
)
def test_a_listing_has_the_text_of_one_without_numbers(markup: str) -> None:
    assert words(markup) == BARE


@pytest.mark.parametrize(
    ("markup", "kept"),
    [
        (rows([*range(1990, 1999)], "<td>{}</td><td><code>{}</code></td>"), "1994"),
        (rows([*range(1, 10)], "<td>{}</td><td>{}</td>"), "5"),
        (rows([*range(1, 10)], "<td>{}</td><td>{}</td>") + "<pre>the end</pre>", "5"),
        (rows([3, 20, 37, 54, 71, 88], "<td>{}</td><td><pre>{}</pre></td>"), "54"),
        (rows([1, 2, 3, 4], "<td class=ln>{}</td><td><pre>{}</pre></td>"), "3"),
        (rows([1, 2, 3, 4, 6, 7, 8, 9], "<td class=ln>{}</td><td><pre>{}</pre></td>"), "3"),
        (lines("<p>{1} {0}</p>"), "5"),
        (lines("<p>{0}. {1}</p>"), "5"),
        (lines("{0}) {1}<br>"), "5)"),
        ("".join(f"<p>{number}.5 litres of it</p>" for number in range(1, 9)), "5"),
        ("".join(f"<p>{number},000 people</p>" for number in range(1, 9)), "000"),
        ("".join(f"<p>{number}th of them</p>" for number in range(4, 12)), "5th"),
        ("".join(f"<p>{number} of them</p>" + "<p>words</p>" * 20 for number in range(1, 9)), "5"),
        (f"<p>{column(' ')} are numbers</p>", "5"),
    ],
)
def test_numbers_that_count_no_lines_stay(markup: str, kept: str) -> None:
    assert kept in " ".join(words(markup)).replace(".", " ").replace(",", " ").split()


def test_numbers_among_the_lines_do_not_end_the_count() -> None:
    markup = rows([*range(1, 10)], "<td>{}</td><td><code>{}</code></td><td class=ln>17</td>")
    assert set("456789") & set(words(markup)) == set()
    assert "17" in words(markup)
