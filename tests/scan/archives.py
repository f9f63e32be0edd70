"""The same pages as an archive of each form."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tests.local.crawled import crawl
from worker.local import FetchedPage


def some_pages(seed: int, count: int) -> list[FetchedPage]:
    """HTML pages with URLs that an archive can hold; some are copies, some were fetched again."""
    found = [page for page, _ in crawl(seed, 3 * count) if isinstance(page.body, str) and page.url.startswith("http")]
    return [FetchedPage(page.url, page.body, content_type="text/html") for page in found][:count]


def write_warc(pages: Sequence[FetchedPage], path: Path) -> Path:
    """One record per page, each compressed by itself."""
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        writer.write_record(writer.create_warcinfo_record(path.name, {"software": "a test"}))
        for number, page in enumerate(pages):
            head = StatusAndHeaders("200 OK", [("Content-Type", page.content_type or "text/html")], protocol="HTTP/1.1")
            writer.write_record(
                writer.create_warc_record(
                    page.url,
                    "response",
                    payload=io.BytesIO(as_bytes(page)),
                    http_headers=head,
                    warc_headers_dict={"WARC-Record-ID": f"<urn:page:{number}>"},
                )
            )
    return path


def write_jsonl(pages: Sequence[FetchedPage], path: Path) -> Path:
    """One line per page."""
    with path.open("w", encoding="utf-8") as file:
        for number, page in enumerate(pages):
            row = {"id": f"<urn:page:{number}>", "url": page.url, "html": as_bytes(page).decode(), "kept": number % 7}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path


def write_parquet(pages: Sequence[FetchedPage], path: Path, rows: int = 16) -> Path:
    """One row per page."""
    columns = {
        "id": [f"<urn:page:{number}>" for number in range(len(pages))],
        "url": [page.url for page in pages],
        "html": [as_bytes(page) for page in pages],
        "kept": [number % 7 for number in range(len(pages))],
    }
    pq.write_table(pa.table(columns), path, row_group_size=rows)
    return path


def as_bytes(page: FetchedPage) -> bytes:
    return page.body.encode() if isinstance(page.body, str) else page.body or b""
