"""The parent's side of a child: frames down and up, the time that a page has taken, and the environment handed on."""

from __future__ import annotations

import pickle
import select
import subprocess
import sys
from collections.abc import Callable, Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.page_headers import PageMeta
from tests.pool import tasks
from tests.waiting import wait_for
from worker.pool.child import (
    START_SECONDS,
    CpuClock,
    PageLimits,
    ParserProcess,
    Spell,
    SubmittedPage,
    clean_environment,
)
from worker.pool.child_main import TaskSpec
from worker.pool.frames import Frame, FrameKind, Malformed

LIMITS = PageLimits(cpu=2.0, watched=12.0)
META = msgspec.msgpack.encode(PageMeta(url="https://a.example/"))
SPEC = pickle.dumps(TaskSpec(tasks.obedient, 64 << 20, 1 << 20))


@pytest.fixture
def start() -> Iterator[Callable[[], ParserProcess[str]]]:
    """Starts a child, which is ended afterwards."""
    started: list[ParserProcess[str]] = []

    def one() -> ParserProcess[str]:
        started.append(ParserProcess(SPEC, 1 << 20, 0.0))
        started[-1].send()
        return started[-1]

    yield one
    for child in started:
        if child.process.returncode is None:
            child.bury()


def page(number: int, body: bytes) -> SubmittedPage[str]:
    return SubmittedPage(number, f"page {number}", META, body)


def heard(child: ParserProcess[str], count: int) -> list[Frame]:
    """The next frames from the child that belong to a page or say that the child is ready."""
    frames: list[Frame] = []

    def come() -> bool:
        select.select([child.outcomes], [], [], 1)
        child.receive()
        frames.extend(frame for frame in child.answers() if frame.kind is not FrameKind.SPENT)
        return len(frames) >= count

    wait_for(come, f"{count} frames", 60, pause=0)
    return frames


def test_pages_go_down_together_and_each_answer_takes_the_first_of_those_ahead(
    start: Callable[[], ParserProcess[str]],
) -> None:
    child = start()
    for number in (1, 2):
        child.give(page(number, b"length " + b"x" * number))
    assert not child.send()
    assert child.overdue(START_SECONDS - 1, LIMITS) is None
    assert child.overdue(START_SECONDS, LIMITS) == "it did not start"
    ready, first, second = heard(child, 3)
    assert ready.kind is FrameKind.READY
    assert [msgspec.msgpack.decode(frame.payload) for frame in (first, second)] == [1, 2]
    with pytest.raises(Malformed, match="page 1, which is not the page it was given"):
        child.answered(first)  # before the child was called ready
    child.ready = True
    with pytest.raises(Malformed, match="page 2, which is not the page it was given"):
        child.answered(second)
    assert [child.answered(frame).key for frame in (first, second)] == ["page 1", "page 2"]
    assert not child.ahead
    assert child.overdue(10**9, LIMITS) is None, "it has no page"
    assert child.bury() == "killed by SIGKILL"


def test_a_page_is_timed_from_when_the_child_has_it_for_itself_and_who_is_killed_for_it_is_told(
    start: Callable[[], ParserProcess[str]],
) -> None:
    child = start()
    child.give(page(1, b"sleep 1000"))
    wait_for(lambda: not child.send(), "the page to be sent", 60)
    heard(child, 1)
    child.ready = True
    assert child.overdue(100.0, LIMITS) is None, "its time begins when it is first looked at"
    assert child.patience(100.0, LIMITS) <= LIMITS.cpu
    why = child.overdue(112.0, LIMITS)
    assert why is not None
    assert why.startswith("no end after 12 s, with ")
    child.kill(why)
    assert child.killed_for == (child.ahead[0], why)
    assert child.overdue(10**9, LIMITS) is None
    wait_for(lambda: not child.receive(), "its pipe to end", 60)


times = st.floats(0, 1000)


@given(times, times, times, times)
def test_a_page_is_overdue_exactly_when_no_time_is_left(
    began: float, cpu: float, looked: float, watched: float
) -> None:
    spell = Spell(began, looked)
    left = spell.left(began + cpu, looked + watched, LIMITS)
    assert (spell.overdue(began + cpu, looked + watched, LIMITS) is not None) == (left <= 0)


def test_a_child_s_cpu_time_grows_while_it_computes_and_stays_known_when_it_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        clock = CpuClock(busy.pid)
        wait_for(lambda: clock() > 0.05, "the child to compute", 60)
        before = clock()
        busy.kill()
    assert clock() >= before
    assert clock() == clock()
    with pytest.raises(OSError, match=r"No such process|Invalid argument"):
        CpuClock(busy.pid)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("PATH", True),
        ("LC_ALL", True),
        ("PYTHONPATH", True),
        ("NUMBA_CACHE_DIR", True),
        ("LD_LIBRARY_PATH", True),
        ("PATHOLOGY", False),
        ("MY_PATH", False),
        ("DEDUP_KAFKA__SASL_PASSWORD", False),
        ("AWS_SECRET_ACCESS_KEY", False),
        ("SSH_AUTH_SOCK", False),
    ],
)
def test_of_the_environment_only_what_an_interpreter_reads_is_handed_on(name: str, kept: bool) -> None:
    assert (name in clean_environment({name: "value"})) is kept
