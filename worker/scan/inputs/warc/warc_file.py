"""Reads WARC and ARC files: each response and resource that is HTML or text, and each text of a WET file, is a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Final

from crawler_plugin.wire.media_types import essence, kind_of_type
from crawler_plugin.wire.urls import without_userinfo
from worker.local.page import FetchedPage
from worker.scan.inputs.opening import StoredFile
from worker.scan.inputs.packed_file import PackedFile
from worker.scan.inputs.records import ArchivedPage, BrokenRecord, Fate, Fates, RecordPlace
from worker.scan.inputs.unpacking import FRAME_HEAD, Compression, dictionary_frame
from worker.scan.inputs.warc.http_response import HttpResponse, body_of, http_response
from worker.scan.inputs.warc.kept_records import KeptRecords
from worker.scan.inputs.warc.record_copies import RecordCopies
from worker.scan.inputs.warc.record_search import FoundRecord, records_of
from worker.scan.inputs.warc.web_record import RecordForm, WebRecord
from worker.scan.inputs.warc.written_records import marked, revisit

_NO_PAGES: Final = ("text/css", "text/javascript", "text/calendar", "text/dns")
"""Types of text that is never a page."""
_WEB: Final = re.compile(r"(https?|ftp|file)://", re.IGNORECASE)
_END: Final = (FoundRecord(-1, -1), None, "end")
"""The bytes after the last record of a file."""


class WarcFile(PackedFile):
    """A WARC or an ARC, packed record by record, as a whole, or not."""

    def __init__(self, file: StoredFile, compression: Compression | None, most_bytes: int, form: RecordForm) -> None:
        super().__init__(file, compression, most_bytes)
        self.kind = form.name
        self._form: Final = form
        self._is_whole: Final = compression is not None and self._is_packed_as_a_whole()

    def records(self) -> Iterator[ArchivedPage | BrokenRecord]:
        for _, _, found in self._found():
            if isinstance(found, str):
                self._passed_over[found] += 1
            else:
                yield found

    def write_parts(self, kept: Path, removed: Path | None, fates: Fates) -> list[BrokenRecord]:
        """Records without a verdict stay, whatever they hold, except requests and metadata of a page that goes, and
        damaged records. Records that describe the file as a whole are in both files. Requests and metadata of a
        revisited page stay.

        A record that is too large to be held is copied in its stored form; if it is packed together with others, it
        cannot be copied.
        """
        reading = self.file.open()
        try:
            with ExitStack() as stack:
                outs = [stack.enter_context(path.open("wb")) for path in (kept, removed) if path is not None]
                beginning = reading.read(FRAME_HEAD)
                if size := dictionary_frame(beginning):  # without it no later part can be unpacked
                    beginning += reading.read(size - FRAME_HEAD)
                    for out in outs:
                        out.write(beginning)
                copies = RecordCopies(reading.stream, self.compression, outs, self._form.ends[0])
                return self._write_records(copies, fates, can_seek=reading.stream.seekable())
        finally:
            reading.close()

    def _write_records(self, copies: RecordCopies, fates: Fates, *, can_seek: bool) -> list[BrokenRecord]:
        lost: list[BrokenRecord] = []
        records = KeptRecords(copies.copy)
        too_large: tuple[int, BrokenRecord] | None = None
        before = -1
        for found, record, page in chain(self._found(), [_END]):
            begin = found.member if self.compression else found.at
            if too_large is not None:
                if too_large[0] == begin:
                    lost.append(too_large[1])
                else:
                    copies.copy_span(too_large[0], None if found is _END[0] else begin, True)
                too_large = None
            if record is None:
                continue
            if found.broken:
                broken = BrokenRecord(self._place(found), found.broken, found.detail, _id(record))
                if can_seek and not self._is_whole and before < begin:
                    too_large = begin, broken
                else:
                    lost.append(broken)
                records.decide(record, True)
            elif page == "warcinfo":
                copies.copy(found, True)
                copies.copy(found, False)
            elif page in ("request", "metadata"):
                records.hold(found, record)
            elif isinstance(page, ArchivedPage):
                self._write_page(copies, records, found, record, fates.of(page))
            else:
                records.decide(record, True)
                copies.copy(found, True)
            before = begin
        records.finish()
        return lost

    def _write_page(
        self, copies: RecordCopies, records: KeptRecords, found: FoundRecord, record: WebRecord, fate: Fate
    ) -> None:
        original = fate.original if fate.revisited else None
        records.decide(record, fate.stays or original is not None)
        if fate.verdict is not None:
            copies.write(marked(found.content, fate), fate.stays)
        else:
            copies.copy(found, fate.stays)
        if original is not None:
            copies.write(revisit(found.content, original), True)

    def _found(self) -> Iterator[tuple[FoundRecord, WebRecord | None, ArchivedPage | BrokenRecord | str]]:
        """Every record, with its page, or the word for the reason why it is none."""
        for found in records_of(self.pieces(), self.most_bytes, self._form):
            place = self._place(found)
            record = self._form.read(found.content) if found.content else None
            response = http_response(record.block) if record and record.kind == "response" else None
            no_page = _no_page(record, response) if record else None
            if found.broken or record is None:
                id_ = _id(record) if record else None
                yield found, record, no_page or BrokenRecord(place, found.broken, found.detail, id_)
            else:
                yield found, record, no_page or self._page(record, response, place)

    def _place(self, found: FoundRecord) -> RecordPlace:
        return RecordPlace(self.name, found.at if self._is_whole or self.compression is None else found.member)

    def _page(
        self, record: WebRecord, response: HttpResponse | None, place: RecordPlace
    ) -> ArchivedPage | BrokenRecord:
        id_ = _id(record)
        if not record.url:
            return BrokenRecord(place, "damaged", "the record has no WARC-Target-URI", id_)
        if record.is_segment:
            return BrokenRecord(place, "damaged", "the record is one of several segments, which are not joined", id_)
        content_type, body = record.content_type, record.block
        if record.kind == "response":
            if response is None:
                return BrokenRecord(place, "damaged", "the record's HTTP header cannot be read", id_)
            if not response.is_whole:
                return BrokenRecord(place, "damaged", "the record's HTTP header has no end", id_)
            content_type = response.headers.get("Content-Type")
            body = body_of(response, self.most_bytes)
        if len(body) > self.most_bytes:
            too_large = f"more than {self.most_bytes} bytes when its body is unpacked"
            return BrokenRecord(place, "too-large", too_large, id_)
        is_text = record.kind == "conversion"
        page = FetchedPage(
            url=record.url,
            body=None if is_text else body,
            text=body.decode(errors="replace") if is_text else None,
            content_type=None if is_text else content_type,
            fetched=record.fetched,
        )
        return ArchivedPage(place, id_ or record.url, page)

    def _is_packed_as_a_whole(self) -> bool:
        """Whether the first member holds more than a record."""
        found = records_of(self.pieces(), self.most_bytes, self._form)
        first = next((one for one in found if not one.broken), None)
        return first is not None and first.stored is None


def _id(record: WebRecord) -> str | None:
    return record.id or without_userinfo(record.url) or None


def _no_page(record: WebRecord, response: HttpResponse | None) -> str | None:
    """Why a whole record, or the record with this beginning, is no page; None if it is one, or should be."""
    if record.kind == "conversion":
        return None
    if record.kind not in ("response", "resource"):
        return record.kind
    if record.url and not _WEB.match(record.url):
        return "not-web"
    content_type = record.content_type or ""
    if record.kind == "response":
        if response is None:
            is_http = not content_type or content_type.lower().startswith("application/http")
            return None if is_http else "not-web"
        if response.status != 200:
            return "not-200"
        content_type = response.headers.get("Content-Type") or ""
    return None if _is_page(content_type) else "not-text"


def _is_page(content_type: str) -> bool:
    """If the type is none of the table's, the body decides."""
    said = essence(content_type)
    is_text = said.startswith("text/") and said not in _NO_PAGES
    return is_text or kind_of_type(said) in ("html", "xml", "unknown")
