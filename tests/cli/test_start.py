"""A worker's first seconds: it answers health checks before its code is compiled."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from worker.observe.health import HealthServer, Starting

ROOT: Final = Path(__file__).resolve().parents[2]


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


def test_before_there_is_anything_to_count_there_are_no_metrics(starting: Starting, server: HealthServer) -> None:
    starting.say("looking for the topics")
    assert answer(server, "/metrics") == (200, "")
    assert answer(server, "/hosts") == (200, "{}")
    assert answer(server, "/readyz")[1].startswith("looking for the topics\n")
    other = Starting()
    other.say("something else")
    server.show(other)
    assert answer(server, "/readyz")[1].startswith("something else\n")


def test_what_is_imported_before_the_server_listens_compiles_nothing() -> None:
    code = "import sys, worker.cli.main, worker.cli.start, worker.config; print('numba' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


def worker(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "worker", *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_the_crc32c_wheel_it_ends_with_2_and_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "crc32c.py").write_text("raise ImportError('not installed')\n")
    ended = worker(PYTHONPATH=str(tmp_path))
    assert ended.returncode == 2
    assert ended.stderr.startswith("worker: error: the crc32c wheel is missing")
    assert "pip install 'kafka-python[crc32c]'" in ended.stderr
    assert ended.stdout == ""
