"""Other programs' extractors of main content: the worker's own extractor is measured against them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

from crawler_plugin.wire.errors import PageError, UsageError
from worker.page.extract import Extractor
from worker.page.main_text.content import Content, main_content

BUILT_IN: Final = "built-in"


def by_resiliparse(markup: bytes, *, xml: bool) -> Content:
    """Reads XML as HTML. Leaves out texts of images and bullets of lists: mirrors differ in them most."""
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLParserException, HTMLTree

    try:
        tree = HTMLTree.parse(markup.decode())
        text = extract_plain_text(tree, main_content=True, alt_texts=False, list_bullets=False)
    except HTMLParserException as error:
        if "(Error 2)" in str(error):  # lexbor's LXB_STATUS_ERROR_MEMORY_ALLOCATION
            raise MemoryError(str(error)) from error
        raise PageError("unparsable", str(error)) from error
    return Content(text, (tree.title or "").strip() or None)


def by_trafilatura(markup: bytes, *, xml: bool) -> Content:
    """Reads XML as HTML."""
    import trafilatura

    return Content(trafilatura.extract(markup.decode(), include_comments=False) or "", None)


EXTRACTORS: Final[Mapping[str, Extractor]] = {
    BUILT_IN: main_content,
    "resiliparse": by_resiliparse,
    "trafilatura": by_trafilatura,
}


def extractor_named(name: str) -> Extractor:
    """One of ``EXTRACTORS``.

    Raises:
        UsageError: it is not installed here.
    """
    if name != BUILT_IN and find_spec(name) is None:
        raise UsageError(f"{name} is not installed; pip install 'crawl-dedup[evaluate]', or take the built-in one")
    return EXTRACTORS[name]
