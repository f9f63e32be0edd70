"""Makes claims of consumed pages, in child processes that can be killed, so that a bad page costs only itself."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from crawler_plugin.wire.errors import PageError, UnreadableRecord
from crawler_plugin.wire.messages import MOST_STATUS, NOT_STORED, PARDONED, Claim
from crawler_plugin.wire.page_headers import PARDON_HEADER, STORE_HEADER, Headers, PageMeta
from crawler_plugin.wire.urls import canonical_url
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.pool.process_pool import PoolUsage
from worker.stream.log import Record
from worker.stream.partition.commit import OVERSIZE
from worker.stream.partition.record_sizes import MAX_DETAIL, largest_output
from worker.stream.partition.scopes import ScopeOf, everywhere
from worker.stream.policy import MAX_URL_BYTES
from worker.verdict.clock import bounded_clock

BAD_HEADERS: Final = "bad-headers"
BAD_URL: Final = "bad-url"
NO_BODY: Final = "no-body"
UNREADABLE: Final = "unreadable-record"

_FLAGS: Final = {STORE_HEADER: (b"no", NOT_STORED), PARDON_HEADER: (b"yes", PARDONED)}
"""By the name of a header: the value that sets a flag, and that flag."""


class Source(NamedTuple):
    """What a claim says of its page in addition to the parser's result."""

    partition: int
    offset: int
    clock: int
    url: str
    scope: int = 0
    status: int = 0
    flags: int = 0


class PageReaders(Protocol):
    """The part of ``worker.pool.process_pool.ProcessPool`` that is needed."""

    @property
    def capacity(self) -> int:
        """How many more pages ``submit`` accepts."""

    @property
    def outstanding(self) -> int:
        """Pages that were submitted and not collected yet."""

    @property
    def usage(self) -> PoolUsage:
        """The work to do and the time used so far."""

    def submit(self, key: Source, body: bytes, meta: PageMeta) -> None:
        """Hand a page over; ``results`` returns its result under ``key``."""

    def results(self, timeout: float = ...) -> Sequence[tuple[Source, Fingerprinted | PageError]]:
        """The finished results, in any order; waits at most this many seconds for the first of them."""


@dataclass(eq=False)
class FingerprintPool:
    """Hands pages to the pool as it has room, and turns its results into claims.

    A record that cannot be a page becomes a dead claim at once, with a reason that a person can act on. ``most_bytes``
    is the largest record that each of the topics for pages and dead letters accepts.
    """

    pool: PageReaders
    most_bytes: int
    clock: Callable[[], float] = time.monotonic
    scope_of: ScopeOf = everywhere
    ttl: int | None = None

    def __post_init__(self) -> None:
        self._line: deque[tuple[Source, bytes, PageMeta]] = deque()
        self._dead: list[Claim] = []

    @property
    def busy(self) -> bool:
        """Whether a page has not come back yet."""
        return bool(self._line or self._dead or self.pool.outstanding)

    @property
    def backlog(self) -> bool:
        """Whether pages wait for room at the parsers."""
        return bool(self._line)

    @property
    def usage(self) -> PoolUsage:
        return self.pool.usage

    def submit(self, record: Record) -> None:
        """Take a page; never blocks."""
        clock, url = bounded_clock(None, record.timestamp, self.ttl), ""
        try:
            meta, body = page_of(record, self.most_bytes)
            clock = bounded_clock(meta.fetched, record.timestamp, self.ttl)
            url = identity(meta.url)
            scope = self.scope_of(url, record.headers)
            flags = flags_of(record.headers)
        except PageError as error:
            self._dead.append(_dead_claim(Source(record.partition, record.offset, clock, url), error))
        else:
            source = Source(record.partition, record.offset, clock, url, scope, _status(meta.status), flags)
            self._line.append((source, body, meta.at(url)))  # it stands for an empty page, however it was spelled
            self._feed()

    def claims(self, wait: float = 0.0) -> Sequence[Claim]:
        """The claims that have come back; with pages under way, gathers for this many seconds.

        Gathering is cheaper than a call for each page: a pass of the worker's loop asks the broker four times.
        """
        done, self._dead = self._dead, []
        until = self.clock() + wait
        while True:
            self._feed()
            for source, result in self.pool.results(max(0.0, until - self.clock())):
                done.append(_dead_claim(source, result) if isinstance(result, PageError) else _claim(source, result))
            if self.clock() >= until or not self.pool.outstanding:
                self._feed()
                return done

    def _feed(self) -> None:
        while self._line and self.pool.capacity:
            self.pool.submit(*self._line.popleft())


