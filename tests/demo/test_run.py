"""The demo's sums are right on a real broker, and it leaves nothing behind however it ends; kept running, it can be
inspected."""

from __future__ import annotations

import io
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from rich.console import Console

from tests.waiting import wait_for
from worker.compose.processes import ModuleProcess
from worker.demo.run import Demo
from worker.demo.site import PageKind, build_site

ROOT: Final = Path(__file__).resolve().parents[2]
SITE: Final = build_site("http://127.0.0.1:8001", "http://127.0.0.1:8002")
DEADLINE_SECONDS: Final = 300.0
GIVEN: Final = ("_proxy", "numba_cache_dir", "jdk_java_options")
"""Endings of the names of the environment variables that it gets."""


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
                | {name: value for name, value in os.environ.items() if name.lower().endswith(GIVEN)},
            )

    @property
    def output(self) -> str:
        return self._output.read_text(encoding="utf-8")

    def wait_for(self, text: str) -> None:
        """Wait until it has printed the text."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while text not in self.output:
            assert self.process.poll() is None, self.output
            assert time.monotonic() < deadline, self.output
            time.sleep(0.1)

    def status(self) -> int:
        return self.process.wait(DEADLINE_SECONDS)

    def has_left_nothing(self) -> bool:
        """Whether no folder, no broker, no site and no worker is left."""
        addresses = re.findall(r"127\.0\.0\.1:(\d+)", self.output)
        return list(self.temporary.iterdir()) == [] and not any(answers(int(port)) for port in addresses)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[list[Running]]:
    """Put demos in here; those that still run after the test are ended."""
    demos: list[Running] = []
    yield demos
    for started in demos:
        if started.process.poll() is None:
            started.process.terminate()
            started.process.wait(DEADLINE_SECONDS)


def answers(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def cell(output: str, label: str) -> int:
    """The number next to this label in the table of sums."""
    found = re.search(rf"│\s+{re.escape(label)}\s+│\s+\(?(\d+)\)?\s+│", output)
    assert found is not None, f"no {label!r} in:\n{output}"
    return int(found[1])


@pytest.mark.cluster
def test_the_demo_adds_up_on_a_real_broker_and_leaves_nothing_behind(tmp_path: Path, running: list[Running]) -> None:
    started = Running(tmp_path)
    running.append(started)
    assert started.status() == 0, started.output
    output = started.output
    stations = (
        "fetched by the spider",
        "confirmed to the spider by Kafka (dedup/confirmed)",
        "records on the topic pages",
        "committed",
    )
    outcomes = {outcome: cell(output, outcome) for outcome in ("unique", "duplicate", "refetch", "dead letter")}
    assert {cell(output, station) for station in stations} == {sum(outcomes.values())} == {SITE.visits}
    assert outcomes["unique"] == len(SITE.groups)
    assert outcomes["dead letter"] == sum(page.kind is PageKind.FILE for page in SITE.pages)
    rules = [cell(output, f"by {rule}") for rule in ("exact-text", "exact-bytes", "hamming", "sketch")]
    assert sum(rules) == outcomes["duplicate"]
    assert all(rules)
    # Whichever of the two is fetched first is the original of the other.
    assert re.search(r"(repost duplicates .*|duplicates repost): distance \d+, (hamming|sketch)", output)
    owners = re.findall(r"│ worker [12] │ ([\d ]+) │ +(\d+) │ ([\d ]+) │ +\d+ │", output)
    assert sorted(" ".join(shards for shards, _, _ in owners).split()) == list("01234567")
    assert sorted(" ".join(partitions for _, _, partitions in owners).split()) == list("01234567")
    assert sum(int(survivors) for _, survivors, _ in owners) == outcomes["unique"]
    assert {f"worker {number} owns" in output for number in (1, 2)} == {True}
    assert "It adds up" in output
    assert "\33" not in output
    assert "Where to look" not in output
    assert "demo --keep" in output
    assert started.has_left_nothing()


def test_kept_running_it_can_be_looked_at_until_ctrl_c_or_the_end_of_a_worker(tmp_path: Path) -> None:
    said = io.StringIO()
    demo = Demo(Console(file=said, width=200), tmp_path, workers=1, keep=True)
    with ModuleProcess("worker 1", "timeit", ["-n", "1", "import time; time.sleep(600)"], tmp_path) as worker:

        def interrupt() -> None:
            wait_for(lambda: "run until Ctrl-C" in said.getvalue(), "it to stay")
            os.kill(os.getpid(), signal.SIGINT)

        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # pytest's own processes ignore it
        try:
            thread = threading.Thread(target=interrupt)
            thread.start()
            demo._stay("127.0.0.1:1", [worker])
            thread.join()
        finally:
            signal.signal(signal.SIGINT, before)
        told = said.getvalue()
        assert f"{sys.executable} -m worker verdicts --job demo --set kafka.bootstrap_servers=127.0.0.1:1" in told
        assert f"ls {tmp_path}" in told
        assert worker.status is None
        worker.stop()
        demo._stay("127.0.0.1:1", [worker])


@pytest.mark.long
@pytest.mark.cluster
@pytest.mark.parametrize(
    ("ending", "status", "moment"),
    [
        (signal.SIGTERM, 143, "3. The crawl"),
        (signal.SIGINT, 130, "bootstrap.servers="),
    ],
)
def test_a_signal_in_the_middle_ends_all_of_it(
    tmp_path: Path, running: list[Running], ending: signal.Signals, status: int, moment: str
) -> None:
    started = Running(tmp_path)
    running.append(started)
    started.wait_for(moment)
    started.process.send_signal(ending)
    assert started.status() == status, started.output
    assert started.has_left_nothing()
