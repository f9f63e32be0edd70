"""Readers' comments on an article, in blocks of all shapes, and blocks that only look like comments."""

from __future__ import annotations

import pytest

from tests.page.main_text.test_beside import names, prose

TEXT = prose("tekst", 60) * 4
ARTICLE = f"<article><h1>Tytuł</h1>{TEXT}{{}}</article>"
REPLIES = "".join(f"<div><div>Ewa · {n} godz. temu</div><div>{prose('nie', 12)}</div></div>" for n in range(1, 5))
DAYS = ("3 maja 2024, 10:15", "2024-05-04 09:20", "5.05.2024", "6/05/24 23:10")
SHAPES = {
    "paragraphs": "<div><p><b>Ewa</b> {day}</p><p>{text}</p></div>",
    "items": "<li><strong>Ewa</strong> <span>{day}</span><div>{text}</div></li>",
    "terms": "<dt>Ewa, {day}</dt><dd>{text}</dd>",
    "rows": "<tr><td>Ewa<br>{day}</td><td>{text}</td></tr>",
    "articles": "<article><header>Ewa <time>{day}</time></header><p>{text}</p></article>",
    "quotations": "<blockquote><p>{text}</p><cite>Ewa, {day}</cite></blockquote>",
    "headings": "<div><h4>Ewa</h4><small>{day}</small><p>{text}</p></div>",
    "lines": "<div>Ewa | {day}<br>{text}</div>",
    "a row of paragraphs": "<p><b>Ewa</b> {day}</p><p>{text}</p>",
    "replies to each other": "<div><p><b>Ewa</b> {day}</p><p>{text}</p>",
}


def test_comments_go_by_their_bylines_whatever_they_are_called() -> None:
    article = f"<article><h1>Tytuł</h1>{prose('raz', 60)}{prose('dwa', 60)}<div>{REPLIES}</div></article>"
    assert names(article) == ["Tytuł", "raz", "dwa"]
    assert "nie" in names(article, "posts")


def test_posts_that_are_longer_than_the_text_beside_them_are_a_thread() -> None:
    assert names(f"<div>{prose('raz', 20)}<div>{REPLIES}</div></div>").count("nie") == 4


def test_cards_with_headings_and_steps_without_numbers_are_no_posts() -> None:
    cards = "".join(f"<div><h3>Model {n} za 20 zł</h3><div>{prose('karta', 12)}</div></div>" for n in range(1, 5))
    steps = "".join(f"<div><div>Krok następny</div><div>{prose('krok', 12)}</div></div>" for _ in range(4))
    article = f"<article><h1>Tytuł</h1>{prose('raz', 90)}{prose('dwa', 90)}<div>{{}}</div></article>"
    assert names(article.format(cards)).count("karta") == 4
    assert names(article.format(steps)).count("krok") == 4


def remarks(shape: str, days: tuple[str, ...] = DAYS, words: int = 40) -> str:
    """Comments of these days, in a block of this shape."""
    text = " ".join(["nie", *("słowo" for _ in range(words - 1))])
    return f"<div>{''.join(SHAPES[shape].format(day=day, text=text) for day in days)}</div>"


@pytest.mark.parametrize("shape", SHAPES)
def test_what_readers_say_under_an_article_goes_whatever_the_shape_of_its_blocks(shape: str) -> None:
    page = ARTICLE.format(remarks(shape))
    assert names(page) == ["Tytuł", *["tekst"] * 4]
    assert "nie" in names(page, "remarks", "posts")


@pytest.mark.parametrize("shape", SHAPES)
def test_it_goes_though_all_of_it_is_longer_than_the_article(shape: str) -> None:
    assert "nie" not in names(ARTICLE.format(remarks(shape, DAYS * 2, words=55)))


@pytest.mark.parametrize(
    "day",
    [
        "۱۲ مرداد ۱۴۰۳",
        "١٢ مايو ٢٠٢٤",
        "2024年5月3日 10:15",
        "발행 2024.05.03",
        "3. mai 2024 kl. 10.15",
        "17 Μαΐου 2024",
    ],
)
def test_dates_are_known_in_many_scripts(day: str) -> None:
    assert "nie" not in names(ARTICLE.format(remarks("lines", (day,) * 4)))


def test_what_is_dated_piece_by_piece_under_a_short_introduction_is_the_article() -> None:
    page = f"<h1>Na żywo</h1>{prose('wstęp', 60)}{prose('wstęp', 60)}{remarks('paragraphs', DAYS * 3)}"
    assert names(page).count("nie") == 12


@pytest.mark.parametrize(
    "piece",
    [
        "<div><h3>Zupełnie {n} inny tytuł tej części</h3><p>3 maja 2024</p><p>{text}</p></div>",  # other articles
        "<div><p>3 maja</p><p>{text}</p></div>",  # no year
        "<div><p>Model z 2024 dla domu i ogrodu, dobry na wiosnę oraz lato</p><p>{text}</p></div>",  # a sentence
        "<div><p>2024</p><p>{text}</p></div>",  # a cell with a number
        "<div><p>za 1499,99 zł</p><p>{text}</p></div>",  # a price
        "<div><p>{text}</p><p>{text}</p></div>",
    ],
)
def test_pieces_without_a_line_of_a_date_or_with_titles_of_their_own_stay(piece: str) -> None:
    words = [" ".join([f"tak{letter}", *("słowo" for _ in range(30))]) for letter in "abcd"]
    pieces = "".join(piece.format(n=word[3], text=word) for word in words)
    found = names(ARTICLE.format(f"<section>{pieces}</section>"), "posts")
    assert {"taka", "takb", "takc", "takd"} <= set(found)


def test_a_text_with_many_lines_for_each_date_is_no_talk() -> None:
    week = "<p>Tydzień od 3.05.2024</p>" + "".join(f"<p>{prose('tak', 12)}</p><p>Odpoczynek</p>" for _ in range(6))
    assert names(ARTICLE.format(f"<div>{week * 4}</div>")).count("tak") == 24
