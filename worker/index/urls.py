"""URLs in memory, compressed in groups: a hit decompresses one group.

A group of 256 takes about 16 bytes a URL and opens in 70 microseconds. Larger groups save a byte or two and make every
hit slower in proportion; smaller groups do the opposite.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, compress
from typing import Final, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from crawler_plugin.wire.errors import UnreadableRecord

GROUP_SIZE: Final = 256
"""URLs a group, also on the ``index`` topic: a change needs a new format version there."""

_GROUP_BYTES: Final = 128
"""Python's memory for a group in addition to its compressed bytes: the group 48, the head of the bytes 33, the number
of its end 32, and in each of two lists 8, with a little to grow."""
_GROUPS_A_STEP: Final = 1 << 12
"""Freeing the memory of this many takes a millisecond."""

_END: Final = b"\0"
_ESCAPED_END: Final = b"\xc0\x80"
"""A zero byte inside a URL, as in modified UTF-8; it never occurs in plain UTF-8."""


class Group(msgspec.Struct, frozen=True, gc=False):
    """Consecutive URLs, compressed or plain. ``stored`` holds ``size`` of them; ``count`` after ``skip`` are ours.

    The garbage collector does not see them: walking through those of an index would hold up the worker.
    """

    stored: bytes | tuple[str, ...]
    size: int
    skip: int
    count: int

    def open(self) -> tuple[str, ...]:
        """The URLs.

        Raises:
            UnreadableRecord: the bytes are no group of that size.
        """
        urls = _opened(self.stored, self.size) if isinstance(self.stored, bytes) else self.stored
        return urls[self.skip : self.skip + self.count]

    def url(self, place: int) -> str:
        """One of the URLs; it costs half as much as all, or less.

        Raises:
            UnreadableRecord: the bytes are no group of that size.
        """
        place += self.skip
        if not isinstance(self.stored, bytes):
            return self.stored[place]
        return _url(_inflated(self.stored, self.size).split(_END, place + 1)[place])

    def places(self, text: str, test: Callable[[str], bool]) -> list[int]:
        """The places of the URLs that contain a text and pass a test; none where the bytes are no group."""
        if not isinstance(self.stored, bytes):
            return [place for place, url in enumerate(self.open()) if text in url and test(url)]
        sought = text.encode().replace(_END, _ESCAPED_END)
        try:
            if sought not in (plain := _inflate(self.stored, self.size)):
                return []
            urls = plain.split(_END)[self.skip : self.skip + self.count]
            return [place for place, url in enumerate(urls) if sought in url and test(_url(url))]
        except UnreadableRecord:
            return []

    def narrowed(self, low: int, high: int) -> Group:
        """The URLs from ``low`` up to ``high`` (excluded), counted inside this group."""
        return msgspec.structs.replace(self, skip=self.skip + low, count=high - low)


def pack_group(urls: Sequence[str]) -> bytes:
    """Each URL and a zero byte, zlib-compressed."""
    return zlib.compress(b"".join(url.encode().replace(_END, _ESCAPED_END) + _END for url in urls))


def pack_urls(urls: Sequence[str]) -> tuple[bytes, ...]:
    """All URLs in groups of ``GROUP_SIZE``, the last one smaller."""
    plain = list(urls)
    return tuple(pack_group(plain[start : start + GROUP_SIZE]) for start in range(0, len(plain), GROUP_SIZE))


@lru_cache(maxsize=64)  # 2 MB; hits come in runs, and the groups of one restore are opened in order
def _opened(stored: bytes, size: int) -> tuple[str, ...]:
    return tuple(map(_url, _inflated(stored, size).split(_END)[:-1]))


def _inflate(stored: bytes, size: int) -> bytes:
    try:
        plain = zlib.decompress(stored)
    except zlib.error as error:
        raise UnreadableRecord(f"a group of URLs: {error}") from error
    if plain and not plain.endswith(_END):
        raise UnreadableRecord("a group of URLs does not end where a URL ends")
    if (found := plain.count(_END)) != size:
        raise UnreadableRecord(f"a group of URLs holds {found} of them, {size} were announced")
    return plain


_inflated = lru_cache(maxsize=64)(_inflate)


def _url(kept: bytes) -> str:
    try:
        return kept.replace(_ESCAPED_END, _END).decode()
    except UnicodeDecodeError as error:
        raise UnreadableRecord(f"a group of URLs: {error}") from error


class UrlRun(Sequence[str]):
    """An immutable sequence of URLs over groups, opened only when read; a slice or a join copies no URL."""

    def __init__(self, groups: Iterable[Group] = ()) -> None:
        self.groups: Final = tuple(group for group in groups if group.count)
        self._ends: Final = list(accumulate(group.count for group in self.groups))

    @classmethod
    def from_packed(cls, packed: Sequence[bytes], count: int) -> UrlRun:
        """The ``count`` URLs that ``pack_urls`` packed.

        Raises:
            UnreadableRecord: not the number of groups for this many URLs. A torn group is noticed when it is opened.
        """
        if len(packed) != -(-count // GROUP_SIZE):
            raise UnreadableRecord(f"{len(packed)} groups of URLs for {count} entries")
        sizes = [min(GROUP_SIZE, count - start) for start in range(0, count, GROUP_SIZE)]
        return cls(Group(stored, size, 0, size) for stored, size in zip(packed, sizes, strict=True))

    @classmethod
    def joined(cls, parts: Iterable[Sequence[str]]) -> UrlRun:
        """The parts one after the other."""
        return cls(group for part in parts for group in groups_of(part))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> UrlRun: ...
    def __getitem__(self, index: int | slice) -> str | UrlRun:
        if isinstance(index, slice):
            low, high, step = index.indices(len(self))
            if step != 1:
                raise ValueError("URLs are sliced without a step")
            return UrlRun(self._between(low, max(low, high)))
        place = range(len(self))[index]
        number = bisect_right(self._ends, place)
        group = self.groups[number]
        return group.url(place - (self._ends[number] - group.count))

    def __iter__(self) -> Iterator[str]:
        for group in self.groups:
            yield from group.open()

    def among(self, chosen: NDArray[np.bool_]) -> UrlRun:
        """The chosen URLs, bool (n,). A group of which all are chosen stays as it is; the chosen URLs of
        others are packed anew."""
        groups: list[Group] = []
        start = 0
        for group, end in zip(self.groups, self._ends, strict=True):
            here = chosen[start:end]
            start = end
            if here.all():
                groups.append(group)
            elif here.any():
                urls = list(compress(group.open(), here.tolist()))
                groups.append(Group(pack_group(urls), len(urls), 0, len(urls)))
        return UrlRun(groups)

    def _between(self, low: int, high: int) -> Iterator[Group]:
        for number in range(bisect_right(self._ends, low), len(self.groups)):
            group = self.groups[number]
            start = self._ends[number] - group.count
            if start >= high:
                return
            yield group.narrowed(max(low - start, 0), min(high - start, group.count))


def groups_of(urls: Sequence[str]) -> Sequence[Group]:
    """The groups of a run, or plain URLs as one group."""
    if isinstance(urls, UrlRun):
        return urls.groups
    plain = tuple(urls)
    return (Group(plain, len(plain), 0, len(plain)),)


class FoundUrls(Sequence[str]):
    """The URLs of some entries, each opened on request, with columns that tell most of them apart without opening:
    their ``hashes`` uint64 (n,), and the ``sites`` of the entries uint32 (n,), 0 where a site is not known."""

    def __init__(
        self, groups: Sequence[tuple[Group, int]], hashes: NDArray[np.uint64], sites: NDArray[np.uint32]
    ) -> None:
        self._groups: Final = groups
        self.hashes: Final = hashes
        self.sites: Final = sites

    def __len__(self) -> int:
        return len(self._groups)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(group.url(place) for group, place in self._groups[index])
        group, place = self._groups[index]
        return group.url(place)


class UrlStore:
    """The URLs of a shard's entries, numbered from the oldest kept one; the newest are not compressed yet."""

    def __init__(self) -> None:
        self._groups: list[Group] = []
        self._ends: list[int] = []  # counted from the first URL ever stored, so that dropping renumbers nothing
        self._sealed = 0
        self._dropped = 0
        self._tail: list[str] = []
        self._bytes = 0

    def __len__(self) -> int:
        return self._sealed + len(self._tail) - self._dropped

    def __getitem__(self, index: int) -> str:
        group, place = self.group_of(index)
        return group.url(place)

    def group_of(self, index: int) -> tuple[Group, int]:
        """The group that holds a URL, and the URL's place there; later changes of the store do not touch it."""
        place = range(len(self))[index] + self._dropped
        if place >= self._sealed:
            return Group((self._tail[place - self._sealed],), 1, 0, 1), 0
        number = bisect_right(self._ends, place)
        group = self._groups[number]
        return group, place - (self._ends[number] - group.count)

    def extend(self, urls: Sequence[str]) -> None:
        """Add URLs at the end. Groups that are at least half full are kept as they come, compressed."""
        for group in groups_of(urls):
            if isinstance(group.stored, bytes) and group.count >= GROUP_SIZE // 2:
                self._seal(len(self._tail))
                self._keep(group)
            else:
                self._tail.extend(group.open())
                while len(self._tail) >= GROUP_SIZE:
                    self._seal(GROUP_SIZE)

    def drop(self, count: int) -> None:
        """Forget the oldest ``count``; frees whole groups of memory."""
        self._dropped += min(count, len(self))
        if self._dropped > self._sealed:
            self._seal(self._dropped - self._sealed)
        gone = bisect_right(self._ends, self._dropped)
        self._bytes -= sum(map(_compressed, self._groups[:gone]))
        del self._groups[:gone]
        del self._ends[:gone]

    def dismantle(self) -> Iterator[None]:
        """Free all memory, some of it in each step; after this, no queries are allowed."""
        while self._groups:
            del self._groups[-_GROUPS_A_STEP:]
            yield

    def run(self) -> UrlRun:
        """All URLs as of now; later changes of the store do not touch it."""
        groups = list(self._groups)
        if groups:
            first_start = self._ends[0] - groups[0].count
            groups[0] = groups[0].narrowed(self._dropped - first_start, groups[0].count)
        return UrlRun.joined([UrlRun(groups), tuple(self._tail)])

    @property
    def compressed_bytes(self) -> int:
        """Bytes of all compressed groups."""
        return self._bytes + len(self._groups) * _GROUP_BYTES

    def _seal(self, count: int) -> None:
        if count:
            self._keep(Group(pack_group(self._tail[:count]), count, 0, count))
            del self._tail[:count]

    def _keep(self, group: Group) -> None:
        self._sealed += group.count
        self._bytes += _compressed(group)
        self._groups.append(group)
        self._ends.append(self._sealed)


def _compressed(group: Group) -> int:
    return len(group.stored) if isinstance(group.stored, bytes) else 0
