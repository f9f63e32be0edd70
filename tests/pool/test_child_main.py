"""The program of a child, seen from its two pipes."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec
import pytest

from crawler_plugin.wire.page_headers import PageMeta
from tests.pool import tasks
from worker.pool.child import _MAIN
from worker.pool.child_main import TaskSpec
from worker.pool.frames import LENGTH, OUTCOME, PAGE, Complaint, FrameKind, Hindrance

META = msgspec.msgpack.encode(PageMeta(url="https://a.example/"))
SECONDS = 60.0


def served(
    task_factory: Callable[[], tasks.Task], bodies: Sequence[bytes], *, parent: int | None = None
) -> tuple[list[tuple[FrameKind, int, bytes]], int]:
    """All frames of a child that gets exactly these pages, without times; and its exit code."""
    spec = pickle.dumps(TaskSpec(task_factory, 64 << 20, 1 << 20))
    theirs, pages = os.pipe()
    outcomes, their_outcomes = os.pipe()
    numbers = map(str, (theirs, their_outcomes, os.getpid() if parent is None else parent))
    child = subprocess.Popen([sys.executable, "-c", _MAIN, *numbers, *sys.path], pass_fds=(theirs, their_outcomes))
    os.close(theirs)
    os.close(their_outcomes)
    with os.fdopen(pages, "wb") as down, os.fdopen(outcomes, "rb") as up:
        down.write(LENGTH.pack(len(spec)) + spec)
        for number, body in enumerate(bodies):
            down.write(PAGE.pack(number, len(META), len(body)) + META + body)
        with suppress(BrokenPipeError):  # the child may have ended without reading everything
            down.close()
        frames = []
        while head := up.read(OUTCOME.size):
            kind, number, length = OUTCOME.unpack(head)
            frames.append((FrameKind(kind), number, up.read(length)))
    return [frame for frame in frames if frame[0] is not FrameKind.SPENT], child.wait(SECONDS)


def test_each_page_has_its_answer_in_turn_and_the_child_ends_with_its_pipe() -> None:
    frames, code = served(tasks.obedient, [b"length xy", b"refuse", b"raise", b"length x" + b"y" * 100_000])
    assert [(kind, number) for kind, number, _ in frames] == [
        (FrameKind.READY, 0),
        (FrameKind.RESULT, 0),
        (FrameKind.PAGE_ERROR, 1),
        (FrameKind.PAGE_ERROR, 2),
        (FrameKind.RESULT, 3),
    ]
    complaints = [msgspec.msgpack.decode(frames[place][2], type=Complaint) for place in (2, 3)]
    assert complaints == [
        Complaint("not-text", "it is a picture"),
        Complaint("parser-raised", "ValueError: so it goes ?"),
    ]
    assert [msgspec.msgpack.decode(frames[place][2]) for place in (1, 4)] == [2, 100_001]
    assert code == 0


def test_a_page_that_needs_too_much_memory_is_the_last_one() -> None:
    frames, _ = served(tasks.obedient, [b"eat 200000000", b"length x"])
    assert [(kind, number, payload) for kind, number, payload in frames[1:]] == [(FrameKind.OUT_OF_MEMORY, 0, b"")]


@pytest.mark.parametrize(
    ("factory", "name", "said"),
    [
        (tasks.refusing, "UsageError", "set it to auto"),
        (tasks.broken, "Stop", "KeyError: 'a defect'. The same happens in"),
    ],
)
def test_a_task_that_cannot_be_made_is_told_with_the_next_move_and_no_page_is_read(
    factory: Callable[[], tasks.Task], name: str, said: str
) -> None:
    ((kind, number, payload),), _ = served(factory, [b"length x"])
    assert (kind, number) == (FrameKind.CANNOT_START, 0)
    hindrance = msgspec.msgpack.decode(payload, type=Hindrance)
    assert hindrance.name == name
    assert said in hindrance.message


def test_a_child_whose_parent_is_gone_before_it_begins_ends_at_once() -> None:
    assert served(tasks.obedient, [b"length x"], parent=1) == ([], 1)
