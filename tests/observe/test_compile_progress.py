"""A worker that compiles says so in its log and in its health answers."""

from __future__ import annotations

import logging
import urllib.error
import urllib.request
from collections.abc import Iterator

import numba
import pytest

from worker.observe import compile_progress
from worker.observe.compile_progress import compiling
from worker.observe.health import HealthServer, Starting


@pytest.fixture
def starting() -> Starting:
    return Starting()


@pytest.fixture
def server(starting: Starting) -> Iterator[HealthServer]:
    with HealthServer(starting, "127.0.0.1", 0) as running:
        yield running


def answer(server: HealthServer, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"{server.address}{path}", timeout=30) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_compiling_is_told_once_at_its_beginning_and_at_its_end_and_shown_meanwhile(
    starting: Starting, server: HealthServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_progress, "FUNCTIONS_LOGGED", 2)
    seen: list[tuple[int, str]] = []

    def say(step: str) -> None:
        starting.say(step)
        seen.append(answer(server, "/readyz"))
        assert answer(server, "/livez") == (200, "alive\n")

    with caplog.at_level(logging.INFO), compiling(say):
        first = numba.njit("int64(int64)")(lambda number: number + 1)
        second = numba.njit("int64(int64)")(lambda number: number + 2)
    assert (first(1), second(1)) == (2, 3)
    begins, meanwhile, ends = [
        record.getMessage() for record in caplog.records if record.name == "worker.observe.compile_progress"
    ]
    assert begins.startswith("compiling for this machine")
    assert "NUMBA_CACHE_DIR" in begins
    assert meanwhile.startswith("compiling for this machine: 2 functions done")
    assert ends.startswith("compiled 2 functions in ")
    assert all(status == 503 for status, _ in seen)
    assert seen[0][1].startswith("compiling for this machine: 0 functions done")
    assert seen[-1][1].startswith("compiling for this machine: 2 functions done")


def test_where_nothing_is_compiled_nothing_is_said(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []
    with caplog.at_level(logging.INFO), compiling(told.append):
        pass
    assert not told
    assert not caplog.records
