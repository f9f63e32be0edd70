"""``python -m worker``: what of the settings goes where, which signals are heeded, what stops it before it begins."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from worker.compose import parts
from worker.compose.machine import index_memory, memory_limit
from worker.compose.stopping import AskedToStop
from worker.compose.worker import policy, rhythm, specs, this_machine
from worker.config import Settings, load_settings
from worker.topics import DAY_MS, INDEX, PAGES

MIB: Final = 1 << 20
ROOT: Final = Path(__file__).resolve().parents[2]


def settings(*overrides: str) -> Settings:
    return load_settings(config=None, overrides=overrides, environ={})


# settings


def test_the_policy_holds_what_the_settings_say() -> None:
    given = settings(
        "near.k=2",
        "near.ttl_days=0.5",
        "topics.shards=3",
        "output.mode=drop",
        "index.flush_entries=7",
        "commit.pages=11",
        "commit.megabytes=5",
    )
    scheme = parts.scheme(given, parts.recipe(given))
    made = policy(given, scheme, b"writer")
    assert (made.scheme, made.scheme_text, made.writer) == (scheme.id, scheme.encode(), b"writer")
    assert (made.shards, made.output, made.flush_entries) == (3, "drop", 7)
    assert made.ttl == DAY_MS // 2
    assert (made.commit_pages, made.held_bytes) == (11, 5 * MIB)
    assert 0 < made.commit_bytes < made.held_bytes, "a transaction begins before the pages wait for it"


def test_without_a_time_to_live_nothing_expires() -> None:
    given = settings()
    assert policy(given, parts.scheme(given, parts.recipe(given)), b"w").ttl is None


@pytest.mark.parametrize("given", ["auto", "0", "700"])
def test_the_index_may_take_what_is_set_or_what_the_machine_has_for_it(
    given: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    set_so = settings(f"index.memory_mb={given}", "page.processes=1")
    expected = index_memory(set_so, memory_limit())
    with this_machine(set_so) as local:
        assert local.memory_limit.limit == expected.mib * MIB
    (line,) = [line for line in caplog.messages if line.startswith("the index may take")]
    assert expected.account in line
    assert str(expected.mib or "any number of") in line


def test_the_rhythm_is_in_the_settings_seconds() -> None:
    given = rhythm(settings("commit.seconds=2.5", "commit.pages=11", "index.flush_seconds=7", "shutdown.seconds=3"))
    assert (given.commit_seconds, given.commit_pages, given.flush_seconds, given.drain_seconds) == (2.5, 11, 7, 3)


def test_the_topics_are_those_of_the_settings() -> None:
    given = {
        spec.topic: spec for spec in specs(settings("topics.prefix=mine.", "topics.partitions=3", "topics.shards=5"))
    }
    assert (given[PAGES].name, given[PAGES].partitions) == ("mine.pages", 3)
    assert (given[INDEX].name, given[INDEX].partitions) == ("mine.index", 5)


# signals


@pytest.fixture
def asked() -> Iterator[AskedToStop]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield AskedToStop()
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_runner(asked: AskedToStop, number: signal.Signals) -> None:
    stops: list[str] = []
    asked.tell(lambda: stops.append("stop"))
    assert not stops
    signal.raise_signal(number)
    assert stops == ["stop"]


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
from worker.compose.stopping import AskedToStop
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


# before it begins


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


@pytest.mark.parametrize("override", ["near.k=9", "kafka.patience_seconds=0", "commit.pages=0"])
def test_a_setting_that_is_not_allowed_ends_it_with_2(override: str) -> None:
    ended = worker("--set", override)
    assert ended.returncode == 2
    assert override.partition("=")[0] in ended.stderr
    assert "Traceback" not in ended.stderr
