"""Labelled pages of the project's own: texts written for it, and edits made by rule.

Long texts are the demo's articles, short ones are in ``short_texts.txt``. A pair is labelled 1 where one side is an
edited copy of the other, and 0 where two texts are different, in the same template or without one. An edit changes less
than a fifth of the tokens, so a label means the same as in the larger collection of labelled pages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from worker.demo.articles import articles

SHORT_TEXTS: Final = Path(__file__).with_name("short_texts.txt")

DATES: Final = {"en": ("3 March 2024", "21 November 2025"), "zh": ("2024年3月3日", "2025年11月21日")}
DATELINE: Final = {"en": "Published on {} by the editors.", "zh": "编辑部发布于{}。"}
ADDED: Final = {
    "en": "Correction: an earlier version gave a wrong year and misspelt the name of the mayor.",
    "zh": "更正：本文早先的版本写错了年份，市长的名字也写错了。",
}
HEAD: Final = {"en": "Home News Weather Market Contact", "zh": "首页 新闻 天气 集市 联系我们"}
FOOT: Final = {"en": "All rights reserved. Print this page", "zh": "版权所有 打印本页"}
SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")

TEMPLATES: Final = (
    "<html><head><title>{title}</title></head><body><header><nav><ul><li><a href='/'>{a}</a></li><li><a href='/n'>{b}"
    "</a></li></ul></nav></header><main><article><h1>{title}</h1>{paragraphs}</article></main>"
    "<footer><p>{foot}</p></footer></body></html>",
    "<html><head><title>{title} | {a}</title></head><body><div id='top'><a href='/'>{a}</a> <a href='/b'>{b}</a></div>"
    "<div class='content'><h2>{title}</h2>{paragraphs}</div><div class='sidebar'><h3>{b}</h3><ul><li><a href='/1'>"
    "{a}</a></li><li><a href='/2'>{b}</a></li></ul></div><div class='footer'>{foot}</div></body></html>",
)


class Page(NamedTuple):
    """A text in paragraphs. ``title`` is empty for short ones."""

    language: str
    title: str
    paragraphs: tuple[str, ...]


def originals() -> list[Page]:
    """All texts, each on a subject of its own."""
    long = []
    for article in articles():
        dateline = DATELINE[article.language].format(DATES[article.language][0])
        long.append(Page(article.language, article.title, (dateline, *article.paragraphs)))
    rows = [line.split(" | ", 1) for line in SHORT_TEXTS.read_text(encoding="utf-8").splitlines()]
    return long + [Page(language, "", (text,)) for language, text in rows]


def date_changed(page: Page) -> Page:
    """Another date in the first line."""
    old, new = DATES[page.language]
    return page._replace(paragraphs=(page.paragraphs[0].replace(old, new), *page.paragraphs[1:]))


def sentence_dropped(page: Page) -> Page:
    """The last paragraph without its shortest sentence."""
    *before, last = page.paragraphs
    sentences = SENTENCE.split(last.strip())
    sentences.remove(min(filter(None, sentences), key=len))
    joined = ("" if page.language == "zh" else " ").join(sentences)
    return page._replace(paragraphs=(*before, joined) if joined else tuple(before))


def paragraph_added(page: Page) -> Page:
    """A correction below."""
    return page._replace(paragraphs=(*page.paragraphs, ADDED[page.language]))


def boilerplate_around(page: Page) -> Page:
    """A line of navigation before and a footer after the text."""
    return page._replace(paragraphs=(HEAD[page.language], *page.paragraphs, FOOT[page.language]))


def all_of_them(page: Page) -> Page:
    """Date changed, sentence dropped, correction below."""
    return paragraph_added(sentence_dropped(date_changed(page)))


def punctuation_changed(page: Page) -> Page:
    """Other signs, the same words."""
    table = str.maketrans({",": " –", ";": ",", "，": " ", "；": "，", "。": "!", ".": "…"})
    return page._replace(paragraphs=tuple(f"» {text.translate(table)}" for text in page.paragraphs))


def word_changed(page: Page) -> Page:
    """A word in the middle is replaced by another, of two characters in Chinese."""
    (text,) = page.paragraphs
    if page.language == "zh":
        middle = len(text) // 2
        return page._replace(paragraphs=(text[:middle] + "另外" + text[middle + 2 :],))
    words = text.split()
    words[len(words) // 2] = "other"
    return page._replace(paragraphs=(" ".join(words),))


EDITS: Final[dict[str, Callable[[Page], Page]]] = {
    "date changed": date_changed,
    "sentence dropped": sentence_dropped,
    "paragraph added": paragraph_added,
    "boilerplate": boilerplate_around,
    "several edits": all_of_them,
}
SHORT_EDITS: Final[dict[str, Callable[[Page], Page]]] = {
    "punctuation changed": punctuation_changed,
    "word changed": word_changed,
}
LEAST_FOR_A_WORD: Final = 60
"""The length in characters from which on one word is less than a fifth of a text: half as many in Chinese."""


def write(folder: Path) -> None:
    """``docs.jsonl`` and ``pairs.jsonl``."""
    documents, pairs = [], []
    pages = originals()
    for number, page in enumerate(pages):
        documents.append(_document(f"{number}", page, 0))
        for name, edited in _edited(page):
            documents.append(_document(f"{number} {name}", edited, 1))
            pairs.append(_pair(f"{number}", f"{number} {name}", 1, name, page))
    for number, page in enumerate(pages):
        for other in range(number + 1, len(pages)):
            if pages[other].language == page.language and bool(pages[other].title) == bool(page.title):
                pairs.append(_pair(f"{number}", f"{other}", 0, "another text", page))
                if page.title and other - number < 4:
                    same = f"{number} boilerplate", f"{other} boilerplate"
                    pairs.append(_pair(*same, 0, "another text, same boilerplate", page))
    for name, rows in (("docs.jsonl", documents), ("pairs.jsonl", pairs)):
        (folder / name).write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


def _edited(page: Page) -> Iterator[tuple[str, Page]]:
    if page.title:
        yield from ((name, edit(page)) for name, edit in EDITS.items())
        return
    yield "punctuation changed", punctuation_changed(page)
    if len(page.paragraphs[0]) * (2 if page.language == "zh" else 1) >= LEAST_FOR_A_WORD:
        yield "word changed", word_changed(page)


def _document(id: str, page: Page, template: int) -> dict[str, Any]:
    a, b = HEAD[page.language].split()[:2]
    paragraphs = "".join(f"<p>{paragraph}</p>" for paragraph in page.paragraphs)
    html = TEMPLATES[template].format(title=page.title, a=a, b=b, paragraphs=paragraphs, foot=FOOT[page.language])
    text = "\n\n".join([page.title, *page.paragraphs] if page.title else page.paragraphs)
    return {"id": id, "lang": page.language, "text": text, "html": html if page.title else None}


def _pair(a: str, b: str, label: int, relation: str, page: Page) -> dict[str, Any]:
    return {
        "a": a,
        "b": b,
        "label": label,
        "relation": relation,
        "lang": page.language,
        "kind": "article" if page.title else "short",
    }
