"""A site with pages and with everything else that a crawl meets."""

from __future__ import annotations

from typing import Final

from tests.crawler_plugin.crawling import Answer, Site, article

PNG: Final = b"\x89PNG\r\n\x1a\n" + bytes(100)
HTML: Final = {"Content-Type": "text/html"}
FLOW: Final = ("nothing", "with_arguments", "asynchronous", "generator", "raises", "raises_late")
"""Kinds of callbacks; the captured spider has a method of each name."""


def odd_site() -> Site:
    """Pages for every kind of callback, and every kind of response that is not a page."""
    pages = {f"/{name}": article(number) for number, name in enumerate(FLOW)}
    others = {
        "/picture.png": Answer(200, {"Content-Type": "image/png"}, PNG),
        "/paper.pdf": Answer(200, {"Content-Type": "application/pdf"}, b"%PDF-1.7"),
        "/rows.json": Answer(200, {"Content-Type": "application/json"}, b'{"rows": [1]}'),
        "/notes.txt": Answer(200, {"Content-Type": "Text/Plain; charset=ascii"}, b"notes"),
        "/feed.rss": Answer(200, {"Content-Type": "application/rss+xml"}, b"<rss/>"),
        "/untyped": Answer(200, {}, b"<html><p>no type</p></html>"),
        "/untyped_bytes": Answer(200, {}, PNG),
        "/switched_off": Answer(200, HTML, b"<p>off</p>"),
        "/gone": Answer(404, HTML, b"<p>gone</p>"),
        "/broken": Answer(500, HTML, b"<p>broken</p>"),
        "/moved": Answer(302, {**HTML, "Location": "/arrived"}, b"<p>moved</p>"),
        "/arrived": Answer(200, HTML, b"<p>arrived</p>"),
        "/robots.txt": Answer(200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /secret\n"),
        "/secret": Answer(200, HTML, b"<p>secret</p>"),
    }
    return Site(pages | {"/media.html": b"<p>media</p>"}, others)
