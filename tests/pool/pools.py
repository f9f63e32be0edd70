"""Helpers that give pages to pools under test and collect the results."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import msgspec

from crawler_plugin.wire.errors import PageError
from crawler_plugin.wire.page_headers import PageMeta
from tests.pool import tasks
from worker.pool.process_pool import ProcessPool

MIB = 1024 * 1024
META = PageMeta(url="https://a.example/", status=200, content_type="text/html")
PATIENCE = 60.0
"""Seconds after which a test gives up waiting; no result depends on real durations."""

RESULT = tasks.RESULT

Pool = ProcessPool[Any, Any]


def run(pool: Pool, bodies: Sequence[bytes], meta: PageMeta = META) -> list[Any]:
    """The result of each body, in their order; page errors as "reason"."""
    results: dict[int, Any] = {}
    given = 0
    give_up = time.monotonic() + PATIENCE
    while len(results) < len(bodies):
        assert time.monotonic() < give_up, f"only {len(results)} of {len(bodies)} pages came back"
        while given < len(bodies) and pool.capacity:
            pool.submit(given, bodies[given], meta)
            given += 1
        for key, result in pool.results(1.0):
            assert key not in results, "a page came back twice"
            results[key] = result
    assert pool.outstanding == 0
    return [results[place] for place in range(len(bodies))]


def packed(value: object) -> bytes:
    return msgspec.msgpack.encode(value)


def reasons(results: Sequence[Any]) -> list[Any]:
    return [result.reason if isinstance(result, PageError) else result for result in results]


def run_out(pool: Pool) -> list[tuple[Any, Any]]:
    """The results of all pages that are still under way."""
    collected: list[tuple[Any, Any]] = []
    give_up = time.monotonic() + PATIENCE
    while pool.outstanding:
        assert time.monotonic() < give_up, "pages did not come back"
        collected += pool.results(1.0)
    return collected
