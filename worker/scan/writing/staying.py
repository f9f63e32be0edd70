"""Which page of a group stays, for all pages of a scan at once: in columns of numbers.

The result is that of ``worker.results.groups`` for each group separately. A page that goes is near to the page that
stays for it: if the preferred page is not near to all pages of its group, the group's survivor stays, too.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.outcomes import Verdict
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.fingerprint.hashing import hash_words
from worker.results.groups.grouping import spelled_alike
from worker.results.groups.keep import Keep
from worker.results.groups.nearness import Near
from worker.results.takers import MANY, Takers
from worker.scan.writing.verdict_columns import Numbers, VerdictColumns, from_hex
from worker.verdict.decide import DEAD, DUPLICATE, REFETCH, UNIQUE

if TYPE_CHECKING:
    import pyarrow as pa

VERDICTS: Final = (UNIQUE, DUPLICATE, REFETCH, DEAD)
_UNIQUE, _DUPLICATE, _REFETCH, _DEAD = range(4)
_NOT_YET: Final = -2
"""For a page whose survivor is not found yet."""
NOWHERE: Final = -1
"""In place of the row of a page outside this scan."""
_OF_PAGE: Final = ("fingerprint", "text_hash", "tokens", "sketch", "bands")
BYTES_OF_BATCHES: Final = 256 * 1024 * 1024
"""Bytes of memory, however many pages there are: batches of rows, and the words in them."""
BYTES_A_PAGE: Final = 2
BYTES_A_GROUPED_PAGE: Final = 72
"""The same if survivors are looked up."""
BYTES_A_COPY: Final = 220
"""In addition, for each page that is not unique, if another page than the first one is preferred: the data that shows
whether pages are near, for the page and for its survivor."""

Flags = npt.NDArray[np.bool_]
Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Staying:
    """For each page, by its row: whether it ``stays``, and the row of the page that stays ``instead`` of it, or
    ``NOWHERE``. ``instead`` and ``fetched`` (milliseconds, ``NOWHERE`` for an unknown time) are None if they were not
    asked for. ``split`` counts groups of which two pages stay."""

    stays: Flags
    instead: Numbers | None = None
    fetched: Numbers | None = None
    split: int = 0


def memory_for(pages: int, copies: int, keep: Keep, *, with_originals: bool) -> int:
    """Bytes that ``staying`` takes at most for this many pages, of which this many are not unique."""
    if keep == "first" and not with_originals:
        return BYTES_OF_BATCHES + BYTES_A_PAGE * pages
    grouped = BYTES_A_GROUPED_PAGE * pages + (0 if keep == "first" else BYTES_A_COPY * copies)
    return BYTES_OF_BATCHES + grouped


def staying(columns: VerdictColumns, keep: Keep, near: Near | None, *, with_originals: bool) -> Staying:
    """Which pages stay. ``near`` is the predicate of the scan; it is called if another page than the first is
    preferred, or if several pages have a survivor's URL and id.

    Raises:
        UsageError: these verdicts were made by another predicate, or none names a canonical URL that should be kept.
    """
    kinds, kept = _kinds(columns)
    if keep == "first" and not with_originals:
        return Staying(kept | (kinds == _UNIQUE))
    groups = _Groups(columns, kinds, near)
    stays = kinds == _UNIQUE
    instead = groups.survivors.copy()
    split = 0
    if keep != "first":
        split = groups.prefer(_scores(columns, groups.survivors, keep), stays, instead)
    instead[stays] = NOWHERE
    fetched = _numbers(columns, "fetched", times)
    return Staying(stays | kept, instead, fetched, split)


def _kinds(columns: VerdictColumns) -> tuple[npt.NDArray[np.uint8], Flags]:
    """For each page its verdict, as a place in ``VERDICTS``, and whether it stays because it may be no copy: it is
    suspect, or its survivor is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kinds = np.empty(columns.rows, np.uint8)
    kept = np.zeros(columns.rows, np.bool_)
    known = pa.array(VERDICTS)
    originals: list[Hashes] = []
    hosts = set[str]()
    at = 0
    for batch in columns.batches(("verdict", "duplicate_of", "suspect")):
        span = slice(at, at + batch.num_rows)
        kinds[span] = pc.index_in(batch.column(0), known).to_numpy(zero_copy_only=False)
        kept[span] = batch.column(2).to_numpy(zero_copy_only=False)
        duplicates = _masked(batch, kinds[span] == _DUPLICATE)
        originals.append(_hashed(duplicates.column(1)))
        hosts |= {_host(name) for name in duplicates.filter(duplicates.column(2)).column(1).to_pylist() if name}
        at += batch.num_rows
    # Only a page with this many copies, or with suspects among them, can have become suspect.
    names, counts = np.unique(np.concatenate([np.empty(0, np.uint64), *originals]), return_counts=True)
    if len(often := names[counts >= MANY]):
        for batch in columns.batches(("duplicate_of",)):
            copies = batch.filter(batch.column(0).is_valid()).column(0)
            hosts |= {_host(name) for name in copies.filter(pa.array(np.isin(_hashed(copies), often))).to_pylist()}
    # Pages that were judged before their survivor became suspect are kept, too.
    if hosts and (suspects := _suspects(columns, hosts)):
        at = 0
        for batch in columns.batches(("duplicate_of",)):
            named = pc.is_in(batch.column(0), pa.array(suspects)).to_numpy(zero_copy_only=False)
            kept[at : at + batch.num_rows] |= named & (kinds[at : at + batch.num_rows] == _DUPLICATE)
            at += batch.num_rows
    return kinds, kept


