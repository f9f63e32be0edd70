"""The claims of a batch as columns, and the record of ``fingerprints`` that carries them.

Every worker reads every claim and owns few of the pages: it works on columns, and makes a ``Claim`` only of its own
pages.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from crawler_plugin.wire.errors import UnreadableRecord
from crawler_plugin.wire.messages import NOT_STORED, PACKED_WIDTHS, PARDONED, Batch, Claim, FlaggedBatch
from worker.fingerprint.hashing import hash_slices
from worker.fingerprint.sketch import as_keys, as_words
from worker.index.entries import OPTIONAL
from worker.index.in_batch import Flagged
from worker.index.queries import Queries

_DTYPES: Final[Mapping[str, np.dtype[Any]]] = {
    "partition": np.dtype("<i4"),
    "offset": np.dtype("<i8"),
    "clock": np.dtype("<i8"),
    "tokens": np.dtype("<u4"),
    "url_bytes": np.dtype("<u4"),
    "status": np.dtype("<u2"),
    "bare": np.dtype("u1"),
    "language": np.dtype("u1"),
}
"""The columns of ``messages.PACKED_WIDTHS``."""
_WIDTH: Final = sum(PACKED_WIDTHS.values())
_ALL_FLAGS: Final = NOT_STORED | PARDONED
_MOST_URL_BYTES: Final = 1 << 24
"""Bytes of a batch: four times the size of 1,024 claims with the longest URLs. A larger one must be forged, to fill the
memory."""
_U64: Final = np.dtype("<u8")
_U32: Final = np.dtype("<u4")


@dataclass(frozen=True, eq=False)
class Claims(Sequence[Claim]):
    """n claims in their order; indexing by place makes a ``Claim``.

    ``partition`` int64, ``offset`` int64, ``clock`` int64 (milliseconds since 1970 UTC), ``language`` uint8, a place in
    ``languages``; ``pages`` holds the columns that ``near`` reads. ``dead`` holds places and reasons. ``ends`` int64
    says where in ``urls`` each URL ends; ``canonical`` uint64 is the hash of the URL that the page names as canonical,
    ``status`` uint16 the HTTP status, ``template`` uint32 stands for the template of the URL; 0 in each of the three
    means none. ``rows`` are the claims that the columns were made from, if there were any. ``flags`` uint8 is None
    where no claim has any. Do not write to columns.
    """

    partition: NDArray[np.int64]
    offset: NDArray[np.int64]
    clock: NDArray[np.int64]
    language: NDArray[np.uint8]
    languages: tuple[str, ...]
    dead: Mapping[int, str]
    pages: Queries
    urls: bytes
    ends: NDArray[np.int64]
    canonical: NDArray[np.uint64]
    status: NDArray[np.uint16]
    template: NDArray[np.uint32]
    rows: Sequence[Claim] | None = None
    flags: NDArray[np.uint8] | None = None

    @classmethod
    def of(cls, rows: Sequence[Claim]) -> Claims:
        """From claims one by one.

        Raises:
            OverflowError: a number is too large, or less than 0, for its column.
            ValueError: more than 256 languages.
        """
        count = len(rows)
        languages = {name: number for number, name in enumerate(dict.fromkeys(row.language for row in rows))}
        if len(languages) > 256:
            raise ValueError(f"claims of {len(languages)} languages do not fit into one batch: 256 do")
        urls = [row.url.encode() for row in rows]

        def column(dtype: Any, values: list[Any]) -> NDArray[Any]:
            return np.array(values, dtype)

        return cls(
            partition=column(np.int32, [row.partition for row in rows]).astype(np.int64),
            offset=column(np.int64, [row.offset for row in rows]),
            clock=column(np.int64, [row.clock for row in rows]),
            language=column(np.uint8, [languages[row.language] for row in rows]),
            languages=tuple(languages),
            dead={place: row.dead for place, row in enumerate(rows) if row.dead is not None},
            pages=Queries(
                fingerprint=column(np.uint64, [row.fingerprint or 0 for row in rows]),
                bare=column(np.bool_, [row.fingerprint is None for row in rows]),
                text_hash=column(np.uint64, [row.text_hash for row in rows]),
                tokens=column(np.uint32, [row.tokens for row in rows]),
                bands=as_keys([row.bands for row in rows]).copy(),
                sketch=as_words([row.sketch for row in rows]).copy(),
                scope=column(np.uint64, [row.scope for row in rows]),
                site=column(np.uint32, [row.site for row in rows]),
                title=column(np.uint32, [row.title for row in rows]),
                title_words=column(np.uint64, [row.title_words for row in rows]),
                doubt=column(np.uint8, [row.doubt for row in rows]),
            ),
            urls=b"".join(urls),
            ends=np.cumsum(np.fromiter(map(len, urls), np.int64, count)),
            rows=rows,
            canonical=column(np.uint64, [row.canonical for row in rows]),
            status=column(np.uint16, [row.status for row in rows]),
            template=column(np.uint32, [row.template for row in rows]),
            flags=column(np.uint8, [row.flags for row in rows]) if any(row.flags for row in rows) else None,
        )

    @classmethod
    def of_batch(cls, batch: Batch) -> Claims:
        """The claims in a record of ``fingerprints``.

        Raises:
            UnreadableRecord: columns that contradict each other; the same for every worker.
        """
        columns = _unpacked(batch)
        flags = columns["bare"].astype(np.uint8) >> np.uint8(1)
        ends = np.cumsum(columns["url_bytes"], dtype=np.int64)
        urls = _inflated(batch.urls, int(ends[-1]) if batch.count else 0)
        starts = urls + b"\0"
        letters = np.frombuffer(starts, np.uint8)
        try:
            urls.decode()
        except UnicodeDecodeError as error:
            raise UnreadableRecord(f"the URLs of a batch are not UTF-8: {error}") from error
        if ((letters[ends] & 0xC0) == 0x80).any():
            raise UnreadableRecord("a URL of a batch ends inside a character")
        if (columns["language"] >= len(batch.languages)).any():
            raise UnreadableRecord("a claim of a language that its batch does not name")
        if any(not 0 <= place < batch.count for place, _ in batch.dead):
            raise UnreadableRecord("a reason for a claim that its batch does not hold")
        return cls(
            partition=columns["partition"].astype(np.int64),
            offset=columns["offset"],
            clock=columns["clock"],
            language=columns["language"],
            languages=batch.languages,
            dead=dict(batch.dead),
            pages=Queries(
                fingerprint=np.frombuffer(batch.fingerprint, _U64).copy(),
                bare=(columns["bare"] & np.uint8(1)).view(np.bool_),
                text_hash=np.frombuffer(batch.text_hash, _U64).copy(),
                tokens=columns["tokens"],
                **{name: _optional(getattr(batch, name), dtype, batch.count) for name, dtype in OPTIONAL.items()},
            ),
            urls=urls,
            ends=ends,
            canonical=_optional(batch.canonical, _U64, batch.count),
            status=columns["status"],
            template=_optional(batch.template, _U32, batch.count),
            flags=flags if flags.any() else None,
        )

    def to_batch(self, scheme: bytes, writer: bytes) -> Batch:
        """The record that holds these claims."""
        pages = self.pages
        bare = pages.bare if self.flags is None else pages.bare | self.flags << np.uint8(1)
        columns = {
            "partition": self.partition,
            "offset": self.offset,
            "clock": self.clock,
            "tokens": pages.tokens,
            "url_bytes": self.url_bytes,
            "bare": bare,
            "language": self.language,
            "status": self.status,
        }
        kept = {name: getattr(pages, name) for name in OPTIONAL}
        return (Batch if self.flags is None else FlaggedBatch)(
            scheme=scheme,
            writer=writer,
            count=len(self),
            fingerprint=pages.fingerprint.astype(_U64).tobytes(),
            text_hash=pages.text_hash.astype(_U64).tobytes(),
            packed=zlib.compress(b"".join(_planes(columns[name], dtype) for name, dtype in _DTYPES.items())),
            languages=self.languages,
            dead=tuple(self.dead.items()),
            urls=zlib.compress(self.urls),
            canonical=_packed(self.canonical, _U64),
            template=_packed(self.template, _U32),
            **{name: _packed(column, OPTIONAL[name].base) for name, column in kept.items()},
        )

    def dated(self, first: int, clock: NDArray[np.int64], doubt: NDArray[np.uint8]) -> Claims:
        """The same claims with other times, int64 (n,), and doubts, uint8 (n,), for the offsets from ``first`` on."""
        offset = np.arange(first, first + len(self), dtype=np.int64)
        return replace(self, offset=offset, clock=clock, pages=replace(self.pages, doubt=doubt), rows=None)

    def doubted(self, doubt: NDArray[np.uint8]) -> Claims:
        """The same claims with other doubts, uint8 (n,)."""
        rows = self.rows
        if rows is not None:
            pairs = zip(rows, doubt.tolist(), strict=True)
            rows = [row if row.doubt == doubted else row.doubted(doubted) for row, doubted in pairs]
        return replace(self, pages=replace(self.pages, doubt=doubt), rows=rows)

    def __len__(self) -> int:
        return len(self.offset)

    @overload
    def __getitem__(self, place: int) -> Claim: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Claim]: ...
    def __getitem__(self, place: int | slice) -> Claim | Sequence[Claim]:
        if isinstance(place, slice):
            return [self[number] for number in range(len(self))[place]]
        if self.rows is not None:
            return self.rows[place]
        place = range(len(self))[place]
        pages = self.pages
        assert pages.tokens is not None
        assert pages.scope is not None and pages.site is not None
        assert pages.title is not None and pages.title_words is not None and pages.doubt is not None
        return Claim(
            partition=int(self.partition[place]),
            offset=int(self.offset[place]),
            clock=int(self.clock[place]),
            url=self.url(place),
            fingerprint=None if pages.bare[place] else int(pages.fingerprint[place]),
            text_hash=int(pages.text_hash[place]),
            tokens=int(pages.tokens[place]),
            language=self.languages[self.language[place]],
            dead=self.dead.get(place),
            sketch=_value(pages.sketch, place),
            bands=_value(pages.bands, place),
            scope=int(pages.scope[place]),
            canonical=int(self.canonical[place]),
            status=int(self.status[place]),
            template=int(self.template[place]),
            site=int(pages.site[place]),
            title=int(pages.title[place]),
            title_words=int(pages.title_words[place]),
            doubt=int(pages.doubt[place]),
            flags=0 if self.flags is None else int(self.flags[place]),
        )

    def url(self, place: int) -> str:
        """The canonical URL of one page."""
        return self.urls[self.ends[place - 1] if place else 0 : self.ends[place]].decode()

    def urls_at(self, places: NDArray[np.int64]) -> tuple[str, ...]:
        """The URLs of some pages."""
        begins, ends = self._begins[places].tolist(), self.ends[places].tolist()
        if self.urls.isascii():
            text = self.urls.decode("ascii")
            return tuple(text[begin:end] for begin, end in zip(begins, ends, strict=True))
        return tuple(self.urls[begin:end].decode() for begin, end in zip(begins, ends, strict=True))

    @cached_property
    def url_hashes(self) -> NDArray[np.uint64]:
        """The hashes of all URLs, as an index keeps them: uint64 (n,)."""
        return self.url_hashes_at(np.arange(len(self)))

    def url_hashes_at(self, places: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The hashes of some pages' URLs, uint64."""
        return hash_slices(self.urls, self._begins[places], self.ends[places])

    @property
    def url_bytes(self) -> NDArray[np.int64]:
        """The lengths of the URLs in bytes: int64 (n,)."""
        return self.ends - self._begins

    @cached_property
    def _begins(self) -> NDArray[np.int64]:
        begins = np.zeros(len(self), np.int64)
        begins[1:] = self.ends[:-1]
        return begins

    @cached_property
    def alive(self) -> NDArray[np.bool_]:
        """Which claims are not dead."""
        alive = np.ones(len(self), np.bool_)
        alive[list(self.dead)] = False
        return alive

    @cached_property
    def stored(self) -> NDArray[np.bool_]:
        """Which claims are stored where they are unique, bool (n,): all without the flag ``NOT_STORED``."""
        return self._without(NOT_STORED)

    @cached_property
    def pardoned(self) -> NDArray[np.bool_]:
        """Which claims have the flag ``PARDONED``, bool (n,)."""
        return ~self._without(PARDONED)

    @cached_property
    def flagged(self) -> Flagged | None:
        """The flags' effect on these claims, None where no claim has any flag."""
        if self.flags is None:
            return None
        first: dict[str, int] = {}
        urls = [first.setdefault(self.url(place), place) for place in range(len(self))]
        return Flagged(self.stored, self.pardoned, np.array(urls, np.int64))

    def _without(self, flag: int) -> NDArray[np.bool_]:
        return np.ones(len(self), np.bool_) if self.flags is None else (self.flags & np.uint8(flag)) == 0

    @cached_property
    def highest(self) -> dict[int, int]:
        """The highest offset that is claimed of each partition."""
        order = np.lexsort((self.offset, self.partition))
        return dict(zip(self.partition[order].tolist(), self.offset[order].tolist(), strict=True))


