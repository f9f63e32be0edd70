"""Finds the archives that inputs name, and their kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from crawler_plugin.wire.errors import UsageError
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.files import FilePage, PageFiles
from worker.scan.inputs.kind import contradiction, kind_of
from worker.scan.inputs.opening import (
    DamagedFile,
    NotInstalled,
    StoredFile,
    files_within,
    is_folder,
    is_pattern,
    matching,
    printable,
    stored,
)
from worker.scan.inputs.readers import read_by_others
from worker.scan.inputs.records import Archive
from worker.scan.inputs.tables.csv_rows import CsvRows
from worker.scan.inputs.tables.jsonl import JsonArray, JsonlFile
from worker.scan.inputs.tables.parquet_rows import ParquetRows
from worker.scan.inputs.wacz import WaczMember, wacz_members
from worker.scan.inputs.warc.warc_file import WarcFile
from worker.scan.inputs.warc.web_record import ARC, WARC

_WHAT: Final = (
    "WARC, ARC, WACZ, JSON lines and arrays, CSV, Parquet, HTML, MHTML and text are read, each also packed with gzip, "
    "zstd, xz or bzip2"
)


def find_archives(
    inputs: Sequence[str], fields: Fields, *, most_bytes: int, without: Path | None = None, follow_links: bool = False
) -> list[Archive]:
    """The archives in these files, folders, globs and URLs, in their order; in a folder and a glob by their paths.

    A folder is one archive of the files that are one page each, before those that hold many. The content of a file
    shows its kind. A file of another kind is refused if it was named, and a broken record if it was found; a file so
    damaged that nothing of it can be read is always a broken record. Of a record, at most ``most_bytes`` are held. The
    folder ``without`` is skipped, except inputs in it that are named: a scan does not read its own output. Hidden
    files, things that are no files, and links unless ``follow_links``, are skipped unless they were named themselves.

    Raises:
        UsageError: an input is not there, cannot be read or has no known form; or a column is not there.
    """
    finder = _Finder(fields, most_bytes, without, follow_links)
    return [archive for name in inputs for archive in finder.archives(name)]


@dataclass(frozen=True)
class _Finder:
    """The arguments of ``find_archives``."""

    fields: Fields
    most_bytes: int
    without: Path | None
    follow_links: bool

    def archives(self, name: str) -> list[Archive]:
        """The archives of one input."""
        if not is_pattern(name):
            return self._named(name, is_strict=True)
        names, passed_over = matching(name, self.without, follow_links=self.follow_links)
        if not names:
            raise UsageError(
                f"no file matches {name}{_but(passed_over)}: give a glob that fits, or put it in quotes for `**`"
            )
        found = [archive for one in names for archive in self._named(one, is_strict=names == [name])]
        if passed_over:
            found.append(self._pages(printable(name), "passed-over", [], passed_over))
        return found

    def _named(self, name: str, *, is_strict: bool) -> list[Archive]:
        if is_folder(name):
            return self._within(name)
        file = stored(name)
        found = _found(file, self.fields, self.most_bytes)
        archives = [one for one in found if not isinstance(one, FilePage)]
        pages = [one for one in found if isinstance(one, FilePage)]
        if is_strict and not archives and pages[0].kind == "unknown":
            raise UsageError(pages[0].why)
        named = PageFiles(file.name, file.below, pages, self.most_bytes, is_folder=False)
        return [*([named] if pages else []), *archives]

    def _within(self, folder: str) -> list[Archive]:
        files, passed_over = files_within(folder, self.without, follow_links=self.follow_links)
        found = [one for file in files for one in _found(file, self.fields, self.most_bytes)]
        pages = [one for one in found if isinstance(one, FilePage)]
        archives = [one for one in found if not isinstance(one, FilePage)]
        if not found:
            raise UsageError(f"{folder} holds no file{_but(passed_over)}: name a folder with archives or pages")
        if not pages and not passed_over:
            return archives
        below = files[0].below.partition("/")[0]
        return [self._pages(printable(folder), below, pages, passed_over), *archives]

    def _pages(self, name: str, below: str, pages: Sequence[FilePage], passed_over: Mapping[str, int]) -> PageFiles:
        return PageFiles(name, below, pages, self.most_bytes, is_folder=True, passed_over=passed_over)


def _but(passed_over: Mapping[str, int]) -> str:
    """What there is nevertheless."""
    what = ", ".join(f"{count} of {why}" for why, count in sorted(passed_over.items()))
    return f" that is read ({what}; --follow-links reads links)" if what else ""


def _found(file: StoredFile, fields: Fields, most_bytes: int) -> list[Archive | FilePage]:
    """The archives in a file; for a WACZ, the WARCs in it, and for each member that is none, the reason."""
    found = opened_as(file, fields, most_bytes)
    if not isinstance(found, FilePage) or found.kind != "zip":
        return [found]
    try:
        members = wacz_members(file)
    except DamagedFile as error:
        return [FilePage(file, "damaged", why=str(error))]
    if not members:
        why = f"{file.name} is a ZIP with no WARC in it: unpack it, and name the folder"
        return [FilePage(file, "unknown", why=why)]
    return [warc_within(member, most_bytes) for member in members]


def warc_within(member: WaczMember, most_bytes: int) -> Archive | FilePage:
    """The archive in a member of a WACZ, or why it is none."""
    found = opened_as(member, Fields(), most_bytes)
    if isinstance(found, FilePage) and found.kind in ("empty", "damaged"):
        return found
    if not isinstance(found, WarcFile):
        why = f"{member.name} lies where a WACZ has WARCs, but is none: take it out, and name it as an input"
        return FilePage(member, "unknown", why=why)
    if found.compression is not None and member.is_shrunk:
        why = f"{member.name} is packed, and its ZIP packs it many times smaller: take it out, and name it"
        return FilePage(member, "damaged", why=why)
    return found


def opened_as(file: StoredFile, fields: Fields, most_bytes: int) -> Archive | FilePage:
    """The archive in a file, or the one page, or why it is neither."""
    compression = None
    try:
        kind, compression = kind_of(file, (fields.url, fields.body, fields.text, fields.id), fields.file_encoding)
        if kind != "damaged" and (read := read_by_others(file, compression, most_bytes)):
            return read
        match kind:
            case "warc":
                return WarcFile(file, compression, most_bytes, WARC)
            case "arc":
                return WarcFile(file, compression, most_bytes, ARC)
            case "jsonl":
                return JsonlFile(file, compression, most_bytes, fields)
            case "array":
                return JsonArray(file, compression, most_bytes, fields)
            case "csv":
                return CsvRows(file, compression, most_bytes, fields)
            case "parquet":
                return ParquetRows(file, most_bytes, fields)
    except NotInstalled:
        raise
    except DamagedFile as error:
        return FilePage(file, "damaged", compression, str(error))
    except UsageError as error:
        return FilePage(file, "unknown", compression, str(error))
    if why := contradiction(file.name, kind):
        return FilePage(file, "unknown", compression, why)
    if kind in ("html", "mhtml", "text", "empty", "zip"):
        return FilePage(file, kind, compression)
    if kind == "damaged":
        why = f"{file.name} cannot be unpacked from its beginning on"
    elif kind == "json":
        why = (
            f"{file.name} is JSON, and neither an object a line nor an array of objects: make lines of it, as in "
            "`jq -c .` of several objects or `jq -c '.items[]'` of an array within one, and scan these"
        )
    else:
        why = f"{file.name} has no form that pages are read from: {_WHAT}"
    return FilePage(file, "damaged" if kind == "damaged" else "unknown", compression, why)
