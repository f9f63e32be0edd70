"""Reads files that are one page each: HTML, or text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.media_types import kind_of_text
from worker.local.page import FetchedPage
from worker.scan.inputs.fields import file_url
from worker.scan.inputs.kind import Kind
from worker.scan.inputs.mhtml import saved_page
from worker.scan.inputs.opening import StoredFile, printable, unprinted
from worker.scan.inputs.records import ArchivedPage, BrokenRecord, RecordPlace
from worker.scan.inputs.unpacking import Compression, pieces

NO_FILES: Final = "none"
"""The form of a folder in which nothing is read as a page, but some files are skipped."""
_BEGINNING: Final = 4096
_MOST_MHTML: Final = 64 * 1024 * 1024
"""Bytes of a page with its pictures, which are held in memory to find the page among them."""


@dataclass(frozen=True, slots=True)
class FilePage:
    """A file and its kind: ``html``, ``mhtml``, ``text``, ``empty``; or ``unknown`` or ``damaged``, with ``why``."""

    file: StoredFile
    kind: Kind
    compression: Compression | None = None
    why: str = ""


class PageFiles:
    """Files that are one page each: a single file that was named, or those of a folder.

    Their URL is ``file:///`` and the path from the folder's parent on, so that it stays the same wherever the folder
    lies; for a single file it has the name as the user gave it. Within a folder, the id is the path from there on.
    """

    def __init__(
        self,
        name: str,
        below: str,
        files: Sequence[FilePage],
        most_bytes: int,
        *,
        is_folder: bool,
        passed_over: Mapping[str, int] | None = None,
    ) -> None:
        self.form: Final = "files" if files else NO_FILES
        self.name: Final = name
        self.below: Final = below
        self.fields: Final[Mapping[str, str]] = {}
        self.bytes_read = 0
        self.files: Final = files
        self._by_name: Final = {one.file.name: one.file for one in files}
        self._most_bytes: Final = most_bytes
        self.is_folder: Final = is_folder
        self._beside: Final = dict(passed_over or {})
        """The other content of the folder."""
        self._passed_over: Counter[str] = Counter(self._beside)

    @property
    def passed_over(self) -> Mapping[str, int]:
        return dict(self._passed_over)

    @property
    def bytes_in_all(self) -> int | None:
        sizes = [one.file.size for one in self.files]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def records(self) -> Iterator[ArchivedPage | BrokenRecord]:
        for _, record in self._pages():
            if record is not None:
                yield record

    def stored(self, name: str) -> StoredFile:
        """The file of this name; whether it exists shows when it is opened."""
        return self._by_name.get(name) or StoredFile(unprinted(name), self.below, None)

    def _pages(self) -> Iterator[tuple[FilePage, ArchivedPage | BrokenRecord | None]]:
        self._passed_over = Counter(self._beside)
        self.bytes_read = 0
        for one in self.files:
            if one.kind == "empty":
                self._passed_over["empty"] += 1
            else:
                yield one, self._page(one)
            self.bytes_read += one.file.size or 0

    def _page(self, one: FilePage) -> ArchivedPage | BrokenRecord:
        place = RecordPlace(one.file.name, 0)
        below = one.file.below
        id_ = printable(below.partition("/")[2]) if self.is_folder else one.file.name
        if one.kind not in ("html", "text", "mhtml"):
            return BrokenRecord(place, "damaged" if one.kind == "damaged" else "no-page", one.why, id_)
        try:
            reading = one.file.open()
        except UsageError as error:
            return BrokenRecord(place, "damaged", str(error), id_)
        body = bytearray()
        most = max(self._most_bytes, _MOST_MHTML) if one.kind == "mhtml" else self._most_bytes
        try:
            for piece in pieces(reading, one.compression):
                if piece.damage:
                    return BrokenRecord(place, "damaged", piece.damage, id_)
                body += piece.content
                if len(body) > most:
                    return BrokenRecord(place, "too-large", f"more than {most} bytes", id_)
        finally:
            reading.close()
        url = file_url(below if self.is_folder else one.file.where)
        if one.kind == "mhtml":
            saved = saved_page(bytes(body))
            if saved is None:
                return BrokenRecord(place, "no-page", f"{one.file.name} has no part that is HTML or text", id_)
            if len(saved.body) > self._most_bytes:
                return BrokenRecord(place, "too-large", f"more than {self._most_bytes} bytes of HTML", id_)
            page = FetchedPage(saved.url or url, saved.body, content_type=saved.content_type, fetched=saved.fetched)
        else:
            page = FetchedPage(url, bytes(body), content_type=_content_type(one.kind, body))
        return ArchivedPage(place, id_, page)


def _content_type(kind: Kind, body: bytes | bytearray) -> str:
    """The type of a file, as a server would say it: feeds and files that begin as XML are read by other rules than
    HTML."""
    if kind == "text":
        return "text/plain"
    beginning = body[:_BEGINNING].decode("utf-8", "replace")
    return "application/xml" if kind_of_text("unknown", beginning) == "xml" else "text/html"
