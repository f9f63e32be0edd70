"""How the demo's pages look: a newspaper, its print version, a site that copies it, a board, almost empty pages.

The same text comes in markup as different as on the web, so that the comparison must be of the text and not of the
page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from worker.demo.articles import Article


class Link(NamedTuple):
    """A link's address and text."""

    url: str
    text: str


def newspaper(article: Article, sections: Iterable[Link], more: Iterable[Link]) -> str:
    """An article with the paper's menu above it and links below it."""
    body = f"""<article>
<h1>{escape(article.title)}</h1>
{_paragraphs(article.paragraphs)}
</article>
<aside><ul>{_items(more)}</ul></aside>"""
    return _newspaper(article.title, article.language, sections, body)


def front(title: str, introduction: Sequence[str], sections: Iterable[Link], links: Iterable[Link]) -> str:
    """A page of links with a few sentences of its own."""
    body = f"""<article>
<h1>{escape(title)}</h1>
{_paragraphs(introduction)}
</article>
<nav class="list"><ul>{_items(links)}</ul></nav>"""
    return _newspaper(title, "en", sections, body)


def not_found(sections: Iterable[Link]) -> str:
    """The paper's page, with status 200, in place of pages that are gone."""
    body = """<article>
<h1>We could not find this page</h1>
<p>The page that you are looking for has moved, or has never been here. Perhaps the address was mistyped, or a link that
you followed is older than our new system. Try one of the sections above, or write to the editors, who know the archive
by heart and answer on weekdays between nine and five.</p>
</article>"""
    return _newspaper("Not found", "en", sections, body)


def print_version(article: Article) -> str:
    """The text and nothing else."""
    return f"""<!DOCTYPE html>
<html lang="{article.language}">
<head><meta charset="utf-8"><title>{escape(article.title)} (print)</title><style>@page {{ margin: 2cm }}</style></head>
<body onload="window.print()">
<h1>{escape(article.title)}</h1>
{_paragraphs(article.paragraphs)}
</body>
</html>
"""


def mirror(article: Article, more: Iterable[Link], charset: str | None) -> str:
    """The same article on a site that lives from copying, laid out with tables; it may not say its encoding."""
    meta = f'<meta http-equiv="Content-Type" content="text/html; charset={charset}">' if charset else ""
    text = "\n".join(f'<div class="text"><p>{escape(paragraph)}</p></div>' for paragraph in article.paragraphs)
    return f"""<html>
<head>{meta}<title>{escape(article.title)} - reader</title>
<style>.text {{ margin: 1em }}</style></head>
<body>
<div id="top"><ul><li><a href="/">1</a></li><li><a href="/#2">2</a></li><li><a href="/#3">3</a></li></ul></div>
<table><tr><td class="menu"><a href="/">menu</a><br>{"<br>".join(map(_anchor, more))}</td><td>
<div id="main">
<h2>{escape(article.title)}</h2>
{text}
</div>
</td></tr></table>
<div class="footer"><a href="/">mobile</a> | <a href="/">top</a></div>
<script>var visits = {len(text)};</script>
</body></html>
"""


def board(article: Article, newer: Iterable[Link]) -> str:
    """A post on a board that brings an article once more."""
    text = "\n".join(f"<p>{escape(paragraph)}</p>" for paragraph in article.paragraphs)
    return f"""<!DOCTYPE html>
<html lang="{article.language}">
<head><meta charset="utf-8"><title>{escape(article.title)} - reader</title></head>
<body>
<header><nav><a href="/board/">board</a></nav></header>
<main><section class="post"><h3>{escape(article.title)}</h3><div class="post-body">
{text}
</div></section></main>
<footer>{"".join(map(_anchor, newer))}</footer>
</body>
</html>
"""


def bare(title: str, text: str) -> str:
    """A page with a line on it, or with none."""
    paragraph = f"<p>{escape(text)}</p>" if text else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{escape(title)}</title></head>
<body>{paragraph}</body>
</html>
"""


def _newspaper(title: str, language: str, sections: Iterable[Link], body: str) -> str:
    return f"""<!DOCTYPE html>
<html lang="{language}">
<head><meta charset="utf-8"><title>{escape(title)}</title></head>
<body>
<header><nav>{" ".join(map(_anchor, sections))}</nav></header>
{body}
<footer>© The Cape Courier</footer>
</body>
</html>
"""


def _paragraphs(paragraphs: Iterable[str]) -> str:
    return "\n".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs)


def _items(links: Iterable[Link]) -> str:
    return "".join(f"<li>{_anchor(link)}</li>" for link in links)


def _anchor(link: Link) -> str:
    return f'<a href="{escape(link.url)}">{escape(link.text)}</a>'
