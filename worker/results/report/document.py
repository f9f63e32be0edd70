"""The frame of a page for people: one file of HTML that loads nothing, and runs nothing except its own script."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256

from worker.results.report.markup import Markup, tag


def document(
    title: str,
    heading: Markup,
    parts: Mapping[str, tuple[str, Markup]],
    *,
    skip: tuple[str, str],
    style: str,
    script: str,
) -> str:
    """The whole file. The same contents make the same bytes.

    ``parts`` have a title and content by the name that links to them; a menu after the ``heading`` lists them. ``skip``
    is the name of all parts together, and the text of the link that leads there. ``script`` may be empty.
    """
    allowed = f"style-src {_hashed(style)};" + (f" script-src {_hashed(script)};" if script else "")
    policy = f"default-src 'none'; img-src data:; {allowed} base-uri 'none'; form-action 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("link", rel="icon", href="data:,"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    links = (tag("li", tag("a", named, href=f"#{name}")) for name, (named, _) in parts.items())
    sections = (
        tag("section", tag("h2", named, id=f"{name}-title"), part, id=name, aria_labelledby=f"{name}-title")
        for name, (named, part) in parts.items()
    )
    body = tag(
        "body",
        tag("a", skip[1], class_="skip", href=f"#{skip[0]}"),
        tag("header", heading, tag("nav", tag("ul", *links), aria_label="Parts of this page")),
        tag("main", *sections, id=skip[0], tabindex="-1"),
        tag("script", Markup(script)) if script else "",
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _hashed(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