def _suspects(columns: VerdictColumns, hosts: Container[str]) -> list[str]:
    """URLs of survivors on these hosts that swallow a whole template of theirs."""
    takers = Takers()
    for batch in columns.batches(("url", "verdict", "duplicate_of", "suspect", "title_hash")):
        for url, verdict, original, suspect, title in zip(
            *(batch.column(place).to_pylist() for place in range(5)), strict=True
        ):
            if _host(url) in hosts:
                takers.add(
                    Verdict(url=url, verdict=verdict, duplicate_of=original, suspect=suspect, title_hash=title or "")
                )
    return [one.url for one in takers.suspects(MANY)]


def _host(url: str) -> str:
    """Equal for equal hosts, whatever their ports."""
    parts = url.split("/", 3)
    return parts[2].partition(":")[0] if len(parts) > 2 else ""


def _numbers(columns: VerdictColumns, name: str, to_numbers: Any) -> Any:
    return np.concatenate([np.empty(0, np.int64), *(to_numbers(batch.column(0)) for batch in columns.batches((name,)))])


def times(values: pa.Array) -> Numbers:
    """Milliseconds since 1970 UTC; ``NOWHERE`` for an unknown time."""
    import pyarrow as pa

    found: Numbers = values.cast(pa.int64()).fill_null(NOWHERE).to_numpy(zero_copy_only=False)
    return found


def _hashed(values: pa.Array) -> Hashes:
    """64 bits for each word; 0 for none."""
    words = values.to_pylist()
    found: Hashes = hash_words([word or "" for word in words])
    found[[word is None for word in words]] = 0
    return found


