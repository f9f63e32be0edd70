"""The demo as a process of its own."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
DEADLINE_SECONDS: Final = 300.0


class Running:
    """A demo that runs in a process of its own, with its temporary folder in ours and its output in a file."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self._output = folder / "output.txt"
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "worker", "demo", *arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                env={"PATH": "", "HOME": str(Path.home()), "TMPDIR": str(self.temporary), "PYTHONUNBUFFERED": "1"}
                | {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")},
            )

    @property
    def output(self) -> str:
        return self._output.read_text(encoding="utf-8")

    def wait_for(self, text: str) -> None:
        """Until it has printed that."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while text not in self.output:
            assert self.process.poll() is None, self.output
            assert time.monotonic() < deadline, self.output
            time.sleep(0.1)

    def status(self) -> int:
        return self.process.wait(DEADLINE_SECONDS)

    def has_left_nothing(self) -> bool:
        """No folder, no broker, no site, no worker."""
        addresses = re.findall(r"127\.0\.0\.1:(\d+)", self.output)
        return list(self.temporary.iterdir()) == [] and not any(answers(int(port)) for port in addresses)


def answers(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def running(tmp_path: Path) -> Iterator[list[Running]]:
    """Put demos in here; what still runs after the test is ended."""
    demos: list[Running] = []
    yield demos
    for started in demos:
        if started.process.poll() is None:
            started.process.terminate()
            started.process.wait(DEADLINE_SECONDS)
