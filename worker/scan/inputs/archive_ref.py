"""A reference by which an archive is found again, on this machine or another one, after its pages were judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from crawler_plugin.wire.errors import UsageError
from worker.scan.inputs.fields import Fields
from worker.scan.inputs.files import NO_FILES, FilePage, PageFiles
from worker.scan.inputs.find import opened_as, warc_within
from worker.scan.inputs.opening import printable, stored, unprinted
from worker.scan.inputs.packed_file import PackedFile
from worker.scan.inputs.records import Archive
from worker.scan.inputs.wacz import WaczMember, wacz_members

RECORDS: Final = "records"
"""The form of an archive of which only the records are known."""
_FILES: Final = ("files", NO_FILES)


class ArchiveRef(msgspec.Struct, frozen=True, kw_only=True):
    """A reference to an archive: ``name``, ``form``, ``below``, ``fields`` and ``size`` (``bytes_in_all``) are those of
    ``Archive``.

    ``within`` is the WACZ that it lies in; ``is_folder`` says for an archive of the form ``files`` whether it is a
    folder or a single file. ``pages`` counts its verdicts, dead pages included: the verdicts of several archives stand
    one after the other in their order.
    """

    name: str
    form: str
    below: str
    size: int | None = None
    fields: dict[str, str] = {}
    within: str | None = None
    is_folder: bool = False
    pages: int = 0

    @classmethod
    def of(cls, archive: Archive) -> ArchiveRef:
        """The reference to an archive whose pages are not counted yet."""
        file = archive.file if isinstance(archive, PackedFile) else None
        return cls(
            name=archive.name,
            form=archive.form,
            below=printable(archive.below),
            size=archive.bytes_in_all,
            fields=dict(archive.fields),
            within=file.within if isinstance(file, WaczMember) else None,
            is_folder=isinstance(archive, PageFiles) and archive.is_folder,
        )

    def with_pages(self, pages: int) -> ArchiveRef:
        """The same reference with this many verdicts."""
        return msgspec.structs.replace(self, pages=pages)

    @property
    def is_files(self) -> bool:
        """Whether each of its pages is a file of its own."""
        return self.form in _FILES

    def moved(self, places: Mapping[str, str]) -> ArchiveRef:
        """The same reference to its present place (``now_at``)."""
        within = None if self.within is None else now_at(self.within, places)
        return msgspec.structs.replace(self, name=now_at(self.name, places), within=within)

    def archive(self, most_bytes: int) -> Archive:
        """The archive. One of the form ``files`` looks up each file only when it is asked for it.

        Raises:
            UsageError: it is gone, may not be read, or is not the same archive any more.
        """
        if self.form == RECORDS:
            raise UsageError(
                f"the records in {self.name} do not name their archive: make them with `python -m worker fingerprint`, "
                "and judge these"
            )
        if self.is_files:
            return PageFiles(self.name, self.below, [], most_bytes, is_folder=self.is_folder)
        if self.within is None:
            found = opened_as(stored(unprinted(self.name)), Fields.of(self.fields), most_bytes)
        else:
            members = {one.name: one for one in wacz_members(stored(unprinted(self.within)))}
            if self.name not in members:
                raise UsageError(f"{self.name} is not in {self.within} any more: put back the file that was judged")
            found = warc_within(members[self.name], most_bytes)
        if isinstance(found, FilePage) or found.form != self.form or not self._has_size(found.bytes_in_all):
            raise UsageError(
                f"{self.name} is not the file that was judged, {self.form} of {self.size} bytes: put back that file, "
                "or judge this one anew"
            )
        return found

    def _has_size(self, size: int | None) -> bool:
        return self.size is None or size in (None, self.size)


def now_at(name: str, places: Mapping[str, str]) -> str:
    """The present place of a file of this name: the longest of ``places`` that the name begins with is replaced."""
    for old in sorted(places, key=len, reverse=True):
        if name.startswith(old):
            return places[old] + name.removeprefix(old)
    return name