class _Groups:
    """The survivor of each page: its own row if it is one, ``NOWHERE`` if it is none of these pages."""

    def __init__(self, columns: VerdictColumns, kinds: npt.NDArray[np.uint8], near: Near | None) -> None:
        self._columns: Final = columns
        self._near: Final = near
        self.survivors: Final = np.full(columns.rows, NOWHERE, np.int64)
        unique = np.flatnonzero(kinds == _UNIQUE)
        self.survivors[unique] = unique
        others = np.flatnonzero((kinds == _DUPLICATE) | (kinds == _REFETCH))
        urls, ids, originals, original_ids = self._names(len(unique), len(others), kinds)
        order = np.argsort(urls, kind="stable")
        urls, ids, unique = urls[order], ids[order], unique[order]
        low = np.searchsorted(urls, originals, "left")
        counts = np.searchsorted(urls, originals, "right") - low
        found = np.full(len(others), NOWHERE, np.int64)
        one = np.flatnonzero(counts == 1)
        fits = (unique[low[one]] < others[one]) & ((original_ids[one] == 0) | (ids[low[one]] == original_ids[one]))
        found[one[fits]] = unique[low[one[fits]]]
        asked: list[tuple[int, list[int]]] = []
        for place in np.flatnonzero(counts > 1).tolist():
            span = slice(int(low[place]), int(low[place] + counts[place]))
            fit = (unique[span] < others[place]) & (
                (ids[span] == original_ids[place]) if original_ids[place] else np.ones(counts[place], np.bool_)
            )
            candidates = unique[span][fit].tolist()
            if len(candidates) == 1:
                found[place] = candidates[0]
            elif candidates:
                asked.append((place, candidates))
        if asked:
            pages = _Pages(columns, np.unique([row for place, rows in asked for row in (others[place], *rows)]))
            for place, candidates in asked:
                found[place] = pages.first_near(int(others[place]), candidates, near)
        self.survivors[others] = found

    def _names(self, unique: int, others: int, kinds: npt.NDArray[np.uint8]) -> tuple[Hashes, Hashes, Hashes, Hashes]:
        """Hashes of URL and id of each survivor, and those of the survivor of each page that has one."""
        urls, ids = np.empty(unique, np.uint64), np.empty(unique, np.uint64)
        originals, original_ids = np.empty(others, np.uint64), np.empty(others, np.uint64)
        at = first = other = 0
        for batch in self._columns.batches(("url", "id", "duplicate_of", "duplicate_of_id")):
            here = kinds[at : at + batch.num_rows]
            own = _masked(batch, here == _UNIQUE)
            urls[first : first + own.num_rows] = _hashed(own.column(0))
            ids[first : first + own.num_rows] = _hashed(own.column(1))
            copies = _masked(batch, (here == _DUPLICATE) | (here == _REFETCH))
            named = copies.column(2).fill_null("")
            is_own = np.array([not name for name in named.to_pylist()], np.bool_)
            found = _hashed(named)
            if is_own.any():  # a refetch is near to an earlier page of its own URL
                found[is_own] = _hashed(copies.column(0))[is_own]
            originals[other : other + copies.num_rows] = found
            original_ids[other : other + copies.num_rows] = _hashed(copies.column(3))
            at += batch.num_rows
            first += own.num_rows
            other += copies.num_rows
        return urls, ids, originals, original_ids

    def prefer(self, scores: Numbers, stays: Flags, instead: Numbers) -> int:
        """Let the pages of the highest scores stay, of equal ones the earliest; returns how many groups are split."""
        members = np.flatnonzero((self.survivors != NOWHERE) & (self.survivors != np.arange(len(self.survivors))))
        members = np.concatenate([members, np.unique(self.survivors[members])])
        groups = self.survivors[members]
        order = np.lexsort((members, -scores[members], groups))
        members, groups = members[order], groups[order]
        begins = np.flatnonzero(np.diff(groups, prepend=-1))
        preferred = np.repeat(members[begins], np.diff(begins, append=len(members)))
        moved = preferred != groups
        members, groups, preferred = members[moved], groups[moved], preferred[moved]
        pages = _Pages(self._columns, np.unique(members))
        holds = np.fromiter(
            (
                page == row or pages.are_near(page, row, self._near, must=row == group)
                for page, row, group in _rowwise(preferred, members, groups)
            ),
            np.bool_,
            len(members),
        )
        splits = np.unique(groups[~holds])
        goes = holds & (members != preferred) & ~((members == groups) & np.isin(groups, splits))
        stays[groups] = np.isin(groups, splits)
        stays[preferred] = True
        instead[members[goes]] = preferred[goes]
        return len(splits)


