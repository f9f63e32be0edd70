"""A thread judges what is submitted, in that order, and tells all of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from crawler_plugin.wire.errors import Stop, Unavailable
from crawler_plugin.wire.outcomes import Verdict
from tests.serve.served import SMALL, TEXT
from worker.config import Settings
from worker.local import Deduplicator, FetchedPage
from worker.observe.health import Liveness
from worker.serve.judging_thread import JudgingThread

SETTINGS = Settings.model_validate(SMALL)


def test_pages_are_judged_in_order_and_on_the_disk_when_their_verdicts_are_told(tmp_path: Path) -> None:
    told: list[Verdict | Stop] = []
    sizes: list[int] = []
    file = tmp_path / "index.blocks"

    def tell(found: Verdict | Stop) -> None:
        told.append(found)
        sizes.append(file.stat().st_size)

    async def play() -> None:
        local = Deduplicator(tmp_path, SETTINGS)
        empty = file.stat().st_size
        health = Liveness()
        judging = JudgingThread(local, health, asyncio.get_running_loop())
        for number in range(5):
            judging.submit(FetchedPage(f"http://a.example/{number % 4}", text=TEXT), tell)
        judging.submit(FetchedPage("no url", text=TEXT), tell)
        judging.end()
        await judging.ended
        assert min(sizes) > empty
        assert health.age < 60

    asyncio.run(play())
    verdicts = [found.verdict for found in told if isinstance(found, Verdict)]
    assert verdicts == ["unique", "duplicate", "duplicate", "duplicate", "refetch", "dead"]
    with Deduplicator(tmp_path, SETTINGS) as local:
        assert local.judged == 6


def test_what_stops_it_is_told_to_all_who_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Verdict | Stop] = []

    def full(local: Deduplicator) -> None:
        raise Unavailable("the disk is full: make room")

    async def play() -> None:
        local = Deduplicator(tmp_path, SETTINGS)
        with monkeypatch.context() as patched:
            patched.setattr(Deduplicator, "flush", full)
            judging = JudgingThread(local, Liveness(), asyncio.get_running_loop())
            for number in range(3):
                judging.submit(FetchedPage(f"http://a.example/{number}", text=TEXT), told.append)
            with pytest.raises(Unavailable, match="the disk is full"):
                await judging.ended
        assert [str(found) for found in told] == ["the disk is full: make room"] * 3
        local.close()

    asyncio.run(play())
