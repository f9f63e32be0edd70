"""Which pages have the same survivor: a few numbers for each page in memory, the rest stays in the file.

A verdict names its survivor by URL, and by id if it has one. A URL can have several survivors, since a page that was
fetched again may have changed; so the row that is meant is the earliest one before the page with that URL and id that
is as near to it as the verdict says. If no row of the file is, the survivor is an earlier one, of the state or of the
pages that the scan was compared with.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Final

import numpy as np
import numpy.typing as npt

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.urls import canonical_url, id_or_url
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.fingerprint.near import EXACT_BYTES, EXACT_TEXT
from worker.results.groups.nearness import Near, distance, page_of, sketched_similarity
from worker.results.groups.verdict_lines import VerdictLines

Rows = npt.NDArray[np.int64]
"""Places in the file at which rows begin, ascending."""

_ROWS_AT_HAND: Final = 4096
_ROUNDED: Final = 0.001
"""Two similarities that differ by less may be one, written with fewer digits; the next possible one is .01 away."""


@dataclass(frozen=True)
class SameSurvivor:
    """Pages that were compared with one survivor and are near to it.

    ``rows`` begins with the survivor, unless that stands ``elsewhere``: then all rows name one page that this file does
    not hold.
    """

    rows: Rows
    elsewhere: bool

    @property
    def size(self) -> int:
        """The number of pages, including the survivor."""
        return len(self.rows) + self.elsewhere


class Grouping:
    """All pages of a file by their survivors.

    ``near`` is the predicate of the settings that the scan ran with; None for verdicts without sketches, for which only
    the distance can be checked against the file.

    Raises:
        UsageError: a line is no verdict, or a page is not near to its survivor by these settings.
    """

    def __init__(self, lines: VerdictLines, near: Near | None) -> None:
        self._lines: Final = lines
        self._near: Final = near
        self._at: Final = lru_cache(_ROWS_AT_HAND)(self._read)
        begins, keys, unique = self._columns()
        self._begins: Final = begins
        self._first: Final = np.arange(len(begins))
        """For each page the place among all pages of the first page that has the same survivor."""
        self._elsewhere: Final = np.zeros(len(begins), np.bool_)
        survivors = np.flatnonzero(unique)
        survivors = survivors[np.argsort(keys[survivors], kind="stable")]
        others = np.flatnonzero(~unique)
        low, high = (np.searchsorted(keys[survivors], keys[others], side) for side in ("left", "right"))
        named = bytearray()
        for place, start, end in _rowwise(others, low, high):
            row, page = self._read(int(begins[place]))
            found = self._survivor(int(begins[place]), row, page, begins[survivors[start:end]])
            if found is None:
                self._elsewhere[place] = True
                named += _key(row.duplicate_of or row.url, row.duplicate_of_id or "")
            else:
                self._first[place] = survivors[start + found]
        outside = np.flatnonzero(self._elsewhere)
        _, first, of_name = np.unique(np.frombuffer(bytes(named), np.uint64), return_index=True, return_inverse=True)
        self._first[outside] = outside[first[of_name]]

    @property
    def pages(self) -> int:
        """How many pages have a survivor or are one: all that are not dead."""
        return len(self._begins)

    @property
    def dead(self) -> int:
        """How many pages could not be read, and are in no group."""
        return self._dead

    @property
    def canonical(self) -> bool:
        """Whether any page names the URL that is canonical for it."""
        return self._canonical

    def survivor_of(self, begin: int) -> int | None:
        """Where the row of a page's survivor begins; its own if it is one, None if the survivor stands elsewhere."""
        place = int(np.searchsorted(self._begins, begin))
        return None if self._elsewhere[place] else int(self._begins[self._first[place]])

    def groups(self, least: int = 2) -> Iterator[SameSurvivor]:
        """Groups of at least this many pages, in the order of their first pages in the file."""
        order = np.argsort(self._first, kind="stable")
        firsts = self._first[order]
        bounds = np.flatnonzero(np.diff(firsts, prepend=-1, append=self.pages))
        sizes = np.diff(bounds) + self._elsewhere[firsts[bounds[:-1]]]
        for number in np.flatnonzero(sizes >= least).tolist():
            places = order[bounds[number] : bounds[number + 1]]
            yield SameSurvivor(self._begins[places], bool(self._elsewhere[places[0]]))

    def _columns(self) -> tuple[Rows, npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
        """For each page that is not dead: where its row begins, its survivor's URL as a number, whether it is one."""
        begins, keys, unique = array("q"), bytearray(), bytearray()
        self._dead, self._canonical = 0, False
        for begin, row in self._lines.rows():
            if row.verdict == "dead":
                self._dead += 1
                continue
            self._canonical |= row.canonical is not None
            survives = row.verdict == "unique"
            begins.append(begin)
            keys += _key(row.url if survives else row.duplicate_of or row.url)
            unique.append(survives)
        return (
            np.array(begins, np.int64),
            np.frombuffer(bytes(keys), np.uint64),
            np.frombuffer(bytes(unique), np.bool_),
        )

    def _survivor(self, begin: int, row: Verdict, page: Fingerprinted, candidates: Rows) -> int | None:
        """The candidate that is the page's survivor, None if the survivor stands elsewhere."""
        far: Verdict | None = None
        for number, candidate in enumerate(candidates.tolist()):
            if candidate > begin:
                break
            other, survivor = self._at(candidate)
            if not _is_meant(row, page, other, survivor):
                continue
            if self._near is None or self._near(page, survivor) is not None:
                return number
            far = other
        if far is not None:
            raise UsageError(
                f"{self._lines.path}: page {row.id!r} is a {row.verdict} of {id_or_url(far.url)}, and by these "
                "settings the two are not near: name the settings of the scan with --config"
            )
        return None

    def _read(self, begin: int) -> tuple[Verdict, Fingerprinted]:
        row = self._lines.at(begin)
        return row, page_of(row)


def _rowwise(*columns: npt.NDArray[np.int64]) -> Iterator[tuple[int, ...]]:
    """Numbers that stand side by side; all of them at once as Python objects would be ten times as large."""
    for begin in range(0, len(columns[0]), _ROWS_AT_HAND):
        yield from zip(*(column[begin : begin + _ROWS_AT_HAND].tolist() for column in columns), strict=True)


def _is_meant(row: Verdict, page: Fingerprinted, other: Verdict, survivor: Fingerprinted) -> bool:
    """Whether the verdict means this survivor, by all its fields."""
    if spelled_alike(other.url) != spelled_alike(row.duplicate_of or row.url) or row.duplicate_of_id not in (
        None,
        other.id,
    ):
        return False
    if row.distance != distance(page, survivor):
        return False
    if row.distance is None or row.reason in (EXACT_TEXT, EXACT_BYTES):
        return page.text_hash == survivor.text_hash
    found = sketched_similarity(page, survivor)
    return None in (found, row.similarity) or abs((found or 0.0) - (row.similarity or 0.0)) < _ROUNDED


def _key(*names: str) -> bytes:
    spelled = "\n".join((spelled_alike(names[0]), *names[1:]))
    return blake2b(spelled.encode(errors="surrogatepass"), digest_size=8).digest()


def spelled_alike(url: str) -> str:
    """The canonical URL; a text that is no URL stays as it is."""
    try:
        return canonical_url(url)
    except ValueError:
        return url