def _planes(column: NDArray[Any] | None, dtype: np.dtype[Any]) -> bytes:
    assert column is not None
    return column.astype(dtype).view(np.uint8).reshape(-1, dtype.itemsize).T.tobytes()


def _unpacked(batch: Batch) -> dict[str, NDArray[Any]]:
    planes = np.frombuffer(_inflated(batch.packed, batch.count * _WIDTH), np.uint8)
    columns: dict[str, NDArray[Any]] = {}
    begin = 0
    for name, dtype in _DTYPES.items():
        end = begin + batch.count * dtype.itemsize
        rows = planes[begin:end].reshape(dtype.itemsize, batch.count).T
        columns[name] = np.array(rows, order="C").view(dtype).reshape(batch.count)
        begin = end
    known = 1 | _ALL_FLAGS << 1 if isinstance(batch, FlaggedBatch) else 1
    if (columns["bare"] > known).any():
        raise UnreadableRecord(f"the column bare of a batch holds larger bytes than {known}")
    return columns


def _inflated(compressed: bytes, length: int) -> bytes:
    if length > _MOST_URL_BYTES:
        raise UnreadableRecord(f"a batch announces {length:,} bytes of one column")
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(compressed, length + 1) if compressed else b""
    except zlib.error as error:
        raise UnreadableRecord(f"a column of a batch cannot be decompressed: {error}") from error
    if len(found) != length or stream.unconsumed_tail or stream.unused_data:
        raise UnreadableRecord(f"a column of a batch does not have the {length} bytes that were announced")
    return found


def _packed(column: NDArray[Any], dtype: np.dtype[Any]) -> bytes:
    return column.astype(dtype).tobytes() if column.any() else b""


def _optional(column: bytes, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    return np.frombuffer(column, dtype).copy() if column else np.zeros(count, dtype)


def _value(column: NDArray[Any] | None, place: int) -> bytes:
    return b"" if column is None or not column[place].any() else column[place].tobytes()
