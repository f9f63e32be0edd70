"""The leash: a child that never outlives its parent, however the parent ends."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.processes import children
from tests.waiting import wait_for
from worker.broker.jvm import Jvm

PARENT = """
import sys
from pathlib import Path
from worker.broker.jvm import Jvm
folder = Path(sys.argv[1])
child = Jvm(["/bin/sleep", "600"], folder=folder, output=folder / "output", inherit=[])
print(child.pid, flush=True)
sys.stdin.read()
"""


def is_alive(pid: int) -> bool:
    """Whether the process runs; a process that has ended and that its parent has not noticed yet does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.fixture
def sleeper(tmp_path: Path) -> Jvm:
    return Jvm(["/bin/sleep", "600"], folder=tmp_path, output=tmp_path / "output", inherit=[])


def test_a_parent_killed_by_sigkill_takes_the_child_along(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_alive(child)
        parent.kill()
        wait_for(lambda: not is_alive(child), "the JVM to end with its parent")


def test_the_end_of_the_thread_that_started_it_does_not_harm_the_child(tmp_path: Path) -> None:
    started: list[Jvm] = []
    thread = threading.Thread(
        target=lambda: started.append(
            Jvm(["/bin/sleep", "600"], folder=tmp_path, output=tmp_path / "output", inherit=[])
        )
    )
    thread.start()
    thread.join()
    assert started[0].wait(0.5) is None
    started[0].kill()


def test_killing_leaves_neither_child_nor_leash(tmp_path: Path) -> None:
    before = children()
    sleeper = Jvm(["/bin/sleep", "600"], folder=tmp_path, output=tmp_path / "output", inherit=[])
    assert len(children() - before) == 2
    sleeper.kill()
    assert not sleeper.is_running
    assert children() <= before


def test_a_child_that_ends_when_asked_ended_in_order(sleeper: Jvm) -> None:
    assert sleeper.terminate(20) is True
    assert not sleeper.is_running


def test_a_child_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    deaf = Jvm(
        ["/bin/sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 600; done"],
        folder=tmp_path,
        output=tmp_path / "output",
        inherit=[],
    )
    wait_for(lambda: (tmp_path / "output").read_text() == "deaf\n", "it to be deaf")
    assert deaf.terminate(0.2) is False
    assert not deaf.is_running


def test_a_program_that_is_not_there_leaves_no_leash_behind(tmp_path: Path) -> None:
    before = children()
    with pytest.raises(FileNotFoundError):
        Jvm([tmp_path / "nothing"], folder=tmp_path, output=tmp_path / "output", inherit=[])
    assert children() <= before
