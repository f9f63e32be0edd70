"""Columns that count the lines of a listing, and columns of numbers that are what a table says."""

from __future__ import annotations

import pytest

from worker.page.main_text.content import main_content

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
