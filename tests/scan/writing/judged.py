"""Archives with verdicts from a test, and the copies that are written by these verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from crawler_plugin.wire.outcomes import Verdict
from tests.scan.inputs.written import MOST, Warc, html, pages_of, url
from worker.places import Folder
from worker.results.formats import write_parquet
from worker.results.rows import OF_SCAN, scan_row
from worker.scan.inputs.archive_ref import ArchiveRef
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.find import find_archives
from worker.scan.inputs.records import Archive, ArchivedPage
from worker.scan.writing.copy_paths import PROGRESS
from worker.scan.writing.verdict_columns import VerdictColumns
from worker.scan.writing.write import ArchiveCopy, JudgedArchive, Writing, WrittenCopies, write_archives


def archives_of(*inputs: Path) -> list[Archive]:
    return find_archives([str(one) for one in inputs], Fields(), most_bytes=MOST)


def verdicts(archives: Sequence[Archive], stays: Callable[[int], bool]) -> list[Verdict]:
    """One verdict for each page of all archives, numbered consecutively."""
    pages = [page for archive in archives for page in pages_of(archive)]
    return [
        Verdict(
            file=page.place.file,
            offset=page.place.offset,
            id=page.id,
            url=page.page.url,
            verdict="unique" if stays(number) else "duplicate",
        )
        for number, page in enumerate(pages)
    ]


def judged(
    folder: Path, archives: Sequence[Archive], rows: Sequence[Verdict]
) -> tuple[VerdictColumns, list[JudgedArchive]]:
    """The output of a scan of these archives with these verdicts."""
    folder.mkdir(parents=True, exist_ok=True)
    write_parquet(iter([scan_row(row) for row in rows]), OF_SCAN, folder / "verdicts.parquet")
    refs = [ArchiveRef.of(archive).with_pages(len(pages_of(archive))) for archive in archives]
    return VerdictColumns(Folder(str(folder))), [JudgedArchive(ref, partial(ref.archive, MOST)) for ref in refs]


def write(
    folder: Path, archives: Sequence[Archive], rows: Sequence[Verdict], **options: Any
) -> tuple[WrittenCopies, dict[str, ArchiveCopy]]:
    """Write the copies into a folder; returns the report on each."""
    columns, sources = judged(folder.parent / "judged", archives, rows)
    told: dict[str, ArchiveCopy] = {}
    asked: dict[str, Any] = {"out": Folder(str(folder)), "moved": {}} | options
    writing = Writing(**asked)
    return write_archives(columns, sources, writing, None, lambda ref, copied: told.update({ref.below: copied})), told


def written(
    folder: Path, *inputs: Path, stays: Callable[[int], bool] = lambda number: number % 3 == 0, **options: Any
) -> Path:
    archives = archives_of(*inputs)
    done, _ = write(folder, archives, verdicts(archives, stays), **options)
    assert done.lost == 0
    return folder


def copies(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and PROGRESS not in path.parts)


def found(path: Path) -> list[ArchivedPage]:
    return [page for archive in archives_of(path) for page in pages_of(archive)]


def crawl_of(packed: bool = True) -> bytes:
    """Three pages, each with its request, and an image."""
    warc = Warc(packed=packed)
    warc.info()
    for number in range(3):
        warc.add(url(number), html(number).encode(), WARC_Record_ID=f"<urn:page:{number}>")
        warc.add(url(number), b"", "request", WARC_Concurrent_To=f"<urn:page:{number}>")
    warc.add(url(9), b"GIF89a", http=[("Content-Type", "image/gif")])
    return warc.content


def content_of_all(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in copies(folder)}
