"""Which survivors a record of the log makes forgotten, and for how long that record has to be known.

Blocks are immutable, so forgotten survivors in them come back with each restore. Each later block therefore names what
was forgotten, until all entries that it applies to have expired. Workers of several program versions must come to the
same result, so nothing here depends on how some version of Python parses URLs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import lru_cache, partial
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from crawler_plugin.wire.forgetting import ForgetCondition, Forgotten
from worker.index.entries import Entries
from worker.index.urls import Group, groups_of
from worker.sites import OF_AN_ID, site_of

MOST_BYTES: Final = 1 << 14
"""Bytes of conditions to be known, since each block names them: about 250 hosts. With more, a block might be larger
than the broker accepts."""


_THREADS: Final = 4
_MANY: Final = 256
"""Groups of URLs with which threads pay off: most of the time goes into inflating, which they do at once."""


class Pages(Protocol):
    """The fields of n pages that conditions read: ``fetched`` int64, ``scope`` uint64 and ``site`` uint32, both None
    for zeros, and the ``urls``."""

    @property
    def fetched(self) -> NDArray[np.int64]: ...
    @property
    def scope(self) -> NDArray[np.uint64] | None: ...
    @property
    def site(self) -> NDArray[np.uint32] | None: ...
    @property
    def urls(self) -> Sequence[str]: ...


def host_in(url: str) -> str:
    """The host of a canonical URL, in lower case, without port and trailing dot; empty where there is none."""
    if url.startswith(OF_AN_ID):
        return ""
    host = url.partition("://")[2]
    for end in "/?#":
        host = host.partition(end)[0]
    host = host.rpartition("@")[2]
    host = host.partition("]")[0][1:] if host.startswith("[") else host.partition(":")[0]
    return host.lower().rstrip(".")


def is_met(condition: ForgetCondition, url: str) -> bool:
    """Whether a URL meets a condition that is about URLs."""
    if condition.kind == "url-prefix":
        return url.startswith(condition.text)
    begin = url.find("://") + 3
    return _is_of(condition.kind == "site", condition.text, url[: url.find("/", begin) + 1] or url)


@lru_cache(1 << 12)  # few hosts have most pages
def _is_of(of_site: bool, wanted: str, origin: str) -> bool:
    host = host_in(origin)
    return host == wanted or (of_site and bool(host) and site_of(host) == wanted)


def met(condition: ForgetCondition, pages: Pages, end: int) -> NDArray[np.bool_]:
    """Which of the first ``end`` pages meet the condition: bool (end,).

    A group of URLs that cannot be read meets no condition: where one of its URLs is found, the worker ends.
    """
    if condition.kind == "before":
        return pages.fetched[:end] < condition.number
    if condition.kind == "scope":
        scope = pages.scope
        return np.full(end, condition.number == 0) if scope is None else scope[:end] == np.uint64(condition.number)
    found = np.zeros(end, np.bool_)
    groups, likely = groups_of(pages.urls), np.arange(end)
    if condition.site and pages.site is not None:
        likely = np.flatnonzero((pages.site[:end] == condition.site) | (pages.site[:end] == 0))
    ends = np.cumsum([group.count for group in groups])
    numbers = np.unique(np.searchsorted(ends, likely, side="right")).tolist()
    look = partial(Group.places, text=condition.text, test=partial(is_met, condition))
    with ThreadPoolExecutor(_THREADS) if len(numbers) > _MANY else nullcontext() as threads:
        chosen = [groups[number] for number in numbers]
        for number, places in zip(numbers, threads.map(look, chosen) if threads else map(look, chosen), strict=True):
            begin = int(ends[number]) - groups[number].count
            found[[begin + place for place in places if begin + place < end]] = True
    return found


def without(entries: Entries, forgotten: Sequence[Forgotten]) -> Entries:
    """The entries that are not forgotten. Forgotten are entries of batches before a record that meet its condition."""
    if not forgotten or not len(entries):
        return entries
    kept = np.ones(len(entries), np.bool_)
    for each in forgotten:
        end = int(np.searchsorted(entries.batch, each.at))
        kept[:end] &= ~met(each.condition, entries, end)
    return entries.among(kept)


def in_force(forgotten: Iterable[Forgotten], watermark: int, ttl: int | None) -> tuple[Forgotten, ...]:
    """The conditions that still have to be known at a watermark: without those that only expired survivors meet."""
    return tuple(each for each in forgotten if ttl is None or each.clock >= watermark - ttl)


def one_more(known: Sequence[Forgotten], new: Forgotten) -> tuple[Forgotten, ...] | None:
    """The conditions to be known from a record on; the same condition counts once. None where they would be too
    many."""
    found = (*(each for each in known if each.condition != new.condition), new)
    return found if sum(each.condition.nbytes for each in found) <= MOST_BYTES else None
