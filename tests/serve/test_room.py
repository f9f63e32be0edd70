"""Memory for pages is taken, waited for and given back."""

from __future__ import annotations

import asyncio

import pytest

from worker.serve.asked_pages import RequestRefused
from worker.serve.room import RoomForPages


def test_what_is_not_there_is_refused_but_one_page_alone_may_take_more() -> None:
    room = RoomForPages(10)
    room.take(11)
    with pytest.raises(RequestRefused) as refused:
        room.take(1)
    assert refused.value.status == 503
    room.free(11, judged=False)
    room.take(9)
    room.take(1)
    with pytest.raises(RequestRefused):
        room.take(1)


def test_who_waits_goes_on_in_turn_when_pages_have_their_verdicts() -> None:
    async def play() -> None:
        room, done = RoomForPages(10), []
        room.take(10)
        room.judging(10)

        async def wait(name: str) -> None:
            await room.wait(10)
            room.judging(10)
            done.append(name)

        waiting = [asyncio.ensure_future(wait(name)) for name in ("a", "b")]
        for expected in ([], ["a"], ["a", "b"]):
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert done == expected
            room.free(10, judged=True)
        await asyncio.gather(*waiting)

    asyncio.run(play())


def test_who_waits_for_pages_that_wait_for_their_clients_is_refused() -> None:
    async def play() -> None:
        room = RoomForPages(10)
        room.take(6)
        with pytest.raises(RequestRefused):
            await room.wait(5)
        room.take(4)
        room.judging(4)
        waiting = asyncio.ensure_future(room.wait(5))
        await asyncio.sleep(0)
        room.free(4, judged=True)
        with pytest.raises(RequestRefused):
            await waiting

    asyncio.run(play())
