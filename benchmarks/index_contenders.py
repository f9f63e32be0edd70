"""The indexes that ``index`` and ``crowded-block`` measure side by side: this one, and those that pip installs.

Each takes 64-bit codes and finds those within three bits. They promise different things: only this index keeps order,
source, time and URL of an entry, and only this index and PyPI's simhash can forget an entry.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import logging
import os
from abc import ABC, abstractmethod
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from crawler_plugin.wire.errors import UsageError
from worker.index.entries import Entries
from worker.index.queries import Queries
from worker.index.shard import Shard
from worker.index.urls import UrlRun, pack_urls

U64 = NDArray[np.uint64]

K: Final = 3
PORTION: Final = 1024
"""Codes added at a time, as a worker stores the survivors of a batch; whole groups of URLs."""
_NO_URLS: Final = UrlRun.from_packed(pack_urls([""] * PORTION), PORTION)


class Contender(ABC):
    """One index while it is measured. Peers get no more codes than they hold in a bearable time."""

    name: ClassVar[str]
    package: ClassVar[str] = ""
    """Its name for pip; empty where it needs no package."""
    at_most: ClassVar[int]
    """The most codes for it: more would take too long, or more memory than a machine has."""

    @abstractmethod
    def __init__(self) -> None:
        """Empty.

        Raises:
            ImportError: it is not installed.
        """

    @abstractmethod
    def add(self, codes: U64) -> None:
        """Take up the next codes, at most ``PORTION`` (uint64); they are numbered from 0 on."""

    @abstractmethod
    def query_of(self, code: int) -> Any:
        """The code in the form that ``one`` takes: a caller would hold it in that form already."""

    @abstractmethod
    def one(self, query: Any) -> Any:
        """A single look-up, as its own caller makes it."""

    @abstractmethod
    def many(self, codes: U64) -> Any:
        """Look up many at once; the result has the contender's own form."""

    @abstractmethod
    def finds(self, codes: U64) -> NDArray[np.bool_]:
        """Tell for each code whether a near one was found: bool (n,)."""

    @property
    def own_bytes(self) -> int | None:
        """Bytes that it reports to hold, if it reports any."""
        return None


class ThisIndex(Contender):
    """A shard as workers hold it, without URLs: these would take most of the time and no part in the search."""

    name = "this index"
    at_most = 1 << 31

    def __init__(self) -> None:
        self.shard = Shard(k=K)
        self._stored = 0

    def add(self, codes: U64) -> None:
        self.shard.store(as_entries(codes, self._stored))
        self._stored += 1

    def query_of(self, code: int) -> int:
        return code

    def one(self, query: int) -> int:
        return self.shard.earliest_slot(query)

    def many(self, codes: U64) -> Any:
        return self.shard.earliest_near(as_queries(codes))

    def finds(self, codes: U64) -> NDArray[np.bool_]:
        return np.asarray(self.many(codes).slots >= 0)

    @property
    def own_bytes(self) -> int:
        return self.shard.nbytes


class Hammingbird(Contender):
    """Rust, streaming, append only."""

    name = "hammingbird"
    package = "hammingbird"
    at_most = 60_000_000

    def __init__(self) -> None:
        self._index = importlib.import_module("hammingbird").Index(8, K)

    def add(self, codes: U64) -> None:
        self._index.add_batch(_as_bytes(codes))

    def query_of(self, code: int) -> NDArray[np.uint8]:
        row: NDArray[np.uint8] = _as_bytes(np.array([code], np.uint64))[0]
        return row

    def one(self, query: Any) -> Any:
        return self._index.query(query)

    def many(self, codes: U64) -> Any:
        return self._index.query_batch(_as_bytes(codes))

    def finds(self, codes: U64) -> NDArray[np.bool_]:
        return np.array([bool(found) for found in self.many(codes)])


class Faiss(Contender):
    """C++, the same pigeonhole principle with four hash tables of 16 bits; one thread."""

    name = "faiss MultiHash"
    package = "faiss-cpu"
    at_most = 60_000_000

    def __init__(self) -> None:
        logging.getLogger("faiss.loader").setLevel(logging.WARNING)
        faiss = importlib.import_module("faiss")
        faiss.omp_set_num_threads(1)
        self._index: Any = faiss.IndexBinaryMultiHash(64, 4, 16)

    def add(self, codes: U64) -> None:
        self._index.add(_as_bytes(codes))

    def query_of(self, code: int) -> NDArray[np.uint8]:
        return _as_bytes(np.array([code], np.uint64))

    def one(self, query: Any) -> Any:
        return self._index.range_search(query, K + 1)  # its radius is excluded

    def many(self, codes: U64) -> Any:
        return self._index.range_search(_as_bytes(codes), K + 1)

    def finds(self, codes: U64) -> NDArray[np.bool_]:
        limits, _, _ = self.many(codes)
        return np.asarray(np.diff(limits.astype(np.int64)) > 0)


