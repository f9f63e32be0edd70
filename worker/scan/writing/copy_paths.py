"""Where copies of archives go: each below the folder of copies, none outside it, no two in one place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from crawler_plugin.wire.errors import UsageError
from worker.places import Folder
from worker.scan.inputs.archive_ref import ArchiveRef

PROGRESS: Final = ".written"
"""The folder, among the copies, with a file for each archive that records the progress of its copy."""


def targets(refs: Sequence[ArchiveRef]) -> list[str]:
    """For each archive the path of its copy; for the form ``files`` it is a folder, which archives may lie in.

    A copy has the name of its archive, and an archive from a folder keeps its path from that folder on. If two cannot
    be side by side, because they have one name or one is a folder of the other's name, the later gets a number.
    """
    files, folders, page_folders = set[str](), set[str](), set[str]()
    found = []
    for ref in refs:
        *above, name = safe(ref.below).split("/")
        at = ""
        for folder in above:
            at = _free(at, folder, files) + "/"
            folders.add(at.rstrip("/"))
        if ref.is_files and ref.is_folder:
            target = _free(at, name, files, page_folders)
            folders.add(target)
            page_folders.add(target)
        else:
            target = _free(at, name, files, folders)
            files.add(target)
        found.append(target)
    return found


def _free(at: str, name: str, *taken: set[str]) -> str:
    """The first of ``name``, ``name-2`` and so on that is free."""
    stem, dot, suffix = name.partition(".")
    number, target = 1, at + name
    while any(target in one for one in taken):
        number += 1
        target = f"{at}{stem}-{number}{dot}{suffix}"
    return target


def safe(below: str) -> str:
    """A path that stays below a folder wherever it leads, and is none of this program's own."""
    parts = [part for part in below.split("/") if part not in ("", ".")]
    parts = ["_" if part == ".." else part for part in parts] or ["_"]
    if parts[0] == PROGRESS:
        parts[0] = f"_{PROGRESS}"
    return "/".join(parts)


def refuse_read_ones(refs: Sequence[ArchiveRef], names: Sequence[str], out: Folder) -> None:
    """Raises ``UsageError`` if a copy would take the place of an archive. ``names`` are ``targets(refs)``."""
    read = {_at(place) for ref in refs for place in (ref.name, ref.within) if place is not None}
    for name in names:
        if (target := _at(out.path(name))) in read:
            raise UsageError(
                f"{target} is read, and the pages that stay would be written in its place: name another folder with "
                "--out"
            )


def _at(place: str) -> str:
    """One name for one place, however it is written."""
    folder = Folder(place)
    return str(Path(folder.where).resolve()) if folder.is_here else folder.where
