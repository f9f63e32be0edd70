"""The spool as the event loop uses it: everything that blocks on the disk runs in a thread of its own.

Pages that come while the disk is busy are written together and wait for it once. The interpreter ends only when that
thread has finished its work, and calls ``store_at_exit`` after that: so a crawl that is stopped by force, whose event
loop does nothing any more, loses none of the pages that it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from crawler_plugin.record import PageRecord
from crawler_plugin.running import Call, Result, outcome
from crawler_plugin.spool.file import Appended, Spool
from crawler_plugin.spool.numbered import Opened
from crawler_plugin.wire.outcomes import JobMark


class Storage:
    """Used in the event loop's thread. Without ``open`` there is no spool, and no page is taken."""

    def __init__(self) -> None:
        self._call: Call | None = None
        self._disk = ThreadPoolExecutor(max_workers=1, thread_name_prefix="dedup-spool")
        self._coming: list[tuple[PageRecord, Deferred[str | None]]] = []
        self._is_writing = False
        self._unheard: set[int] = set()
        self.spool: Spool | None = None

    async def open(self, call: Call, opening: Callable[[], Opened]) -> Opened:
        """Open the spool with this function.

        Raises:
            Exception: whatever the function raises.
        """
        self._call = call
        opened = await self._in_thread(opening)
        self.spool = opened.spool
        return opened

    async def store(self, page: PageRecord) -> str | None:
        """Write the page; returns None when the disk has it, otherwise the reason."""
        if self.spool is None:
            return "there is no spool"
        told: Deferred[str | None] = Deferred()
        self._coming.append((page, told))
        if not self._is_writing:
            self._write()
        return await maybe_deferred_to_future(told)

    async def store_all(self, pages: Sequence[PageRecord]) -> Appended:
        """Write as many pages as fit, beginning with the first."""
        if self.spool is None or not pages:
            return Appended(0, None)
        return await self._in_thread(lambda: self._append(pages))

    async def keep_marks(self, marks: Sequence[JobMark], before: Callable[[], None]) -> bool:
        """Call ``before``, then write marks next to the pages that are left; whether the disk has them."""
        spool = self.spool
        if spool is None:
            return False

        def keep() -> bool:
            before()
            return spool.keep_marks(marks)

        return await self._in_thread(keep)

    async def close(self, before: Callable[[], None]) -> None:
        """Call ``before``, then release the file."""
        spool = self.spool
        if spool is not None:

            def close() -> None:
                before()
                spool.close()

            await self._in_thread(close)
        self._disk.shutdown(wait=False)

    def store_at_exit(self, pages: Sequence[PageRecord]) -> Appended:
        """Like ``store_all``, in the caller's thread, after the event loop has ended; leaves out pages that are already
        written."""
        if self.spool is None:
            return Appended(0, None)
        missing = [page for page in pages if id(page) not in self._unheard]
        appended = self.spool.append(missing)
        return Appended(len(pages) - len(missing) + appended.pages, appended.trouble)

    def _write(self) -> None:
        self._is_writing = True
        coming, self._coming = self._coming, []

        def written(future: Future[Appended]) -> None:
            self._is_writing = False
            if self._coming:
                self._write()
            appended = future.result()
            for number, (page, told) in enumerate(coming):
                self._unheard.discard(id(page))
                told.callback(None if number < appended.pages else appended.trouble or "")

        pages = [page for page, _ in coming]
        call = self._call
        assert call is not None, "open comes first"
        self._disk.submit(self._append, pages).add_done_callback(lambda future: call(lambda: written(future)))

    def _append(self, pages: Sequence[PageRecord]) -> Appended:
        assert self.spool is not None
        appended = self.spool.append(pages)
        self._unheard.update(map(id, pages[: appended.pages]))
        return appended

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        assert self._call is not None, "open comes first"
        return await outcome(self._disk.submit(work), self._call)