class PySimhash(Contender):
    """Pure Python, a dict of sets of text."""

    name = "simhash"
    package = "simhash"
    at_most = 100_000

    def __init__(self) -> None:
        package = importlib.import_module("simhash")
        logging.getLogger("simhash").setLevel(logging.ERROR)  # it warns at each look-up in a large bucket
        self._simhash: Any = package.Simhash
        self._index: Any = package.SimhashIndex([], k=K)
        self._count = 0

    def add(self, codes: U64) -> None:
        for code in codes.tolist():
            self._index.add(str(self._count), self._simhash(code))
            self._count += 1

    def query_of(self, code: int) -> Any:
        return self._simhash(code)

    def one(self, query: Any) -> Any:
        return self._index.get_near_dups(query)

    def many(self, codes: U64) -> Any:
        return [self.one(self.query_of(code)) for code in codes.tolist()]

    def finds(self, codes: U64) -> NDArray[np.bool_]:
        return np.array([bool(found) for found in self.many(codes)])


class DictOfLists(Contender):
    """An index that a programmer writes in an afternoon: four dicts from 16 bits to the list of codes with them."""

    name = "dicts of lists"
    at_most = 200_000

    def __init__(self) -> None:
        self._tables: list[dict[int, list[tuple[int, int]]]] = [{} for _ in range(4)]
        self._count = 0

    def add(self, codes: U64) -> None:
        for number, code in enumerate(codes.tolist(), self._count):
            for place, table in enumerate(self._tables):
                table.setdefault(code >> 16 * place & 0xFFFF, []).append((code, number))
        self._count += len(codes)

    def query_of(self, code: int) -> int:
        return code

    def one(self, query: int) -> int | None:
        earliest: int | None = None
        for place, table in enumerate(self._tables):
            for code, number in table.get(query >> 16 * place & 0xFFFF, ()):
                if (code ^ query).bit_count() <= K:
                    earliest = number if earliest is None else min(number, earliest)
                    break  # a bucket's first match is its earliest
        return earliest

    def many(self, codes: U64) -> Any:
        return [self.one(code) for code in codes.tolist()]

    def finds(self, codes: U64) -> NDArray[np.bool_]:
        return np.array([found is not None for found in self.many(codes)])


CONTENDERS: Final[tuple[type[Contender], ...]] = (ThisIndex, Hammingbird, Faiss, PySimhash, DictOfLists)


def chosen(names: list[str] | None) -> tuple[list[type[Contender]], list[str]]:
    """The contenders to measure, this index first, and a line for each that is not installed.

    ``names`` are packages or names of contenders, None for all; this index is always among them.

    Raises:
        UsageError: a name that belongs to no package and no contender.
    """
    known = {kind.package or kind.name: kind for kind in CONTENDERS[1:]}
    for name in names or ():
        if name not in known:
            raise UsageError(f"--against {name}: choose from {', '.join(repr(each) for each in known)}")
    here: list[type[Contender]] = [ThisIndex]
    absent = []
    for name, kind in known.items():
        if names is not None and name not in names:
            continue
        try:
            kind()
        except ImportError:
            absent.append(f"{name} is not installed and not measured; to have it: pip install {name}")
        else:
            here.append(kind)
    return here, absent


def version_of(kind: type[Contender]) -> str:
    """Its name with the installed version, if there is one."""
    if kind is ThisIndex:
        return f"{kind.name} (numba)"
    try:
        return f"{kind.name} {metadata.version(kind.package)}" if kind.package else kind.name
    except metadata.PackageNotFoundError:
        return kind.name


def as_entries(codes: U64, batch: int) -> Entries:
    """Survivors of one batch with these fingerprints; their other columns are made up, their URLs empty."""
    count = len(codes)
    urls = _NO_URLS if count == PORTION else UrlRun.from_packed(pack_urls([""] * count), count)
    return Entries(
        batch=np.full(count, batch, np.int64),
        place=np.arange(count, dtype=np.uint32),
        fingerprint=codes,
        bare=np.zeros(count, np.bool_),
        text_hash=codes * np.uint64(0x9E3779B97F4A7C15),  # another value an entry, at no cost
        tokens=np.full(count, 200, np.uint32),
        url_hash=~codes,
        fetched=np.full(count, batch, np.int64),
        urls=urls,
    )


def as_queries(codes: U64) -> Queries:
    """Pages with these fingerprints, each with a text of its own."""
    return Queries(fingerprint=codes, bare=np.zeros(len(codes), np.bool_), text_hash=np.zeros(len(codes), np.uint64))


def resident_bytes() -> int:
    """Memory of this process that is in RAM, after freed memory has been given back; Linux."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _as_bytes(codes: U64) -> NDArray[np.uint8]:
    return np.ascontiguousarray(codes).view(np.uint8).reshape(-1, 8)
