"""The records that a reader finds in an archive, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.urls import without_userinfo
from worker.local.page import FetchedPage


class RecordPlace(NamedTuple):
    """Where a record begins.

    ``file`` is the name by which the file was found. ``offset`` counts bytes of the stored file in a WARC or an ARC in
    which each record is compressed separately or none is; bytes of the unpacked file in a WARC or an ARC that is
    compressed as a whole, in JSON and CSV (of its text in UTF-8, if it is in an encoding that was named, or in UTF-16);
    rows in Parquet. It is 0 for a page that is a file of its own.
    """

    file: str
    offset: int


@dataclass(frozen=True, slots=True)
class ArchivedPage:
    """A page in the form in which an archive holds it.

    ``id`` is its owner's name for it: the field that was named or guessed, ``WARC-Record-ID``, the path within the
    folder; the URL if there is nothing else. If the id is a URL, it no longer has a user name and password.
    """

    place: RecordPlace
    id: str
    page: FetchedPage

    def __post_init__(self) -> None:
        if "://" in self.id or self.id == self.page.url:
            object.__setattr__(self, "id", without_userinfo(self.id))


@dataclass(frozen=True, slots=True)
class BrokenRecord:
    """A record that no page can be read from, or a stretch of a file in which no record can be found.

    ``id`` is that of a page, where it could be read. ``reason`` is one word for counting, ``detail`` is for people:

    ============  ==================================================================================================
    damaged       the file does not say there what its form asks for: a checksum, a length, a mark, or its end is off;
                  or a record is a segment
    too-large     the record has more bytes than are held at once
    no-json       a line, or an element of an array, is no JSON, or no UTF-8
    no-object     a line, or an element of an array, is JSON, and no object
    no-columns    a row has more or fewer cells than there are columns, or a file has none that holds a page
    no-body       there is neither a body nor a text, or it is not made of characters or bytes
    no-page       a file is nothing that pages are read from
    ============  ==================================================================================================
    """

    place: RecordPlace
    reason: str
    detail: str
    id: str | None = None

    def __post_init__(self) -> None:
        if self.id is not None and "://" in self.id:
            object.__setattr__(self, "id", without_userinfo(self.id))


class Archive(Protocol):
    """A file of an input, or a folder."""

    @property
    def name(self) -> str:
        """The name by which it was found: a path, or a URL."""

    @property
    def form(self) -> str:
        """``warc``, ``arc``, ``jsonl``, ``json``, ``csv``, ``parquet``, ``files`` or ``none``, with ``+`` and the
        compression."""

    @property
    def below(self) -> str:
        """Where a copy of it belongs in a folder of copies: its base name, or the path from the folder's parent on."""

    @property
    def fields(self) -> Mapping[str, str]:
        """Which column or field was named, or guessed, for ``url`` and so on; empty if the form defines them."""

    @property
    def passed_over(self) -> Mapping[str, int]:
        """How many whole records without a page the last iteration has found, by a word for the reason."""

    @property
    def bytes_in_all(self) -> int | None:
        """The stored size; None if it is not known."""

    @property
    def bytes_read(self) -> int:
        """How much of it the last iteration has read, for the progress."""

    def records(self) -> Iterator[ArchivedPage | BrokenRecord]:
        """All records that are pages or should be, from the first on; each call begins anew and finds the same records.

        The content of the file raises no error: a part that cannot be read is a ``BrokenRecord``, and reading goes on
        after it wherever a next record can be found.

        Raises:
            UsageError: the file can no longer be opened.
            Unavailable: the disk, or the network, fails while it is read.
        """


class ManyPages(Archive, Protocol):
    """An archive that is one file with all its pages."""

    def write_parts(self, kept: Path, removed: Path | None, fates: Fates) -> list[BrokenRecord]:
        """Write files of the same form and compression: one of the pages that stay, and one of those that do not.

        ``fates`` are those of all pages of ``records()``, in order. Returns the pages that were to be written and
        cannot be read a second time.

        Raises:
            UsageError: the fates belong to other pages, or the form has no room for a mark that is asked for.
        """


class Original(NamedTuple):
    """The page that stays for another one: ``fetched`` in milliseconds since 1970 UTC, None if it is not known."""

    url: str
    id: str | None = None
    fetched: int | None = None


class Fate(NamedTuple):
    """How a page is written: all of it if it ``stays``. It is marked with a ``verdict`` that is not None. For a page
    that does not stay but is ``revisited`` a WARC names the page that stays for it, its ``original``."""

    stays: bool
    verdict: str | None = None
    original: Original | None = None
    revisited: bool = False


MARKS: Final = ("dedup_verdict", "dedup_duplicate_of")
"""Fields, or columns, of a row that is marked: the verdict, and the URL of the page that stays for it."""


def marks_of(fate: Fate) -> tuple[str | None, str | None]:
    """The values of ``MARKS``."""
    return fate.verdict, None if fate.original is None else fate.original.url


class Fates:
    """The fates of an archive's pages, each to be asked for once, in their order; ``are_marks`` says whether all have a
    verdict."""

    def __init__(self, name: str, pages: Iterable[tuple[RecordPlace, Fate]], *, are_marks: bool = False) -> None:
        self.are_marks: Final = are_marks
        self._name: Final = name
        self._pages: Final = iter(pages)

    def __iter__(self) -> Iterator[tuple[RecordPlace, Fate]]:
        return self._pages

    def of(self, page: ArchivedPage) -> Fate:
        """The fate of the next page.

        Raises:
            UsageError: it belongs to another page, or there are no more.
        """
        place, fate = next(self._pages, (None, None))
        if place != page.place or fate is None:
            raise self._others()
        return fate

    def end(self) -> None:
        """Raises ``UsageError`` if there are fates of more pages."""
        if next(self._pages, None) is not None:
            raise self._others()

    def _others(self) -> UsageError:
        return UsageError(
            f"the verdicts are not those of the pages in {self._name}: put back the file that was judged, or judge it "
            "anew"
        )
