"""Crawls whose queue is in a real Redis."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis

from crawler_plugin.components.feedback import BEHIND
from crawler_plugin.feedback.decision import RequestDecision
from tests.waiting import wait_for
from tools.crawls.trap_crawl import crawl_traps
from tools.crawls.trap_site import TrapSite
from worker.broker.ports import free_port

needs_redis = pytest.mark.skipif(
    not shutil.which("redis-server"), reason="redis-server is not on PATH (Debian's package redis-server)"
)


@contextmanager
def running(folder: Path) -> Iterator[redis.Redis]:
    """A Redis that keeps nothing."""
    port = free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    with (folder / "redis.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        client = redis.Redis(port=port)

        def answers() -> bool:
            try:
                return bool(client.ping())
            except redis.ConnectionError:
                return False

        try:
            wait_for(answers, "Redis", pause=0.05)
            yield client
        finally:
            client.close()
            server.terminate()


@pytest.mark.redis
@needs_redis
def test_postponed_requests_wait_in_redis_behind_all_others(tmp_path: Path) -> None:
    with running(tmp_path) as client:
        told = {
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
            "SCHEDULER_PERSIST": True,
            "DOWNLOAD_DELAY": 0.02,  # gives a busy machine the time to judge enough pages
            "REDIS_URL": f"redis://127.0.0.1:{client.connection_pool.connection_kwargs['port']}/0",
        }
        learned = crawl_traps(tmp_path, TrapSite(articles=6), 350, DEDUP_FEEDBACK=True, **told)
        waiting: Any = client.zrange("follow:requests", 0, -1, withscores=True)
    scores = [score for _, score in waiting]
    last = BEHIND[RequestDecision.DOUBTED]
    behind = [score for score in scores if score >= last / 2]
    stats = learned.ended.dedup
    assert stats["feedback/postponed"] + stats["feedback/doubted"] >= len(behind) > 0
    assert scores[0] < last / 2, "others come first"
