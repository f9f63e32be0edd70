"""Parts of a page that belong to another page, and parts that only look so."""

from __future__ import annotations

import pytest

from worker.page.main_text.content import main_content
from worker.page.main_text.rules import RULES, without

ALL_LINES = without(*(rule for rule in RULES if rule.name == "repeated"))
"""Even though many lines are the same here."""
CRANE, APPLES, CHOIR = "Crane falls into the harbour", "Fewer apples sold", "Children sing for the bridge"
MENU = "<div><a href=/>Home</a> <a href=/news>News</a></div>"


def own(paragraphs: int = 5) -> str:
    return "".join(
        f"<p>The harbour was closed on Tuesday after a crane fell into the water, and stays so for {n} weeks.</p>"
        for n in range(paragraphs)
    )


def other(paragraphs: int = 1) -> str:
    return "".join(
        f"<p>Farmers in the valley have sold fewer apples than in any other year since records began, and {n} less.</p>"
        for n in range(paragraphs)
    )


def page(body: str, title: str = f"{CRANE} | Post") -> str:
    return f"<title>{title}</title><body>{MENU}{body}"


def linked(heading: str, rank: int) -> str:
    return f"<h{rank}><a href='/{heading.replace(' ', '-')}'>{heading}</a></h{rank}>"


ANOTHERS = {
    "articles that are read on and on": f"<div><article><h1>{CRANE}</h1>{own()}</article>"
    f"<article>{linked(APPLES, 1)}{other(7)}</article></div>",
    "with a heading that is no link": f"<div><article><h1>{CRANE}</h1>{own()}</article>"
    f"<article><h1>{APPLES}</h1>{other(7)}</article></div>",
    "of a page without articles, dated": f"<div><div class=story><h1>{CRANE}</h1>{own()}</div>"
    f"<div class=story><h1>{APPLES}</h1><p>12 May</p>{other(7)}</div></div>",
    "in a container of its own": f"<div><main><article><h1>{CRANE}</h1>{own()}</article></main>"
    f"<div><article><h1>{APPLES}</h1>{other(7)}</article></div></div>",
    "an archive below a post": f"<h1><a href=/>Blog</a></h1><div><div class=post>{linked(CRANE, 2)}{own()}</div>"
    f"<div class=post>{linked(APPLES, 2)}{other(4)}</div><div class=post>{linked(CHOIR, 2)}{other(3)}</div></div>",
    "an archive without blocks": f"<h1><a href=/>Blog</a></h1><div>{linked(CRANE, 2)}{own()}{linked(APPLES, 2)}"
    f"{other(4)}{linked(CHOIR, 2)}{other(3)}</div>",
    "teasers": f"<div><h1>{CRANE}</h1>{own()}<div><div>{linked(APPLES, 3)}{other()}</div>"
    f"<div>{linked(CHOIR, 3)}{other()}</div></div></div>",
    "teasers that are links": f"<div><h1>{CRANE}</h1>{own()}<ul><li><a href=/b><h3>{APPLES}</h3>{other()}</a></li>"
    f"<li><a href=/c><h3>{CHOIR}</h3>{other()}</a></li></ul></div>",
    "teasers without headings": f"<div><h1>{CRANE}</h1>{own()}<div><a href=/b>{APPLES}</a>{other()}</div>"
    f"<div><strong><a href=/c>{CHOIR}</a></strong>{other()}</div></div>",
}


@pytest.mark.parametrize("kind", ANOTHERS)
def test_what_is_another_pages_goes(kind: str) -> None:
    text = main_content(page(ANOTHERS[kind])).text
    assert text.count("harbour was closed") == 5
    assert "apples" not in text


def cards(number: int, rank: int, paragraphs: int) -> str:
    return "".join(f"<div class=k>{linked(f'{APPLES} {n}', rank)}{other(paragraphs)}</div>" for n in range(number))


LISTS = {
    "a category": ("Apples", f"<div><h1>Apples</h1>{cards(8, 2, 1)}</div>"),
    "a blog": ("Blog of apples", f"<div><h1>Blog of apples</h1>{cards(5, 2, 4)}</div>"),
    "things that the title counts": ("10 best apples", f"<div><h1>10 best apples</h1>{own()}{cards(10, 3, 1)}</div>"),
    "things that are told of at length": ("Presses", f"<div><h1>Presses</h1>{own()}{cards(5, 2, 5)}</div>"),
    "a thread": ("Sold apples", f"<div><h1>Sold apples</h1>{cards(4, 3, 4)}</div>"),
}


@pytest.mark.parametrize("kind", LISTS)
def test_what_a_list_is_made_of_stays(kind: str) -> None:
    title, body = LISTS[kind]
    assert main_content(page(body, title), ALL_LINES).text.count("fewer apples") == body.count("fewer apples")


@pytest.mark.parametrize("cue", ["", "Read also: ", "Читайте также: ", "相关阅读：", "Lire aussi&nbsp;: "])
def test_a_line_that_leads_elsewhere_goes_between_paragraphs_and_behind_the_last(cue: str) -> None:
    line = f"<p>{cue}<a href=/b>{APPLES}</a></p>"
    text = main_content(page(f"<div><h1>{CRANE}</h1>{own(3)}{line}{own(3)}{line}</div>")).text
    assert text.count("harbour was closed") == 6
    assert APPLES not in text


def test_lists_of_links_and_many_lines_of_them_stay_between_paragraphs() -> None:
    lines = "".join(f"<p><a href=/{n}>Offer {n}</a></p>" for n in range(4))
    items = "".join(f"<li><a href=/i{n}>Item {n}</a></li>" for n in range(4))
    text = main_content(page(f"<div><h1>{CRANE}</h1>{own(3)}{lines}{own(3)}<ul>{items}</ul>{own(3)}</div>")).text
    assert text.count("Offer") == text.count("Item") == 4


def test_captions_are_not_read_and_names_of_products_are() -> None:
    figure = "<figure><img><figcaption>A crane in the water, as seen from the old town on Tuesday</figcaption></figure>"
    names = "".join(f"<div class=caption>Crane {n}</div>" for n in range(5))
    text = main_content(page(f"<div><h1>{CRANE}</h1>{own(3)}{figure}{own(3)}{names}</div>")).text
    assert "as seen" not in text
    assert text.count("Crane 4") == 1


@pytest.mark.parametrize("name", ["another-pages", "linked-lines"])
def test_each_rule_can_be_left_out(name: str) -> None:
    rule = next(each for each in RULES if each.name == name)
    teaser = f"<p><a href=/b>{APPLES}</a></p>" if name == "linked-lines" else ANOTHERS["teasers"]
    markup = page(f"<div><h1>{CRANE}</h1>{own(3)}{teaser}{own(3)}</div>")
    assert len(main_content(markup, ALL_LINES | without(rule)).text) > len(main_content(markup, ALL_LINES).text)


def test_ten_thousand_headings_within_one_another_are_read() -> None:
    deep = "".join(f"<div><h2><a href=/{n}>{APPLES}</a></h2>" for n in range(10_000))
    assert "harbour was closed" in main_content(page(f"<div><h1>{CRANE}</h1>{own()}{deep}")).text