def page_of(record: Record, most_bytes: int) -> tuple[PageMeta, bytes]:
    """Headers and body of a record of ``pages``.

    Raises:
        PageError: it cannot be a page, or cannot be passed on in at most this many bytes.
    """
    if record.unreadable is not None:
        raise PageError(UNREADABLE, record.unreadable)
    if record.oversize:
        raise PageError(
            OVERSIZE, f"{record.oversize} bytes unpacked, which is more than any page that can be passed on"
        )
    if (size := largest_output(record.key, record.value, record.headers)) > most_bytes:
        raise PageError(
            OVERSIZE,
            f"{len(record.value or b'')} bytes, {size} with key, headers and the largest verdict: at most "
            f"{most_bytes} can be passed on",
        )
    try:
        meta = PageMeta.from_headers(record.headers)
    except UnreadableRecord as error:
        raise PageError(BAD_HEADERS, str(error)) from error
    if record.value is None:
        raise PageError(NO_BODY, "the record has no value")
    return meta, record.value


def identity(url: str) -> str:
    """The canonical URL.

    Raises:
        PageError: the URL is not absolute, or longer than the longest that is kept.
    """
    try:
        canonical = canonical_url(url)
    except ValueError as error:
        raise PageError(BAD_URL, str(error)) from error
    if len(canonical.encode()) > MAX_URL_BYTES:
        raise PageError(BAD_URL, f"{len(canonical.encode())} bytes long, at most {MAX_URL_BYTES} are kept")
    return canonical


def flags_of(headers: Headers) -> int:
    """The headers that say how to judge the page, as ``Claim.flags``; of a repeated name the last one counts.

    Raises:
        PageError: a value is neither ``yes`` nor ``no``. A guess would store a page that must not be stored, or drop a
            page that was pardoned, and its sender would not learn of it.
    """
    flags = 0
    for name, value in {name: value for name, value in headers if name in _FLAGS}.items():
        if value not in (b"yes", b"no"):
            shown = "none" if value is None else repr(value[:40])
            raise PageError(BAD_HEADERS, f"the value of {name} is {shown}; send the page again with yes or no")
        flagged_by, flag = _FLAGS[name]
        flags |= flag if value == flagged_by else 0
    return flags


def _status(status: int | None) -> int:
    """The HTTP status in the form of a claim."""
    return status if status is not None and 0 <= status < MOST_STATUS else 0


def _claim(source: Source, page: Fingerprinted) -> Claim:
    return Claim(
        partition=source.partition,
        offset=source.offset,
        clock=source.clock,
        url=source.url,
        fingerprint=page.fingerprint,
        text_hash=page.text_hash,
        tokens=page.tokens,
        language=page.language,
        sketch=page.sketch,
        bands=page.bands,
        scope=source.scope,
        canonical=page.canonical,
        status=source.status,
        template=page.template,
        site=page.site,
        title=page.title,
        title_words=page.title_words,
        doubt=page.doubt,
        flags=source.flags,
    )


def _dead_claim(source: Source, error: PageError) -> Claim:
    detail = error.detail[:MAX_DETAIL]
    return Claim(
        partition=source.partition,
        offset=source.offset,
        clock=source.clock,
        url=source.url,
        dead=f"{error.reason}: {detail}" if detail else error.reason,
    )
