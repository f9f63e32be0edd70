"""Files that are whole whenever the process ends, and files that one process holds."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from crawler_plugin.wire.files import OWNER_ONLY, HeldFile, holder_of, replaced, write_all

OLD, NEW = b"old" * 1000, b"new" * 2000
STEPS = ("open", "pwrite", "fsync", "replace", "unlink", "close")


@contextmanager
def noted(before: Callable[[str], None]) -> Iterator[None]:
    """Call ``before`` before each system call."""
    kept = {name: getattr(os, name) for name in STEPS}

    def noting(name: str) -> Callable[..., Any]:
        def step(*arguments: Any, **named: Any) -> Any:
            before(name)
            return kept[name](*arguments, **named)

        return step

    for name in STEPS:
        setattr(os, name, noting(name))
    try:
        yield
    finally:
        for name, step in kept.items():
            setattr(os, name, step)


def is_killed(work: Callable[[], None], at: int) -> bool:
    """Whether another process that does this work was killed before this step; there may be fewer steps."""
    child = os.fork()
    if not child:
        left = at

        def count(name: str) -> None:
            nonlocal left
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

        with noted(count):
            work()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def replace(file: Path) -> None:
    with replaced(file) as beside, beside.open("wb", buffering=0) as out:
        for begin in range(0, len(NEW), 1000):
            os.pwrite(out.fileno(), NEW[begin : begin + 1000], begin)


def test_killed_at_any_step_a_replacement_leaves_the_old_file_or_the_new_one_and_the_next_one_tidies_up(
    tmp_path: Path,
) -> None:
    file = tmp_path / "file"
    found, at = [], 0
    file.write_bytes(OLD)
    while is_killed(lambda: replace(file), at):
        found.append(file.read_bytes())
        replace(file)
        assert (file.read_bytes(), list(tmp_path.iterdir())) == (NEW, [file])
        file.write_bytes(OLD)
        at += 1
    turn = found.index(NEW)
    assert found == [OLD] * turn + [NEW] * (at - turn)
    assert turn > 6, "it was killed between pieces"


def test_a_replacement_is_on_the_disk_before_it_has_its_name_and_its_name_before_it_is_done(tmp_path: Path) -> None:
    taken: list[str] = []
    with noted(taken.append):
        replace(tmp_path / "file")
    steps = [name for name in taken if name in ("pwrite", "fsync", "replace")]
    assert steps == ["pwrite"] * 6 + ["fsync", "replace", "fsync"]


def test_killed_at_any_write_what_was_there_before_is_whole_and_the_rest_is_a_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each write the system may take only a part of the bytes."""
    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, content, offset: pwrite(file, content[:1000], offset))
    path = tmp_path / "file"

    def append() -> None:
        file = os.open(path, os.O_RDWR)
        assert write_all(file, NEW, len(OLD)) == len(OLD) + len(NEW)

    path.write_bytes(OLD)
    sizes, at = [], 0
    while is_killed(append, at):
        sizes.append(path.stat().st_size - len(OLD))
        assert path.read_bytes() == OLD + NEW[: sizes[-1]]
        path.write_bytes(OLD)
        at += 1
    assert sizes == [0, *range(0, 6000, 1000)]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_whatever_is_raised_leaves_the_old_file_and_nothing_beside(tmp_path: Path, error: BaseException) -> None:
    file = tmp_path / "file"
    file.write_bytes(OLD)
    with pytest.raises(type(error)), replaced(file) as beside:
        beside.write_bytes(NEW)
        raise error
    assert (file.read_bytes(), list(tmp_path.iterdir())) == (OLD, [file])


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(OLD)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2500, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"), replaced(file) as beside:
            beside.write_bytes(NEW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (file.read_bytes(), list(tmp_path.iterdir())) == (OLD, [file])


def test_a_file_may_be_its_users_alone_whatever_lay_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "file"
    (tmp_path / "file.tmp").touch(0o666)
    with replaced(file, OWNER_ONLY) as beside:
        beside.write_bytes(NEW)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="it is a device or a pipe"), replaced(pipe):
        pass
    assert pipe.is_fifo()


def test_two_that_name_themselves_may_write_at_once(tmp_path: Path) -> None:
    file = tmp_path / "file"
    with replaced(file, writer="a") as one, replaced(file, writer="b") as other:
        one.write_bytes(OLD)
        other.write_bytes(NEW)
    assert (file.read_bytes(), list(tmp_path.iterdir())) == (OLD, [file])


# held files


def test_a_file_is_held_by_one_who_is_named_and_free_when_that_one_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        HeldFile(path).note("the child")
        os.write(tell, b"!")
        signal.pause()
    os.read(told, 1)
    with pytest.raises(BlockingIOError):
        HeldFile(path)
    assert holder_of(path) == "the child"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with HeldFile(path) as held:
        held.note("I")
        assert holder_of(path) == "I"
    for file in (told, tell):
        os.close(file)


def test_killed_at_any_step_a_file_can_be_held_by_the_next_one(tmp_path: Path) -> None:
    at = 0
    while is_killed(lambda: HeldFile(tmp_path / "lock").note("one that is killed"), at):
        HeldFile(tmp_path / "lock").close()
        at += 1
    assert at > 3


def test_who_gets_a_file_that_its_holder_has_removed_takes_the_one_that_has_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lock"
    first = HeldFile(path)
    flock, held = fcntl.flock, [first]

    def late(file: int, how: int) -> None:
        while held:  # the other process has opened the file by now
            path.unlink()
            held.pop().close()
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with HeldFile(path) as second:
        assert os.path.samestat(os.fstat(second.file), path.stat())
