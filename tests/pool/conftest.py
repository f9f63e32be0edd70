"""Pools that the tests of a module share: a bad page harms only itself, so no test disturbs the next one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.pool import tasks
from tests.pool.pools import MIB, PATIENCE, RESULT, Pool


@pytest.fixture(scope="module")
def shared_pool() -> Iterator[Pool]:
    with Pool(
        tasks.obedient,
        RESULT,
        processes=2,
        timeout_seconds=PATIENCE,
        memory_bytes=64 * MIB,
        result_bytes=4 * MIB,
    ) as pool:
        yield pool


@pytest.fixture(scope="module")
def impatient_pool() -> Iterator[Pool]:
    with Pool(tasks.obedient, RESULT, processes=1, timeout_seconds=0.5, memory_bytes=64 * MIB) as pool:
        yield pool
