"""Texts of some pages of a scan, read once more from the archives that were scanned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from crawler_plugin.wire.errors import PageError
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.page_headers import PageMeta
from worker.compose.few_pages import parsed
from worker.config import Settings
from worker.page.extract import extract, from_text
from worker.results.report.samples import TextKey, key_of
from worker.scan.inputs.records import ArchivedPage, BrokenRecord

MOST_BYTES: Final = 1 << 30
"""Bytes of a stored archive: it is read from its beginning, and a report should not take as long as its scan."""
_MOST_CHARACTERS: Final = 200_000
"""Characters of a text: more than is compared, and little enough for a hundred of them."""


class Rereadable(Protocol):
    """The part of an ``Archive`` that is needed."""

    @property
    def name(self) -> str:
        """As for the archive."""

    @property
    def bytes_read(self) -> int:
        """As for the archive."""

    def records(self) -> Iterator[ArchivedPage | BrokenRecord]:
        """As for the archive."""


@dataclass(frozen=True)
class MainText:
    """Extracts the main text of a page; made in a process that ends if a page is made to break parsers."""

    max_bytes: int

    def __call__(self, body: bytes, meta: PageMeta) -> str:
        """The beginning of the text that the page is compared by.

        Raises:
            PageError: the body cannot be read as a page.
        """
        if meta.form == "text":
            return from_text(body[: self.max_bytes].decode("utf-8", "replace"), max_chars=_MOST_CHARACTERS).text
        found = extract(
            body,
            content_type=meta.content_type,
            encoding=meta.encoding,
            max_bytes=self.max_bytes,
            url=meta.url,
        )
        return found.text[:_MOST_CHARACTERS]


class TextsAgain:
    """``samples.TextsOf`` for a scan whose archives are still there.

    It reads no more than ``most_bytes`` of each archive: the texts of pages after that are missing.
    """

    def __init__(self, archives: Sequence[Rereadable], settings: Settings, most_bytes: int = MOST_BYTES) -> None:
        self._archives: Final = archives
        self._settings: Final = settings
        self._most_bytes: Final = most_bytes

    def __call__(self, rows: Sequence[Verdict]) -> dict[TextKey, str]:
        """The beginnings of the main texts of these pages by their places, as far as they can be read.

        Raises:
            UsageError, Unavailable: an archive is gone, or cannot be read to its end.
        """
        page = self._settings.page
        task: Callable[[], MainText] = partial(MainText, page.max_bytes)
        outcomes = parsed(task, str, page, self._pages(set(map(key_of, rows))))
        return {key: text for key, text in outcomes if not isinstance(text, PageError)}

    def _pages(self, wanted: set[TextKey]) -> Iterator[tuple[TextKey, bytes, PageMeta]]:
        for archive in self._archives:
            if any(file.startswith(archive.name) for file, _ in wanted):
                yield from self._pages_of(archive, wanted)

    def _pages_of(self, archive: Rereadable, wanted: set[TextKey]) -> Iterator[tuple[TextKey, bytes, PageMeta]]:
        """The wanted pages of an archive, which are then no longer wanted."""
        for record in archive.records():
            if not isinstance(record, BrokenRecord) and tuple(record.place) in wanted:
                key = (record.place.file, record.place.offset)
                wanted.remove(key)
                sent = record.page.record(record.place.offset, 0)
                yield key, sent.value or b"", PageMeta.from_headers(sent.headers)
            if not wanted or archive.bytes_read > self._most_bytes:
                return
