"""The demo's markup: it holds every text of an article unchanged, whatever characters the text has."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from typing import Final

import pytest

from worker.demo import templates
from worker.demo.articles import Article
from worker.demo.templates import Link

ODD: Final = Article("odd", "food", "en", "Salt & <pepper>", ('She said: "2 < 3".', "盐 & 胡椒。"))
LINK: Final = Link("/food/a?b=1&c=2", "more & <more>")


class Read(HTMLParser):
    """Texts and addresses of links as a browser would show and follow them."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.links: list[str] = []
        self.feed(markup)
        self.close()

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attrs if tag == "a" and name == "href" and value]


@pytest.mark.parametrize(
    "made",
    [
        lambda: templates.newspaper(ODD, [LINK], []),
        lambda: templates.newspaper(ODD, [], [LINK]),
        lambda: templates.mirror(ODD, [LINK], "utf-8"),
        lambda: templates.board(ODD, [LINK]),
        lambda: templates.front(ODD.title, ODD.paragraphs, [LINK], []),
        lambda: templates.front(ODD.title, ODD.paragraphs, [], [LINK]),
    ],
)
def test_texts_and_links_stand_in_the_page_as_they_are(made: Callable[[], str]) -> None:
    read = Read(made())
    assert {ODD.title, *ODD.paragraphs, LINK.text} <= set(read.texts)
    assert LINK.url in read.links


def test_a_print_version_has_the_text_and_no_link() -> None:
    read = Read(templates.print_version(ODD))
    assert {ODD.title, *ODD.paragraphs} <= set(read.texts)
    assert read.links == []


def test_a_mirror_names_its_encoding_only_where_it_is_given_one() -> None:
    assert 'charset=gbk"' in templates.mirror(ODD, [], "gbk")
    assert "charset" not in templates.mirror(ODD, [], None)


def test_a_bare_page_without_text_has_no_paragraph() -> None:
    assert "<p>Moved &amp; gone</p>" in templates.bare("Moved", "Moved & gone")
    assert "<p>" not in templates.bare("", "")
