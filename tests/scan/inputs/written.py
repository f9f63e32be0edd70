"""Real archives for tests, written by other programs than the reader under test."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, cast

import pyarrow as pa
import pyarrow.parquet as pq
from backports import zstd
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from worker.scan.inputs.fields import Fields
from worker.scan.inputs.find import find_archives
from worker.scan.inputs.records import Archive, ArchivedPage, BrokenRecord, Fate, Fates, ManyPages

MOST: Final = 1_000_000
PACKED: Final[dict[str, Callable[[bytes], bytes]]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": lambda content: zstd.compress(content, options={zstd.CompressionParameter.checksum_flag: 1}),
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
}


def url(number: int) -> str:
    return f"https://host.example/page/{number}"


def html(number: int) -> str:
    words = " ".join(f"w{number * 7 + place}" for place in range(40))
    return f"<html><head><title>{number}</title></head><body><p>Seite {number} über {words}</p></body></html>"


def rows(count: int) -> list[dict[str, Any]]:
    return [{"id": f"n{n}", "url": url(n), "html": html(n), "fetched_at": 1_700_000_000 + n} for n in range(count)]


def jsonl(lines: Iterable[object]) -> bytes:
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)


def csv_of(table: Sequence[dict[str, Any]], delimiter: str = ",") -> bytes:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(table[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(table)
    return out.getvalue().encode()


def parquet(path: Path, table: Sequence[dict[str, Any]], **options: Any) -> Path:
    pq.write_table(pa.Table.from_pylist(list(table)), path, **({"row_group_size": 10} | options))
    return path


def with_codec(path: Path, column: str, codec: int) -> Path:
    """The Parquet file, changed to claim another codec for this column, which is packed with Snappy."""
    content = path.read_bytes()
    end = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    name = column.encode()
    at = content.index(b"\x15\x02", content.index(b"\x19\x18" + bytes([len(name)]) + name, end))
    path.write_bytes(content[:at] + bytes((0x15, 2 * codec)) + content[at + 2 :])
    return path


class Warc:
    """A WARC that warcio is writing."""

    def __init__(self, *, packed: bool = False) -> None:
        self.out: Final = io.BytesIO()
        self._writer: Final = WARCWriter(self.out, gzip=packed)

    def add(
        self,
        target: str,
        body: bytes,
        kind: str = "response",
        *,
        status: str = "200 OK",
        http: Sequence[tuple[str, str]] = (("Content-Type", "text/html; charset=utf-8"),),
        content_type: str | None = None,
        **headers: str,
    ) -> str:
        """Add a record; returns its id."""
        about = {name.replace("_", "-"): value for name, value in headers.items()}
        spoken = None
        if kind == "response":
            spoken = StatusAndHeaders(status, list(http), protocol="HTTP/1.1")
        elif kind == "request":
            spoken = StatusAndHeaders("GET / HTTP/1.1", [("Host", "host.example")], is_http_request=True)
        record = self._writer.create_warc_record(
            target,
            kind,
            payload=io.BytesIO(body),
            http_headers=spoken,
            warc_content_type=content_type or "",
            warc_headers_dict={"WARC-Date": "2026-01-02T03:04:05Z"} | about,
        )
        self._writer.write_record(record)
        return str(record.rec_headers.get_header("WARC-Record-ID"))

    def info(self) -> None:
        self._writer.write_record(self._writer.create_warcinfo_record("a.warc", {"software": "a test"}))

    @property
    def content(self) -> bytes:
        return self.out.getvalue()


def warc_of(count: int, *, packed: bool = False) -> bytes:
    """A WARC with one page per record."""
    warc = Warc(packed=packed)
    for number in range(count):
        warc.add(url(number), html(number).encode())
    return warc.content


def put(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def archive_of(path: Path, most_bytes: int = MOST, **fields: str) -> Archive:
    (archive,) = find_archives([str(path)], Fields(**fields), most_bytes=most_bytes)
    return archive


def pages_of(archive: Archive) -> list[ArchivedPage]:
    return [record for record in archive.records() if isinstance(record, ArchivedPage)]


def broken_of(archive: Archive) -> list[BrokenRecord]:
    return [record for record in archive.records() if isinstance(record, BrokenRecord)]


def write_kept(
    archive: Archive, target: Path, keep: Callable[[ArchivedPage], bool], removed: Path | None = None
) -> list[BrokenRecord]:
    """Write a copy of an archive with the pages for which ``keep`` is true, and a copy with the others."""
    target.parent.mkdir(exist_ok=True)
    fates = Fates(archive.name, [(page.place, Fate(keep(page))) for page in pages_of(archive)])
    lost = cast(ManyPages, archive).write_parts(target, removed, fates)
    fates.end()
    return lost


def content_of(page: ArchivedPage) -> str:
    body = page.page.body
    text = body.decode() if isinstance(body, bytes) else body
    return text if text is not None else page.page.text or ""