class _Pages:
    """The data that shows whether some pages are near, by their rows."""

    def __init__(self, columns: VerdictColumns, rows: Numbers) -> None:
        self._rows: Final = rows
        count = len(rows)
        self._fingerprints: Final = np.zeros((count, 8), np.uint8)
        self._has_fingerprint: Final = np.zeros(count, np.bool_)
        self._hashes: Final = np.zeros((count, 8), np.uint8)
        self._tokens: Final = np.zeros(count, np.int64)
        self._sketches: Final = np.zeros((count, 32), np.uint8)
        self._bands: Final = np.zeros((count, 32), np.uint8)
        self._has_sketch: Final = np.zeros(count, np.bool_)
        try:
            for places, batch in columns.places(_OF_PAGE, rows):
                fingerprints, hashes, tokens, sketches, bands = (batch.column(at) for at in range(len(_OF_PAGE)))
                self._fingerprints[places], self._has_fingerprint[places] = from_hex(fingerprints, 8)
                self._hashes[places], _ = from_hex(hashes, 8)
                self._tokens[places] = tokens.fill_null(0).to_numpy(zero_copy_only=False)
                self._sketches[places], self._has_sketch[places] = from_hex(sketches, 32)
                self._bands[places], _ = from_hex(bands, 32)
        except ValueError as error:
            raise UsageError(f"the verdicts are damaged ({error}): judge these pages again") from error

    def are_near(self, a: int, b: int, near: Near | None, *, must: bool = False) -> bool:
        """Whether the pages of these rows are near; they ``must`` be where one is the other's survivor."""
        found = near is not None and near(self._page(a), self._page(b)) is not None
        if must and not found:
            raise UsageError(
                f"the page of row {a} was judged near to that of row {b}, and by these settings the two are not near: "
                "name the settings of the scan with --config"
            )
        return found

    def first_near(self, row: int, candidates: list[int], near: Near | None) -> int:
        return next((one for one in candidates if near is None or self.are_near(row, one, near)), NOWHERE)

    def _page(self, row: int) -> Fingerprinted:
        at = int(np.searchsorted(self._rows, row))
        has_sketch = self._has_sketch[at]
        return Fingerprinted(
            fingerprint=int.from_bytes(self._fingerprints[at].tobytes()) if self._has_fingerprint[at] else None,
            text_hash=int.from_bytes(self._hashes[at].tobytes()),
            tokens=int(self._tokens[at]),
            language="",
            reason=None,
            sketch=self._sketches[at].tobytes() if has_sketch else b"",
            bands=self._bands[at].tobytes() if has_sketch else b"",
        )


def _scores(columns: VerdictColumns, survivors: Numbers, keep: Keep) -> Numbers:
    """How much each page is preferred."""
    import pyarrow.compute as pc

    match keep:
        case "longest":
            return _int64(
                _numbers(columns, "tokens", lambda values: values.fill_null(0).to_numpy(zero_copy_only=False))
            )
        case "newest":
            return _int64(_numbers(columns, "fetched", times))
        case "shortest-url":
            lengths = _numbers(columns, "url", lambda values: pc.utf8_length(values).to_numpy(zero_copy_only=False))
            return -_int64(lengths)
    return _named_canonical(columns, survivors)


def _named_canonical(columns: VerdictColumns, survivors: Numbers) -> Numbers:
    """How many other pages of its group name the URL of a page as the canonical one."""
    rows, names, urls = [], [], np.empty(columns.rows, np.uint64)
    at = 0
    for batch in columns.batches(("url", "canonical")):
        urls[at : at + batch.num_rows] = _hashed(batch.column(0))
        for place, (url, name) in enumerate(zip(*batch.to_pydict().values(), strict=True), at):
            if name is not None and survivors[place] != NOWHERE and (spelled := spelled_alike(name)) != url:
                rows.append(place)
                names.append(int(hash_words([spelled])[0]))
        at += batch.num_rows
    if not rows:
        raise UsageError(
            "none of these pages names another page's URL as canonical: take --keep shortest-url, or no --keep"
        )
    named = np.empty(len(rows), np.dtype([("group", np.int64), ("name", np.uint64)]))
    named["group"], named["name"] = survivors[rows], names
    known, counts = np.unique(named, return_counts=True)
    scores = np.zeros(columns.rows, np.int64)
    for begin in range(0, columns.rows, 1 << 20):
        asked = np.empty(min(1 << 20, columns.rows - begin), known.dtype)
        asked["group"], asked["name"] = survivors[begin : begin + len(asked)], urls[begin : begin + len(asked)]
        places = np.minimum(np.searchsorted(known, asked), len(known) - 1)
        scores[begin : begin + len(asked)] = np.where(known[places] == asked, counts[places], 0)
    return scores


def _int64(values: Any) -> Numbers:
    found: Numbers = values.astype(np.int64)
    return found


def _masked(batch: pa.RecordBatch, chosen: Flags) -> pa.RecordBatch:
    import pyarrow as pa

    return batch.filter(pa.array(chosen))


def _rowwise(*columns: Numbers) -> Iterator[tuple[int, ...]]:
    """Numbers that stand side by side; all of them at once as Python objects would be ten times as large."""
    for begin in range(0, len(columns[0]), 4096):
        yield from zip(*(column[begin : begin + 4096].tolist() for column in columns), strict=True)
