"""Writes the pages that stay, in the form in which they came: ``--write unique``."""

from __future__ import annotations

import logging
from collections.abc import Container, Iterator, Sequence
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Final

from crawler_plugin.wire.errors import Unavailable, UsageError
from crawler_plugin.wire.files import replaced
from crawler_plugin.wire.outcomes import Verdict
from worker.scan.inputs.files import PageFiles
from worker.scan.inputs.records import Archive, ArchivedPage, BrokenRecord
from worker.scan.inputs.tables.parquet_rows import ParquetRows
from worker.verdict.decide import DUPLICATE

_log: Final = logging.getLogger(__name__)


def refuse_unwritable(archives: Sequence[Archive], folder: Path) -> None:
    """Try what ``write_survivors`` needs, before hours go into verdicts.

    Raises:
        UsageError: a copy would take the place of an archive, cannot be made of one, or the folder cannot be made.
    """
    _targets(archives, folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made ({error.strerror}): name another folder with --out") from error
    for archive in archives:
        if isinstance(archive, ParquetRows):
            archive.refuse_unwritable()


def write_survivors(
    archives: Sequence[Archive],
    rows: Iterator[Verdict],
    folder: Path,
    keep: Container[str] = ("unique",),
    suspects: Container[str] = (),
) -> list[BrokenRecord]:
    """Read the archives once more and write of each a copy with those pages whose verdict is one of ``keep``, those
    that are marked suspect, and the duplicates of ``suspects``, by their URLs.

    ``rows`` are the verdicts on all pages, in order. Every copy has the name of its archive, and what was in a folder
    has its path from that on; of two that would have the same name the later gets a number. A copy has its name only
    when it is whole. Returned, and written into the log, is what was to be kept and cannot be read a second time.

    Raises:
        UsageError: the rows are not those of these archives, or a copy would take the place of an archive.
        Unavailable: there is no room, or an archive cannot be read on.
    """
    lost = []

    def is_kept(page: ArchivedPage) -> bool:
        row = next(rows, None)
        if row is None or (row.file, row.offset) != page.place:
            raise _others(page.place.file)
        return row.verdict in keep or row.suspect or (row.verdict == DUPLICATE and row.duplicate_of in suspects)

    for archive, target in zip(archives, _targets(archives, folder), strict=True):
        try:
            if isinstance(archive, PageFiles):
                lost += archive.write_kept(target, is_kept)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                with replaced(target) as beside:
                    lost += archive.write_kept(beside, is_kept)
        except OSError as error:
            raise Unavailable(
                f"{target} cannot be written ({error.strerror}): make room there, then run the same command with "
                "--resume"
            ) from error
    if next(rows, None) is not None:
        raise _others(archives[-1].name if archives else "any file")
    for (file, detail), ones in groupby(lost, key=lambda one: (one.place.file, one.detail)):
        offsets = [one.place.offset for one in ones]
        _log.warning("%s, from %d on: %d pages that stay are not written: %s", file, offsets[0], len(offsets), detail)
    return lost


def _targets(archives: Sequence[Archive], folder: Path) -> list[Path]:
    """Where the copies go.

    Raises:
        UsageError: one of them would take the place of an archive.
    """
    read = {Path(file).resolve() for archive in archives for file in _files(archive) if "://" not in file}
    targets: list[Path] = []
    for archive in archives:
        below = PurePosixPath(archive.below)
        stem, dot, suffix = below.name.partition(".")
        target = folder / below
        number = 1
        while target in targets:
            number += 1
            target = folder / below.parent / f"{stem}-{number}{dot}{suffix}"
        targets.append(target)
        copies = archive.copies(target) if isinstance(archive, PageFiles) else [target]
        if taken := read & {copy.resolve() for copy in copies}:
            raise UsageError(
                f"{sorted(taken)[0]} is read, and the pages that stay would be written in its place: name another "
                "folder with --out"
            )
    return targets


def _files(archive: Archive) -> list[str]:
    return [one.file.where for one in archive.files] if isinstance(archive, PageFiles) else [archive.name]


def _others(name: str) -> UsageError:
    return UsageError(f"the verdicts are not those of the pages in {name}: scan it anew, into another folder")
