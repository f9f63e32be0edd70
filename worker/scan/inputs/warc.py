"""Reads WARC files: each response and resource that is HTML or text, and each text of a WET file, is a page."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Literal

from worker.local.page import FetchedPage
from worker.scan.inputs.fields import milliseconds
from worker.scan.inputs.opening import StoredFile, needs
from worker.scan.inputs.packed_file import PackedFile
from worker.scan.inputs.records import ArchivedPage, BrokenRecord, RecordPlace
from worker.scan.inputs.unpacking import FRAME_HEAD, Compression, dictionary_frame
from worker.scan.inputs.warc_records import FoundRecord, records_of

if TYPE_CHECKING:
    from fastwarc.warc import WarcRecord

_TEXT_TYPE: Final = re.compile(r"text/(?!css|javascript|calendar|dns)|application/.*(html|xml)|$", re.IGNORECASE)
"""Content types of pages; nothing said is one of them."""
_WEB: Final = re.compile(r"<?(https?|ftp|file)://", re.IGNORECASE)
_Decoded = Literal["all", "transfer", "none"]
_HELD_BACK: Final = 64 * 1024 * 1024
"""Bytes of requests and metadata that wait for the page that they belong to."""
_PIECE: Final = 1024 * 1024


class WarcFile(PackedFile):
    """A WARC file, packed record by record, as a whole, or not.

    Raises:
        UsageError: fastwarc is not installed.
    """

    kind = "warc"

    def __init__(self, file: StoredFile, compression: Compression | None, most_bytes: int) -> None:
        super().__init__(file, compression, most_bytes)
        try:
            from fastwarc.warc import WarcRecord
        except ImportError as error:
            raise needs("fastwarc", f"reading the WARC {file.name}") from error
        self._parse: Final[Callable[[bytes], WarcRecord]] = WarcRecord.from_bytes
        self._is_whole: Final = compression is not None and self._is_packed_as_a_whole()

    def records(self) -> Iterator[ArchivedPage | BrokenRecord]:
        for _, record in self._found():
            if isinstance(record, str):
                self._passed_over[record] += 1
            else:
                yield record

    def write_kept(self, target: Path, keep: Callable[[ArchivedPage], bool]) -> list[BrokenRecord]:
        """Records that say of the file as a whole what it is stay, and those that belong to a page stay with it."""
        reading = self.file.open()
        try:
            with target.open("wb") as out:
                beginning = reading.read(FRAME_HEAD)
                if size := dictionary_frame(beginning):  # without which nothing that follows can be unpacked
                    out.write(beginning + reading.read(size - FRAME_HEAD))
                kept = _Kept(lambda found: self._copy(found, reading.stream, out))
                for found, record in self._found():
                    try:
                        headers = self._parse(found.content).headers
                    except OSError:
                        continue
                    own = headers.get("WARC-Record-ID") or ""
                    others = [
                        *headers.get_multiple("WARC-Concurrent-To"),
                        *headers.get_multiple("WARC-Refers-To"),
                    ]
                    if found.broken:
                        kept.decide(found, own, others, False)
                    elif record == "warcinfo":
                        kept.write(found)
                    elif record in ("request", "metadata"):
                        kept.hold(found, own, others)
                    else:
                        kept.decide(found, own, others, isinstance(record, ArchivedPage) and keep(record))
                kept.finish()
        finally:
            reading.close()
        return []

    def _copy(self, found: FoundRecord, source: IO[bytes], out: IO[bytes]) -> None:
        """As it is stored, where it is packed by itself and can be gone to."""
        if self.compression is None:
            out.write(found.content + b"\r\n\r\n")
        elif found.stored is not None and source.seekable():
            begin, end = found.stored
            source.seek(begin)
            while begin < end and (piece := source.read(min(_PIECE, end - begin))):
                out.write(piece)
                begin += len(piece)
        else:
            with self.compression.writer(out) as member:
                member.write(found.content + b"\r\n\r\n")

    def _found(self) -> Iterator[tuple[FoundRecord, ArchivedPage | BrokenRecord | str]]:
        """Every record, with the page that it is, or the word that says why it is none."""
        for found in records_of(self.pieces(), self.most_bytes):
            place = RecordPlace(self.name, found.at if self._is_whole or self.compression is None else found.member)
            try:
                no_page = self._no_page(found.content) if found.content else None
            except OSError as error:
                yield found, BrokenRecord(place, "damaged", f"the record's header cannot be read: {error}")
                continue
            if found.broken:
                yield found, no_page or BrokenRecord(place, found.broken, found.detail)
            else:
                yield found, no_page or self._page(found.content, place)

    def _no_page(self, content: bytes) -> str | None:
        """Why a whole record, or one of which this is the beginning, is no page; None where it is one."""
        record = self._parse(content)
        kind = str(record.record_type)
        if kind == "conversion":
            return None
        if kind not in ("response", "resource"):
            return kind
        if not _WEB.match(record.headers.get("WARC-Target-URI") or "http://"):
            return "not-web"
        content_type = record.headers.get("Content-Type") or ""
        if kind == "response":
            if not record.is_http:
                return "not-web"
            _parse_http(record, "none")
            headers = record.http_headers
            if headers is None or headers.status_code is None:
                return None
            if headers.status_code != 200:
                return "not-200"
            content_type = headers.get("Content-Type") or ""
        return None if _TEXT_TYPE.match(content_type.strip()) else "not-text"

    def _page(self, content: bytes, place: RecordPlace) -> ArchivedPage | BrokenRecord:
        record = self._parse(content)
        url = (record.headers.get("WARC-Target-URI") or "").strip().strip("<>")
        if not url:
            return BrokenRecord(place, "damaged", "the record has no WARC-Target-URI")
        content_type = record.headers.get("Content-Type")
        if str(record.record_type) == "response":
            _parse_http(record, "none")
            if record.http_headers is None or record.http_headers.status_code is None:
                return BrokenRecord(place, "damaged", "the record's HTTP header cannot be read")
            content_type = record.http_headers.get("Content-Type")
        body = self._body(content)
        if len(body) > self.most_bytes:
            return BrokenRecord(place, "too-large", f"more than {self.most_bytes} bytes when its body is unpacked")
        is_text = str(record.record_type) == "conversion"
        page = FetchedPage(
            url=url,
            body=None if is_text else body,
            text=body.decode(errors="replace") if is_text else None,
            content_type=None if is_text else content_type,
            fetched=milliseconds(record.headers.get("WARC-Date")),
        )
        return ArchivedPage(place, (record.headers.get("WARC-Record-ID") or url).strip().strip("<>"), page)

    def _body(self, content: bytes) -> bytes:
        """The payload without the encodings that HTTP put around it, a little more than the most bytes at most. Many
        crawlers take them off and leave the header that announces them: then the payload is as it stands.
        """
        tries: tuple[_Decoded, ...] = ("all", "transfer", "none")
        for decoded in tries:
            record = self._parse(content)
            body = bytearray()
            if not _parse_http(record, decoded):
                continue
            try:
                while len(body) <= self.most_bytes and (piece := record.reader.read(_PIECE)):
                    body += piece
            except OSError:
                if not body:
                    continue
            return bytes(body)
        return b""

    def _is_packed_as_a_whole(self) -> bool:
        """Whether the first member holds more than a record."""
        first = next((found for found in records_of(self.pieces(), self.most_bytes) if not found.broken), None)
        return first is not None and first.stored is None


class _Kept:
    """Which records of a file are written: those that belong to a page wait until it is decided."""

    def __init__(self, write: Callable[[FoundRecord], None]) -> None:
        self.write: Final = write
        self._is_kept: Final[dict[str, bool]] = {}
        self._waiting: Final[OrderedDict[str, list[FoundRecord]]] = OrderedDict()
        self._bytes = 0

    def hold(self, found: FoundRecord, own: str, others: list[str]) -> None:
        """A record that belongs to a page: the one that it names, or one that names it."""
        known = [self._is_kept[other] for other in others if other in self._is_kept]
        if known:
            if any(known):
                self.write(found)
            return
        self._waiting.setdefault(others[0] if others else own, []).append(found)
        self._bytes += len(found.content)
        while self._bytes > _HELD_BACK:
            self._let_go(next(iter(self._waiting)), True)

    def decide(self, found: FoundRecord, own: str, others: list[str], is_kept: bool) -> None:
        """A page, or a record that holds none."""
        for name in (own, *others):
            self._is_kept[name] = is_kept
            self._let_go(name, is_kept)
        if is_kept:
            self.write(found)

    def finish(self) -> None:
        """What belongs to no page of this file stays."""
        for name in list(self._waiting):
            self._let_go(name, True)

    def _let_go(self, name: str, is_kept: bool) -> None:
        for found in self._waiting.pop(name, ()):
            self._bytes -= len(found.content)
            if is_kept:
                self.write(found)


def _parse_http(record: WarcRecord, decoded: _Decoded) -> bool:
    try:
        record.parse_http(auto_decode=decoded)
    except OSError:
        return False
    return True
