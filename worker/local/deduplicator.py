"""``Deduplicator``: pages in, verdicts out, in one process and without Kafka."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final, Self, Unpack

from crawler_plugin.wire.errors import PageError, Refused
from crawler_plugin.wire.messages import Block, Claim
from crawler_plugin.wire.outcomes import NOWHERE, Verdict
from crawler_plugin.wire.topics import OUTPUT_MARGIN_BYTES
from crawler_plugin.wire.urls import without_userinfo
from worker.compose import parts
from worker.compose.machine import memory_for_index, parsers
from worker.compose.step import fingerprinters, policy
from worker.config import Settings, load_settings
from worker.fingerprint.fingerprinter import Fingerprinter
from worker.local.argument_errors import config_of, path_or_none, refuse_unknown, wrong_type
from worker.local.compaction import compacted, is_crowded
from worker.local.in_process_fingerprints import InProcess
from worker.local.page import AboutPage, Body, FetchedPage, as_asked
from worker.local.single_shard import SingleShard
from worker.local.state_file import StateFile
from worker.observe.compile_progress import compiling
from worker.pool.process_pool import PAGES_AHEAD
from worker.stream.partition.fingerprint_pool import FingerprintPool, PageReaders, identity
from worker.stream.shard.memory_limit import OverMemoryLimit
from worker.verdict.claims import Claims
from worker.verdict.decide import UNIQUE, Decision
from worker.verdict.told import told

_WAIT: Final = 0.05
"""Seconds for which results of the processes gather, and pages that are judged together: asking for each of them would
cost more than the work on it."""
_GLANCE: Final = 0.004
"""Seconds for which results gather where verdicts are written first: a caller that waits for one may send no other
page, so the results of other pages are collected in that time. Verdicts then wait for as many as were written together
the last time, ``_WAIT`` at most: a write takes a disk some milliseconds, and the processor as long as half a page."""
_LOOK: Final = 32
"""Pages that are taken between two looks at the processes, which have more than that ahead, or larger ones."""
_AHEAD: Final = 4
"""How many times the content of the processes is read ahead of the verdicts, so that a slow page does not idle the
others."""
_TOGETHER: Final = 256
"""Pages that are judged in one batch at most, where it makes no difference: judging each separately costs several times
more."""
_MANY: Final = 1024
"""New blocks after which it checks whether the file can be shorter, plus one for each ``_FEWEST_A_BLOCK`` survivors:
opening it takes a second for ten thousand small blocks, and rewriting it one for a million survivors."""
_FEWEST_A_BLOCK: Final = 256
_END_OF_TIME: Final = 1e12
"""Seconds; a clock that shows more counts something else."""
_log = logging.getLogger(__name__)


class Deduplicator:
    """Judges pages in the order in which they come, as the workers on Kafka would.

    Any number of threads may call it: a lock lets them in one at a time, and that is the order. Judged pages are in
    memory. With a ``state`` they are written to that folder when ``index.flush_entries`` survivors have come, at the
    first page after ``index.flush_seconds``, by ``flush`` and ``close``, and before a verdict that is asked for as
    ``durable``; so is the record of which texts stand under several titles of one site. After a crash the state holds
    all pages up to one of them, at least up to the last that was written; ``judged`` says how many, and the next page
    to give is the one after these. If there are many small blocks, as durable verdicts leave them, it makes fewer of
    them from time to time.

    Args:
        state: a folder, made if it does not exist; None keeps everything in memory. One process may have it open.
        config: a settings file, the same as for the workers; or settings. Without it they are found as a worker finds
            them. The settings of Kafka and the topics are not used, except ``topics.max_message_bytes``: a page that is
            too large for Kafka is dead here, too.
        clock: seconds since 1970 UTC. It dates pages without a fetch time. Where all pages have one no verdict depends
            on it: a time in the future is bounded by the largest time before it.
        apart: ``judge`` and ``look_up`` read pages in a process of their own, which takes two seconds to start and 120
            MiB. It is killed where a page exceeds ``page.timeout_seconds`` or ``page.memory_mb``, as the processes of
            ``judge_all`` are, and ends with the thread that has made this object.

    Raises:
        TypeError, ValueError: an argument, which the error names, is of another type or has no possible value.
        UsageError: settings are wrong, or the folder cannot be used.
        Refused: another process has the state open, it was made with other settings or is damaged, or it needs more
            memory than ``index.memory_mb``.

    >>> report = " ".join(f"On day {day} the river rose by {7 * day} cm." for day in range(1, 20))
    >>> with Deduplicator(config=Settings()) as local:
    ...     first = local.judge("https://a.example/flood", text=report)
    ...     copy = local.judge("https://b.example/flood?print=1", text=f"Print this page. {report}")
    >>> first.verdict, copy.verdict, copy.duplicate_of
    ('unique', 'duplicate', 'https://a.example/flood')
    """

    def __init__(
        self,
        state: str | os.PathLike[str] | None = None,
        config: str | os.PathLike[str] | Settings | None = None,
        *,
        clock: Callable[[], float] = time.time,
        apart: bool = False,
        **unknown: Any,
    ) -> None:
        refuse_unknown(unknown, ("state", "config", "clock", "apart"))
        folder = path_or_none("state", state)
        if not callable(clock):
            raise wrong_type("clock", clock, "a function that returns the seconds since 1970 UTC")
        self._settings: Final = alone(settings_of(config))
        self._recipe: Final = parts.recipe(self._settings)
        self.scheme: Final = parts.scheme(self._settings, self._recipe)
        """All that a verdict depends on."""
        self._policy: Final = policy(self._settings, self.scheme, secrets.token_bytes(8))
        self._scope_of: Final = parts.scope_of(self._settings, self._recipe)
        self._clock: Final = clock
        self._lock: Final = threading.Lock()
        self._process: Final = os.getpid()
        self._open = True
        self._whole = True
        self._held: Final = ExitStack()
        self._file: Final = None if folder is None else StateFile(folder, self.scheme)
        if self._file is not None:
            self._held.callback(self._file.close)
        try:
            with compiling(lambda step: None):
                self._readers: Final[PageReaders] = (
                    self._held.enter_context(fingerprinters(self._settings, self._recipe, 1))
                    if apart
                    else InProcess(Fingerprinter(self._recipe))
                )
                self._shard: Final = SingleShard(
                    self._policy,
                    parts.new_index(self._settings),
                    memory_for_index(self._settings),
                    () if self._file is None else blocks_of(self._file),
                    keeps=self._file is not None,
                )
        except BaseException:
            self._held.close()
            raise
        self._flushed = time.monotonic()
        self._appended = 0

    @property
    def judged(self) -> int:
        """The number of judged pages, including those that the state held at first."""
        return self._shard.judged

    def judge(
        self, url: str | None = None, body: Body = None, *, durable: bool = False, **about: Unpack[AboutPage]
    ) -> Verdict:
        """The verdict on a page; see ``FetchedPage`` for the arguments. Later pages are compared with it.

        A page that cannot be read raises nothing: its verdict is ``dead``. Unless it is read ``apart``, nothing can
        stop its reading, and its length bounds that: no page that was found takes 5 seconds of CPU time for 4 MiB
        (``docs/explanation/cost.md``), and of a longer page only ``page.max_bytes`` are read.
        With ``durable`` the verdict outlives a crash of the machine when this returns.

        Raises:
            TypeError, ValueError: an argument, which the error names, is wrong; nothing is judged.
            OverMemoryLimit: the index may not grow any more; the page is not judged.
            Unavailable: the page is judged, but the state could not be written; ``flush`` tries again.
        """
        page = as_asked(FetchedPage(url, body, **about))
        if not isinstance(durable, bool):
            raise wrong_type("durable", durable, "True or False")
        with self._alone():
            (verdict,) = self._judge([page], [self._claim(page)], durable)
            return verdict

    async def judge_async(
        self, url: str | None = None, body: Body = None, *, durable: bool = False, **about: Unpack[AboutPage]
    ) -> Verdict:
        """``judge`` in a thread, so that the event loop goes on. A page is judged even if no one awaits it any more."""
        return await asyncio.to_thread(self.judge, url, body, durable=durable, **about)

    def judge_all(self, pages: Iterable[FetchedPage | None]) -> Iterator[tuple[FetchedPage, Verdict]]:
        """Each page with its verdict, in the order given, read by ``page.processes`` processes.

        A None among the pages says that there is no page at the moment: verdicts of earlier pages come out in the mean
        time. Pages are taken ahead of their verdicts. If the caller gives up the iteration, some of the pages after the
        last verdict may be judged all the same: ``judged`` counts them. A page that crashes its process, or exceeds
        ``page.timeout_seconds`` or ``page.memory_mb``, is dead.

        Raises:
            TypeError, ValueError: ``pages`` cannot be iterated, or one of them is wrong; it is not judged, and some of
                the pages before it may not be.
            OverMemoryLimit, Unavailable: as ``judge``.
        """
        if isinstance(pages, FetchedPage | str | bytes | Mapping) or not isinstance(pages, Iterable):
            raise wrong_type("pages", pages, "an iterable of worker.local.FetchedPage")
        return self.judge_found(page if page is None else as_asked(page) for page in pages)

    def judge_found(
        self, pages: Iterable[FetchedPage | None], *, durable: bool = False
    ) -> Iterator[tuple[FetchedPage, Verdict]]:
        """``judge_all`` for pages from files and crawls: a page without a valid URL, or without a body, is dead.

        With ``durable`` a verdict comes out once it outlives a crash of the machine; the verdicts of all pages that
        have been read by then are written together.
        """
        processes = parsers(self._settings)
        with fingerprinters(self._settings, self._recipe, processes) as pool:
            parsing = self._parsing_by(pool)
            coming = iter(pages)
            waiting: deque[FetchedPage] = deque()
            claims: dict[int, Claim] = {}
            taken, ended, due, together = 0, False, 0.0, 0
            wait = _GLANCE if durable else _WAIT
            while waiting or not ended:
                full = ended or len(waiting) >= _AHEAD * processes * PAGES_AHEAD
                try:
                    page = None if full else next(coming)
                except StopIteration:
                    page, ended = None, True
                if page is not None:
                    parsing.submit(page.record(taken, self._received(page)))
                    taken += 1
                    waiting.append(page)
                if page is not None and len(waiting) % _LOOK and time.monotonic() < due:
                    continue
                claims |= {claim.offset: claim for claim in parsing.claims(wait if page is None else 0.0)}
                if (page is not None or len(claims) < together) and time.monotonic() < due:
                    continue
                due, together = time.monotonic() + _WAIT, len(claims) if durable else 0
                judged = self._judged(waiting, claims, taken - len(waiting))
                yield from self._written(judged) if durable else judged

    def look_up(self, url: str | None = None, body: Body = None, **about: Unpack[AboutPage]) -> Verdict:
        """The verdict that ``judge`` would give now; nothing is stored, and no later page is compared with this one.

        Raises:
            TypeError, ValueError: as ``judge``.
        """
        page = as_asked(FetchedPage(url, body, **about))
        with self._alone():
            decided = self._shard.decide(Claims.of([self._claim(page)]))
            (decision,) = decided.decisions
            return self._told(decision, page)

    def seen(self, url: str) -> Verdict | None:
        """What is kept of the latest page of a URL that survived: a ``unique`` with ``fetched``, ``fingerprint`` and
        ``tokens``. None if no page of the URL has survived, or the survivor has expired: its pages were duplicates or
        dead, or there were none. Takes a millisecond for a million survivors.

        Raises:
            ValueError: ``url`` is no URL.
        """
        try:
            canonical = identity(url)
        except PageError as error:
            raise ValueError(f"url is {error.detail}: give an absolute one") from error
        with self._alone():
            found = self._shard.latest_of(canonical)
        if found is None:
            return None
        digits = None if found.fingerprint is None else f"{found.fingerprint:016x}"
        return Verdict(url=canonical, verdict=UNIQUE, fingerprint=digits, tokens=found.tokens, fetched=found.fetched)

    def flush(self) -> None:
        """Write the judged pages; when this returns, they outlive a crash of the machine.

        Raises:
            Unavailable: they could not be written; call this again once it is possible.
        """
        with self._alone():
            self._seal()

    def close(self) -> None:
        """Flush, and release the state. A second call does nothing.

        Raises:
            Unavailable: the state could not be written. It is still open: call this again once it is possible.
        """
        with self._lock:
            if not self._open:
                return
            if self._whole and self._process == os.getpid():
                self._seal()
            self._open = False
            self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other thread uses the shard and the file inside this block.

        Raises:
            ValueError: this object is closed, or another process's.
            Refused: a page was stored in part only.
        """
        with self._lock:
            if not self._open:
                raise ValueError("this Deduplicator is closed: make another one")
            if self._process != os.getpid():
                raise ValueError(
                    f"this Deduplicator belongs to process {self._process}, from which this one was forked: make "
                    "another one here, with a state of its own"
                )
            if not self._whole:
                raise Refused("storing a page was interrupted, so the index cannot be relied on: make another one")
            yield

    def _judged(
        self, waiting: deque[FetchedPage], claims: dict[int, Claim], first: int
    ) -> Iterator[tuple[FetchedPage, Verdict]]:
        """Remove the pages that can be judged from those that wait, of which the first has this number, and judge
        them."""
        while together := self._next_of(claims, first):
            pages = [waiting.popleft() for _ in together]
            first += len(together)
            with self._alone():
                verdicts = self._judge(pages, together)
            yield from zip(pages, verdicts, strict=True)

    def _written(self, judged: Iterable[tuple[FetchedPage, Verdict]]) -> list[tuple[FetchedPage, Verdict]]:
        """Return all of these, once they are on the disk."""
        found = list(judged)
        if found:
            self.flush()
        return found

    def _judge(self, pages: Sequence[FetchedPage], claims: Sequence[Claim], durable: bool = False) -> list[Verdict]:
        decided = self._shard.decide(Claims.of(claims))
        try:
            self._shard.has_room_for(decided)
        except OverMemoryLimit:
            if len(claims) == 1:
                raise
            return [
                verdict for page, claim in zip(pages, claims, strict=True) for verdict in self._judge([page], [claim])
            ]
        self._whole = False
        self._shard.take(decided)
        self._whole = True
        if durable or time.monotonic() - self._flushed >= self._settings.index.flush_seconds:
            self._seal()
        elif self._shard.sealed:
            self._write()
        return [self._told(decision, page) for decision, page in zip(decided.decisions, pages, strict=True)]

    def _told(self, decision: Decision, page: FetchedPage) -> Verdict:
        """The verdict on a page. A page without canonical URL keeps the URL that it came with, without a password."""
        verdict, original = told(decision), decision.original
        return verdict.having(
            url=verdict.url or without_userinfo(page.url),
            order=NOWHERE,  # it depends on how many were judged together, which is chance
            fetched=page.fetched,
            spider=page.headers.get("spider"),
            suspect=self._shard.is_suspect(decision),
            id=page.id,
            number=decision.claim.offset,
            duplicate_of_number=None if original is None else sum(original.order),
        )

    def _claim(self, page: FetchedPage) -> Claim:
        while self._readers.outstanding:  # of a page that no caller waits for any more
            self._readers.results(_WAIT)
        parsing = self._parsing_by(self._readers)
        parsing.submit(page.record(self._shard.judged, self._received(page)))
        while not (claims := parsing.claims(_WAIT)):
            pass
        return claims[0]

    def _next_of(self, claims: dict[int, Claim], first: int) -> list[Claim]:
        """Remove what can be judged next: the claims from this one on, as far as they have come.

        Pages expire by batches: where they do, each batch has one page, so that the number is the same in each run.
        """
        most = _TOGETHER if self._policy.ttl is None else 1
        found: list[Claim] = []
        while len(found) < most and (claim := claims.pop(first + len(found), None)) is not None:
            found.append(claim)
        return found

    def _seal(self) -> None:
        self._shard.seal()
        self._write()
        self._flushed = time.monotonic()

    def _write(self) -> None:
        sealed = self._shard.sealed
        while self._file is not None and sealed:
            self._file.append(sealed[0])
            sealed.popleft()
            self._appended += 1
            if self._appended > _MANY + self._shard.survivors // _FEWEST_A_BLOCK:
                blocks_of(self._file)
                self._appended = 0

    def _parsing_by(self, readers: PageReaders) -> FingerprintPool:
        most = self._settings.topics.max_message_bytes + OUTPUT_MARGIN_BYTES
        return FingerprintPool(readers, most, scope_of=self._scope_of, ttl=self._policy.ttl)

    def _received(self, page: FetchedPage) -> int:
        """The time that stands for the broker's: the fetch time, which the shard bounds, or without one this
        clock's."""
        if page.fetched is not None:
            return page.fetched
        now = self._clock()
        if not isinstance(now, int | float) or not abs(now) < _END_OF_TIME:
            raise ValueError(f"clock gives {now!r}: it must give the seconds since 1970 UTC, as time.time does")
        return round(now * 1000)


def alone(settings: Settings) -> Settings:
    """The settings of a state: verdicts do not depend on the number of shards, so it can be opened with any number."""
    return settings.model_copy(update={"topics": settings.topics.model_copy(update={"partitions": 1, "shards": 1})})


def settings_of(config: object) -> Settings:
    """The given settings, those of the file, or those that a worker would find here.

    Raises:
        TypeError, ValueError: ``config`` is neither settings nor a path.
        UsageError: they are wrong, or cannot be read.
    """
    given = config_of(config)
    return given if isinstance(given, Settings) else load_settings(config=given, overrides=(), environ=os.environ)


def blocks_of(file: StateFile) -> list[Block]:
    """The blocks of the state, from a file that is as short as it may be.

    Raises:
        Refused: as ``StateFile.blocks``.
    """
    blocks = list(file.blocks())
    if not is_crowded(blocks):
        return blocks
    fewer = compacted(blocks)
    try:
        file.rewrite(fewer)
    except OSError as error:
        _log.warning("%s cannot be made shorter (%s), so it is left as it is; make room", file.file, error.strerror)
    return fewer
