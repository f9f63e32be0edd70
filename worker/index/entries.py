"""Survivors column by column: the content of a shard and of a block on the ``index`` topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worker.fingerprint.hashing import hash_bytes
from worker.fingerprint.sketch import as_keys, as_words
from worker.index.urls import UrlRun

COLUMNS: Final[dict[str, np.dtype[Any]]] = {
    "batch": np.dtype("<i8"),
    "place": np.dtype("<u4"),
    "fingerprint": np.dtype("<u8"),
    "bare": np.dtype("?"),
    "text_hash": np.dtype("<u8"),
    "tokens": np.dtype("<u4"),
    "url_hash": np.dtype("<u8"),
    "fetched": np.dtype("<i8"),
}
"""Name and type of each column except the URLs; the widths are those of ``messages.COLUMN_WIDTHS``."""

OPTIONAL: Final[dict[str, np.dtype[Any]]] = {
    "scope": np.dtype("<u8"),
    "bands": np.dtype(("<u4", 8)),
    "sketch": np.dtype(("<u8", 4)),
    "site": np.dtype("<u4"),
    "title": np.dtype("<u4"),
    "title_words": np.dtype("<u8"),
    "doubt": np.dtype("u1"),
}
"""The columns that may be left out if all entries have zeros there; ``messages.OPTIONAL_WIDTHS``."""

_WITHOUT_URLS: Final = sum(dtype.itemsize for dtype in COLUMNS.values())


class Survivor(NamedTuple):
    """A page whose verdict is unique. ``order`` is (offset of its batch, place in it); ``fetched`` is in milliseconds.

    ``fingerprint`` is 64 bits, None for a page of too few features; ``text_hash`` 64 bits of its text. ``sketch`` and
    ``bands`` are 32 bytes each or none, ``scope`` is 0 for all pages, ``site``, ``title``, ``title_words`` and
    ``doubt`` are 0 for none, as in ``messages.Claim``.
    """

    order: tuple[int, int]
    url: str
    fingerprint: int | None
    text_hash: int
    tokens: int
    fetched: int
    sketch: bytes = b""
    bands: bytes = b""
    scope: int = 0
    site: int = 0
    title: int = 0
    title_words: int = 0
    doubt: int = 0


@dataclass(frozen=True, eq=False)
class Entries:
    """Survivors as columns of equal length n, in the order of the log.

    ``batch`` int64, ``place`` uint32, ``fingerprint`` uint64 (0 where ``bare``), ``bare`` bool (has no fingerprint),
    ``text_hash`` uint64, ``tokens`` uint32, ``url_hash`` uint64 (xxh3 of the URL), ``fetched`` int64 in milliseconds
    since 1970 UTC; ``urls`` may be compressed until they are read. Columns may be views: do not write to them.

    ``scope`` uint64, ``bands`` uint32 (n, 8), ``sketch`` uint64 (n, 4), ``site`` and ``title`` uint32, ``title_words``
    uint64 and ``doubt`` uint8 are None where no entry has a value; otherwise an entry without a value has zeros. An
    entry may be ``bare`` and have a sketch.
    """

    batch: NDArray[np.int64]
    place: NDArray[np.uint32]
    fingerprint: NDArray[np.uint64]
    bare: NDArray[np.bool_]
    text_hash: NDArray[np.uint64]
    tokens: NDArray[np.uint32]
    url_hash: NDArray[np.uint64]
    fetched: NDArray[np.int64]
    urls: Sequence[str]
    scope: NDArray[np.uint64] | None = None
    bands: NDArray[np.uint32] | None = None
    sketch: NDArray[np.uint64] | None = None
    site: NDArray[np.uint32] | None = None
    title: NDArray[np.uint32] | None = None
    title_words: NDArray[np.uint64] | None = None
    doubt: NDArray[np.uint8] | None = None

    def __post_init__(self) -> None:
        for name, dtype in COLUMNS.items():
            column = self.column(name)
            if column.dtype != dtype or column.shape != self.batch.shape:
                raise ValueError(f"column {name} is {column.dtype} {column.shape}, not {dtype} {self.batch.shape}")
        if len(self.urls) != len(self.batch):
            raise ValueError(f"{len(self.urls)} URLs for {len(self.batch)} entries")
        for name, dtype in OPTIONAL.items():
            kept = self.optional(name)
            if kept is not None and (kept.dtype, kept.shape) != (dtype.base, self.batch.shape + dtype.shape):
                wanted = self.batch.shape + dtype.shape
                raise ValueError(f"column {name} is {kept.dtype} {kept.shape}, not {dtype.base} {wanted}")

    @classmethod
    def empty(cls) -> Entries:
        """No entry."""
        return cls(**{name: np.empty(0, dtype) for name, dtype in COLUMNS.items()}, urls=())

    @classmethod
    def from_rows(cls, rows: Sequence[Survivor]) -> Entries:
        """Survivors in the order given; hashes their URLs."""
        count = len(rows)

        def column(name: str, values: Iterable[int | bool]) -> NDArray[Any]:
            return np.fromiter(values, COLUMNS[name], count)

        return cls(
            batch=column("batch", (row.order[0] for row in rows)),
            place=column("place", (row.order[1] for row in rows)),
            fingerprint=column("fingerprint", (row.fingerprint or 0 for row in rows)),
            bare=column("bare", (row.fingerprint is None for row in rows)),
            text_hash=column("text_hash", (row.text_hash for row in rows)),
            tokens=column("tokens", (row.tokens for row in rows)),
            url_hash=column("url_hash", (hash_bytes(row.url.encode()) for row in rows)),
            fetched=column("fetched", (row.fetched for row in rows)),
            urls=tuple(row.url for row in rows),
            scope=np.fromiter((row.scope for row in rows), np.uint64, count)
            if any(row.scope for row in rows)
            else None,
            bands=as_keys([row.bands for row in rows]) if any(row.bands for row in rows) else None,
            sketch=as_words([row.sketch for row in rows]) if any(row.sketch for row in rows) else None,
            **{
                name: np.array(values, OPTIONAL[name]) if any(values) else None
                for name in ("site", "title", "title_words", "doubt")
                for values in ([getattr(row, name) for row in rows],)
            },
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Entries]) -> Entries:
        """The parts one after the other; compressed URLs stay compressed."""
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return cls.empty()
        columns = {name: np.concatenate([part.column(name) for part in parts]) for name in COLUMNS}
        for name in OPTIONAL:
            if any(part.optional(name) is not None for part in parts):
                columns[name] = np.concatenate([part.filled(name) for part in parts])
        return cls(**columns, urls=UrlRun.joined(part.urls for part in parts))

    def __len__(self) -> int:
        return len(self.batch)

    def __getitem__(self, rows: slice) -> Entries:
        """Consecutive entries, as views."""
        kept = {name: column for name in OPTIONAL if (column := self.optional(name)) is not None}
        columns = {name: self.column(name) for name in COLUMNS} | kept
        return Entries(**{name: column[rows] for name, column in columns.items()}, urls=self.urls[rows])

    def among(self, chosen: NDArray[np.bool_]) -> Entries:
        """The chosen entries; compressed URLs stay compressed in groups of which all are chosen."""
        if chosen.all():
            return self
        kept = {name: column for name in OPTIONAL if (column := self.optional(name)) is not None}
        columns = {name: self.column(name) for name in COLUMNS} | kept
        urls = UrlRun.joined([self.urls]).among(chosen)
        return Entries(**{name: column[chosen] for name, column in columns.items()}, urls=urls)

    def __iter__(self) -> Iterator[Survivor]:
        sketches, bands = _values(self.sketch, len(self)), _values(self.bands, len(self))
        standing = (self.filled(name).tolist() for name in ("scope", "site", "title", "title_words", "doubt"))
        rows = zip(
            *(self.column(name).tolist() for name in COLUMNS), self.urls, sketches, bands, *standing, strict=True
        )
        for batch, place, fingerprint, bare, text_hash, tokens, _, fetched, url, *optional in rows:
            yield Survivor((batch, place), url, None if bare else fingerprint, text_hash, tokens, fetched, *optional)

    def column(self, name: str) -> NDArray[Any]:
        """The column of that name of ``COLUMNS``."""
        column: NDArray[Any] = getattr(self, name)
        return column

    def optional(self, name: str) -> NDArray[Any] | None:
        """The column of that name of ``OPTIONAL``, None where it was left out."""
        column: NDArray[Any] | None = getattr(self, name)
        return column

    def filled(self, name: str) -> NDArray[Any]:
        """The same, with zeros where it was left out."""
        column = self.optional(name)
        return np.zeros(len(self), OPTIONAL[name]) if column is None else column

    def after(self, batch: int) -> Entries:
        """The entries decided in batches later than ``batch``; needs entries that ascend."""
        return self[int(np.searchsorted(self.batch, batch, side="right")) :]

    def up_to(self, batch: int) -> Entries:
        """The entries decided in ``batch`` or earlier; needs entries that ascend."""
        return self[: int(np.searchsorted(self.batch, batch, side="right"))]

    @property
    def ascending(self) -> bool:
        """Whether each entry's order is larger than that of the one before it."""
        batch, place = self.batch, self.place
        later_batch = batch[1:] > batch[:-1]
        later_place = (batch[1:] == batch[:-1]) & (place[1:] > place[:-1])
        return bool((later_batch | later_place).all())

    @property
    def first_order(self) -> tuple[int, int]:
        """Order of the first entry; there must be one."""
        return int(self.batch[0]), int(self.place[0])

    @property
    def last_order(self) -> tuple[int, int]:
        """Order of the last entry; there must be one."""
        return int(self.batch[-1]), int(self.place[-1])

    @property
    def nbytes(self) -> int:
        """Bytes of the columns without the URLs."""
        optional = (self.optional(name) for name in OPTIONAL)
        return len(self) * _WITHOUT_URLS + sum(column.nbytes for column in optional if column is not None)


def _values(column: NDArray[Any] | None, count: int) -> list[bytes]:
    """32 bytes an entry, none for zeros."""
    if column is None:
        return [b""] * count
    return [row.tobytes() if row.any() else b"" for row in column]
