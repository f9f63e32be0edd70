"""A request to stop is heard from the first moment on, even during imports."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from worker.stopping import FOR_GOOD, AskedToStop

SIGNALS = (signal.SIGTERM, signal.SIGINT, FOR_GOOD)


@pytest.fixture
def asked() -> Iterator[AskedToStop]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield AskedToStop()
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_stops_the_runner(asked: AskedToStop, number: signal.Signals) -> None:
    stops: list[str] = []
    asked.tell(lambda: stops.append("stop"))
    assert not stops
    signal.raise_signal(number)
    assert stops == ["stop"]
    assert asked.for_good is (number == FOR_GOOD)


def test_who_was_told_to_stop_for_good_does_so_whatever_else_it_is_told(asked: AskedToStop) -> None:
    """Supervisors also send SIGTERM after it."""
    told: list[bool] = []
    for number in (FOR_GOOD, signal.SIGTERM):
        signal.raise_signal(number)
    asked.tell(lambda: told.append(asked.for_good))
    assert told == [True]


def test_a_signal_that_came_before_there_was_a_runner_stops_it_at_once(asked: AskedToStop) -> None:
    stops: list[str] = []
    signal.raise_signal(signal.SIGTERM)
    asked.tell(lambda: stops.append("stop"))
    assert stops == ["stop"]


def test_whoever_leaves_it_to_others_has_signals_do_what_they_did(asked: AskedToStop) -> None:
    heard: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    later = AskedToStop()
    signal.raise_signal(signal.SIGTERM)
    assert later.by_now()
    assert not heard
    later.leave()
    assert heard == [signal.SIGTERM]
    signal.raise_signal(signal.SIGTERM)
    assert heard == [signal.SIGTERM] * 2
    assert not asked.by_now()


NOWHERE = ["--set", "kafka.bootstrap_servers=127.0.0.1:1"]
STOPPED_WHILE_IMPORTING = """
import signal, sys
from worker.stopping import AskedToStop
asked = AskedToStop()

class Stops:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            signal.raise_signal({number:d})

sys.meta_path.insert(0, Stops())
from worker.cli.main import main
code = main({arguments}, asked)
assert not any(isinstance(finder, Stops) for finder in sys.meta_path), "never asked to stop"
sys.exit(code)
"""


@pytest.mark.parametrize("module", ["argparse", "worker.stream.worker"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_is_asked_to_stop_while_its_modules_are_imported_ends_as_asked(
    number: signal.Signals, module: str
) -> None:
    script = STOPPED_WHILE_IMPORTING.format(module=module, number=number, arguments=NOWHERE)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr


def test_another_command_that_is_ended_meanwhile_ends_as_any_program() -> None:
    script = STOPPED_WHILE_IMPORTING.format(module="argparse", number=signal.SIGTERM, arguments=["size"])
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (-signal.SIGTERM, ""), ended.stderr
