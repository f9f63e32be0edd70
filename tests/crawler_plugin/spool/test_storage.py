"""The spool's file in a thread of its own, seen from the event loop: a page is reported only once the disk has it."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from crawler_plugin.running import event_loop
from crawler_plugin.spool.file import Appended, Spool
from crawler_plugin.spool.numbered import Opened
from crawler_plugin.spool.storage import Storage
from crawler_plugin.wire.errors import Unavailable
from tests.crawler_plugin.spool.test_records import page

ROOM = 10**9


def stored_in(path: Path) -> list[str]:
    spool = Spool.open(path, ROOM)
    found = []
    while (stored := spool.take()) is not None:
        found.append(stored.page.url)
    spool.close()
    return found


def opening(path: Path, limit: int = ROOM) -> Callable[[], Opened]:
    return lambda: Opened(Spool.open(path, limit))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pages.spool"


def test_pages_that_come_at_once_are_all_on_the_disk_when_it_is_told_and_in_their_order(path: Path) -> None:
    async def crawl() -> None:
        storage = Storage()
        await storage.open(event_loop(), opening(path))
        assert await asyncio.gather(*(storage.store(page(number)) for number in range(30))) == [None] * 30
        assert await storage.store_all([page(30), page(31)]) == Appended(2, None)
        await storage.close(lambda: None)

    asyncio.run(crawl())
    assert stored_in(path) == [page(number).url for number in range(32)]


def test_the_disk_is_met_in_no_thread_but_its_own(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    met: set[str] = set()
    append = Spool.append

    def noting(spool: Spool, pages: list[object]) -> Appended:
        met.add(threading.current_thread().name.rpartition("_")[0])
        return append(spool, pages)  # type: ignore[arg-type]

    monkeypatch.setattr(Spool, "append", noting)

    async def crawl() -> None:
        storage = Storage()
        await storage.open(event_loop(), opening(path))
        await storage.store(page(1))
        await storage.store_all([page(2)])
        await storage.close(lambda: met.add(threading.current_thread().name.rpartition("_")[0]))

    asyncio.run(crawl())
    assert met == {"dedup-spool"}


def test_a_page_that_finds_no_room_is_told_why_and_the_others_are_kept(path: Path) -> None:
    async def crawl() -> list[str | None]:
        storage = Storage()
        await storage.open(event_loop(), opening(path, 4_000))
        large = page(2, os.urandom(20_000))
        told = [await storage.store(each) for each in (page(1), large, page(3))]
        await storage.close(lambda: None)
        return told

    first, refused, last = asyncio.run(crawl())
    assert (first, last) == (None, None)
    assert refused
    assert stored_in(path) == [page(1).url, page(3).url]


def test_without_a_spool_nothing_is_taken_and_nothing_has_to_be_closed() -> None:
    async def crawl() -> None:
        storage = Storage()
        assert await storage.store(page(1)) == "there is no spool"
        assert await storage.store_all([page(1)]) == Appended(0, None)
        assert storage.store_at_exit([page(1)]) == Appended(0, None)
        await storage.close(lambda: pytest.fail("there is nothing to do before"))

    asyncio.run(crawl())


def test_a_spool_that_another_crawl_has_is_not_opened(path: Path) -> None:
    async def crawl() -> None:
        held = Spool.open(path, ROOM)
        held.append([page(1)])
        try:
            with pytest.raises(Unavailable):
                await Storage().open(event_loop(), opening(path))
        finally:
            held.close()

    asyncio.run(crawl())


def test_at_the_exit_pages_are_written_once_even_where_nobody_heard_that_they_are_there(path: Path) -> None:
    """The event loop ended between the writing and the report: the page is there, and is not written again."""
    storage = Storage()
    written = threading.Event()

    async def crawl() -> None:
        await storage.open(event_loop(), opening(path))
        await storage.store(page(1))
        # From here on the loop gets no reports any more.
        storage._call = lambda function: written.set()
        waiting = asyncio.ensure_future(storage.store(page_of_which_nobody_heard))
        await asyncio.to_thread(written.wait)
        waiting.cancel()

    page_of_which_nobody_heard, late = page(2), page(3)
    asyncio.run(crawl())
    assert storage.store_at_exit([page_of_which_nobody_heard, late]) == Appended(2, None)
    assert storage.spool is not None
    storage.spool.close()
    assert stored_in(path) == [page(number).url for number in (1, 2, 3)]


def test_a_folder_that_cannot_be_written_is_an_error_of_the_system(tmp_path: Path) -> None:
    async def crawl() -> None:
        with pytest.raises(OSError):
            await Storage().open(event_loop(), opening(Path(os.devnull) / "pages.spool"))

    asyncio.run(crawl())
