"""What a reader finds in an archive, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from worker.local.page import FetchedPage


class Place(NamedTuple):
    """Where a record begins.

    ``file`` is the name by which the file was found. ``offset`` counts bytes of the file as it is stored in a WARC,
    bytes of the unpacked file in JSON lines and CSV, rows in Parquet; it is 0 for a page that is a file of its own.
    """

    file: str
    offset: int


@dataclass(frozen=True, slots=True)
class ArchivedPage:
    """A page as an archive holds it.

    ``id`` is what its owner calls it: the field that was named or guessed, ``WARC-Record-ID``, the path within the
    folder; the URL where there is nothing else.
    """

    place: Place
    id: str
    page: FetchedPage


@dataclass(frozen=True, slots=True)
class BrokenRecord:
    """A record that no page can be read from. ``reason`` is one word for counting, ``detail`` is for people."""

    place: Place
    reason: str
    detail: str


class Archive(Protocol):
    """A file of an input, or a folder."""

    @property
    def name(self) -> str:
        """As it was found: a path, or a URL."""

    @property
    def form(self) -> str:
        """What it is: ``warc``, ``jsonl``, ``csv``, ``parquet`` or ``files``, with ``+`` and the compression."""

    @property
    def bytes_in_all(self) -> int | None:
        """How large it is as it is stored; None where nobody knows."""

    @property
    def bytes_read(self) -> int:
        """How much of it the iteration that was begun last has read, for the progress."""

    def records(self) -> Iterator[ArchivedPage | BrokenRecord]:
        """All records that are pages or should be, from the first on; each call begins anew and finds the same.

        Nothing is raised about what stands in the file: what cannot be read is a ``BrokenRecord``, and reading goes on
        behind it wherever a next record can be found.

        Raises:
            UsageError: the file cannot be opened any more.
        """
