"""A page to be judged, and the record that it would be on the topic ``pages``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from worker.messages import PageMeta
from worker.stream.log import Record
from worker.urls import canonical_url


class AboutPage(TypedDict, total=False):
    """What may be said of a page besides; see ``FetchedPage``."""

    text: str | None
    encoding: str | None
    content_type: str | None
    fetched: int | None
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A page as it was fetched.

    ``body`` is the page's bytes, or a str that was decoded already. Where there is none, ``text`` is the main text that
    somebody took out of the page: nothing is left out of it any more. ``fetched`` is in milliseconds since 1970 UTC;
    without it the page counts as fetched when it is judged. ``headers`` are what ``near.scope=header:NAME`` reads.
    """

    url: str
    body: bytes | str | None = None
    text: str | None = None
    encoding: str | None = None
    content_type: str | None = None
    fetched: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def record(self, offset: int, now: int) -> Record:
        """What a crawler would have published, as received at ``now`` (milliseconds since 1970 UTC)."""
        value, encoding = self.body, self.encoding
        if isinstance(value, str):
            value, encoding = value.encode(errors="replace"), "utf-8"
        is_text = value is None and self.text is not None
        if value is None and self.text is not None:
            value = self.text.encode(errors="replace")
        meta = PageMeta(
            url=self.url,
            content_type=self.content_type,
            encoding=encoding,
            fetched=self.fetched,
            form="text" if is_text else "bytes",
        )
        try:
            headers = [(name, content.encode()) for name, content in self.headers.items()] + meta.to_headers()
            return Record(0, offset, _key(self.url), value, headers, now)
        except UnicodeEncodeError as error:  # half of a surrogate pair
            return Record(0, offset, None, value, (), now, unreadable=f"what is said of the page is no text: {error}")


def _key(url: str) -> bytes:
    """What the page's record would be filed under; it counts towards the largest page."""
    try:
        return canonical_url(url).encode()
    except ValueError:
        return url.encode()
