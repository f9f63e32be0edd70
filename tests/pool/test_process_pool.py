"""Whatever a page does to its parser, only that page is lost."""

from __future__ import annotations

import math
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from crawler_plugin.wire.errors import Stop, Unavailable, UsageError
from crawler_plugin.wire.page_headers import PageMeta
from tests.pool import tasks
from tests.pool.pools import META, MIB, PATIENCE, RESULT, Pool, packed, reasons, run, run_out
from worker.pool.frames import OUTCOME, FrameKind
from worker.pool.process_pool import LARGE_PAGES_AHEAD, PAGES_AHEAD, SMALL_BYTES, ProcessPool
from worker.pool.stopwatch import PIPES, START


def test_bodies_and_results_larger_than_any_pipe_pass(shared_pool: Pool) -> None:
    orders = [b"length " + b"x" * (8 * MIB), b"large 3000000", b"length " + b"y" * (5 * MIB), b"large 0"]
    assert run(shared_pool, orders) == [8 * MIB, b"x" * 3000000, 5 * MIB, b""]


@pytest.mark.parametrize(
    ("order", "reason", "detail"),
    [
        (b"refuse", "not-text", "it is a picture"),
        (b"raise", "parser-raised", "ValueError: so it goes ?"),
        (b"panic", "parser-raised", "BaseException: as from Rust"),
        (b"exit", "parser-raised", "SystemExit: 3"),
        (b"recurse", "parser-raised", "RecursionError"),
        (b"code", "parser-raised", "a function cannot be handed to another process"),
        (b"large 5000000", "parser-raised", "5000005 bytes, at most 4194304 are passed on"),
        (b"die", "parser-crashed", "exit code 3"),
        (b"segfault", "parser-crashed", "SIGSEGV"),
        (b"abort", "parser-crashed", "SIGABRT"),
        (b"eat 200000000", "parser-memory", "64 MiB"),
    ],
)
def test_only_the_page_that_did_it_pays(shared_pool: Pool, order: bytes, reason: str, detail: str) -> None:
    bodies = [b"length x", b"length xy", order, *[b"length xyz"] * 28]
    results = run(shared_pool, bodies)
    assert reasons(results) == [1, 2, reason, *[3] * 28]
    assert detail in results[2].detail


# Answers of a page that has taken over its parser


def frame(kind: int, number: int, payload: bytes, length: int | None = None) -> bytes:
    return OUTCOME.pack(kind, number, len(payload) if length is None else length) + payload


MALFORMED: dict[str, tuple[bytes, str]] = {
    "a kind that there is not": (frame(99, 0, b""), "a frame of the unknown kind 99"),
    "a payload without end": (frame(FrameKind.RESULT, 1, b"", 1 << 62), "4611686018427387904 bytes, at most 4194304"),
    "a ready child that has a payload": (frame(FrameKind.READY, 0, b"x"), "READY with 1 bytes, at most 0"),
    "ready once more": (frame(FrameKind.READY, 0, b""), "READY out of turn"),
    "no start in the middle": (
        frame(FrameKind.CANNOT_START, 0, packed(["Refused", "stop it"])),
        "CANNOT_START out of turn",
    ),
    "an answer to a page that was not given": (
        frame(FrameKind.RESULT, 10**9, packed(1)),
        "an answer to page 1000000000",
    ),
    "no MessagePack": (frame(FrameKind.RESULT, 1, b"\xc1"), "cannot be read"),
    "another type": (frame(FrameKind.RESULT, 1, packed([1.5])), "cannot be read"),
    "lists in lists in lists": (frame(FrameKind.RESULT, 1, b"\x91" * 100_000), "cannot be read"),
    "a reason for a whole line of a log": (frame(FrameKind.PAGE_ERROR, 1, packed(["a\nb", ""])), "cannot be read"),
    "a detail of a thousand characters": (frame(FrameKind.PAGE_ERROR, 1, packed(["a", "x" * 1000])), "cannot be read"),
    "time that runs backwards": (frame(FrameKind.SPENT, 0, packed({"extract": -1.0})), "cannot be read"),
    "no time at all": (frame(FrameKind.SPENT, 0, packed({"extract": math.nan})), "cannot be read"),
    "a hundred stages": (frame(FrameKind.SPENT, 0, packed({str(n): 1.0 for n in range(100)})), "cannot be read"),
}


@pytest.mark.parametrize("said", MALFORMED)
def test_a_child_that_says_what_no_child_says_has_crashed(shared_pool: Pool, said: str) -> None:
    written, detail = MALFORMED[said]
    results = run(shared_pool, [b"length x", b"write " + written.hex().encode(), *[b"length xy"] * 30])
    assert reasons(results) == [1, "parser-crashed", *[2] * 30]
    assert detail in results[1].detail


def test_nothing_that_a_child_says_is_run(shared_pool: Pool, tmp_path: Path) -> None:
    forged = tmp_path / "made-by-the-parent"
    results = run(shared_pool, [b"forge " + os.fsencode(forged), b"length x"])
    assert reasons(results) == ["parser-crashed", 1]
    assert not forged.exists()


def test_a_child_is_given_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for secret in ("DEDUP_KAFKA__SASL_PASSWORD", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL"):
        monkeypatch.setenv(secret, "hush")
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    with (
        socket.create_server(("127.0.0.1", 0)),
        ProcessPool[Any, Any](
            tasks.obedient, RESULT, processes=1, timeout_seconds=PATIENCE, memory_bytes=64 * MIB
        ) as pool,
    ):
        names, opened = (text.decode().split("\n") for text in run(pool, [b"environment", b"open"]))
    assert "NUMBA_NUM_THREADS" in names
    assert not [name for name in names if name.startswith(("DEDUP", "AWS", "DATABASE"))]
    assert not [name for name in opened if "socket" in name]


def test_a_child_killed_from_outside_costs_no_page(shared_pool: Pool) -> None:
    before = shared_pool.replaced
    for victim in shared_pool.pids:
        os.kill(victim, signal.SIGKILL)
    assert run(shared_pool, [b"length x"] * 40) == [1] * 40
    assert shared_pool.replaced == before + 2


def test_a_page_that_crashes_once_is_tried_again(shared_pool: Pool, tmp_path: Path) -> None:
    order = b"die-once " + os.fsencode(tmp_path / "mark")
    assert run(shared_pool, [order, b"length x"]) == [b"alive", 1]


def test_what_a_terminal_or_a_supervisor_sends_does_not_end_a_child(shared_pool: Pool) -> None:
    before = shared_pool.pids
    assert run(shared_pool, [b"catch-signals"] * 4) == [b"alive"] * 4
    assert shared_pool.pids == before
    assert all(os.getsid(pid) != os.getsid(0) for pid in before)


def test_a_child_keeps_its_task(tmp_path: Path) -> None:
    factory = tasks.announcing(str(tmp_path))
    with ProcessPool[Any, Any](factory, RESULT, processes=2, timeout_seconds=PATIENCE, memory_bytes=64 * MIB) as pool:
        used = set(run(pool, [b"pid"] * 200))
        assert used <= set(pool.pids)
    assert {int(mark.name) for mark in tmp_path.iterdir()} >= used


@pytest.mark.skipif(sys.platform != "linux", reason="what another process took is read from Linux's /proc")
def test_children_tell_what_their_stages_took() -> None:
    with ProcessPool[Any, Any](
        tasks.Staged, RESULT, processes=2, timeout_seconds=PATIENCE, memory_bytes=64 * MIB
    ) as pool:
        give_up = time.monotonic() + PATIENCE
        while len(pool.stage_seconds) < 4:
            assert time.monotonic() < give_up, f"only {dict(pool.stage_seconds)} was told"
            assert reasons(run(pool, [b"length xy", b"refuse", b"raise"])) == [2, "not-text", "parser-raised"]
        assert set(pool.stage_seconds) == {START, PIPES, "reading", "obeying"}
        assert min(pool.stage_seconds.values()) > 0
        assert sum(pool.stage_seconds.values()) <= sum(map(cpu_seconds, pool.pids))


def cpu_seconds(pid: int) -> float:
    """The CPU time of a living process so far, rounded up to the kernel's unit."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12]) + 2) / os.sysconf("SC_CLK_TCK")


def test_capacity_bounds_what_is_under_way(shared_pool: Pool) -> None:
    assert shared_pool.capacity == 2 * PAGES_AHEAD
    for place in range(2 * PAGES_AHEAD):
        assert shared_pool.capacity == 2 * PAGES_AHEAD - place
        shared_pool.submit(place, b"length x", META)
    assert shared_pool.capacity == 0
    with pytest.raises(ValueError, match="collect results"):
        shared_pool.submit("one more", b"length x", META)
    collected: list[Any] = []
    while len(collected) < 2 * PAGES_AHEAD:
        collected += shared_pool.results(PATIENCE)
    assert {key for key, _ in collected} == set(range(2 * PAGES_AHEAD))
    assert shared_pool.capacity == 2 * PAGES_AHEAD


def filled(pool: Pool, body: bytes) -> int:
    """How often the pool takes this page."""
    count = 0
    while pool.capacity:
        pool.submit(count, body, META)
        count += 1
    return count


def test_of_more_pages_than_there_is_room_for_each_comes_back_with_its_key(shared_pool: Pool) -> None:
    pages = [(number, b"die" if number == 7 else b"length " + b"x" * number, META) for number in range(1, 60)]
    found = dict(shared_pool.each(pages))
    assert found.pop(7).reason == "parser-crashed"
    assert found == {number: number for number, _, _ in pages if number != 7}
    assert list(shared_pool.each([])) == []


def test_of_large_pages_a_child_is_given_fewer_ahead(impatient_pool: Pool) -> None:
    large = b"length " + b"x" * (SMALL_BYTES // 8)
    assert filled(impatient_pool, large) == LARGE_PAGES_AHEAD + 1, "one more waits in line"
    (child,) = impatient_pool._children
    assert len(child.ahead) == LARGE_PAGES_AHEAD
    assert {result for _, result in run_out(impatient_pool)} == {len(large) - len(b"length ")}
    assert impatient_pool.capacity == PAGES_AHEAD
    assert child.bytes_ahead == 0


def test_pages_are_sent_together_and_none_is_kept_back_from_who_waits(impatient_pool: Pool) -> None:
    assert run(impatient_pool, [b"length x"]) == [1]
    for place in range(5):
        impatient_pool.submit(place, b"length xy", META)
    (child,) = impatient_pool._children
    assert child.held == 4, "the first is sent at once: the child has nothing else to do"
    assert sorted(run_out(impatient_pool)) == [(place, 2) for place in range(5)]


def test_asking_without_patience_returns_at_once_with_what_there_is(shared_pool: Pool) -> None:
    assert shared_pool.results() == []
    assert shared_pool.results(0.01) == []


@pytest.mark.parametrize(
    ("factory", "error", "message"),
    [
        (tasks.refusing, UsageError, r"segment\.engine"),
        (tasks.broken, Stop, "KeyError: 'a defect'"),
        (tasks.dying, Unavailable, "3 parser processes in a row .*exit code 7"),
    ],
)
def test_a_task_that_cannot_be_made_stops_the_worker(
    factory: Callable[[], tasks.Task], error: type[Stop], message: str
) -> None:
    with ProcessPool[Any, Any](factory, RESULT, processes=1, timeout_seconds=PATIENCE, memory_bytes=64 * MIB) as pool:
        pool.submit(1, b"length x", META)
        with pytest.raises(error, match=message):
            while not pool.results(PATIENCE):
                pass


@pytest.mark.parametrize("wrong", [{"processes": 0}, {"timeout_seconds": 0}, {"memory_bytes": 0}])
def test_limits_are_above_zero(wrong: dict[str, int]) -> None:
    limits = {"processes": 1, "timeout_seconds": 1, "memory_bytes": MIB} | wrong
    with pytest.raises(ValueError, match="above zero"):
        ProcessPool(tasks.obedient, RESULT, **limits)  # type: ignore[arg-type]


def test_closing_ends_all_children_at_work_and_frees_their_pipes() -> None:
    open_before = len(list(Path("/dev/fd").iterdir()))
    pool: Pool = ProcessPool(tasks.obedient, RESULT, processes=2, timeout_seconds=PATIENCE, memory_bytes=64 * MIB)
    pids = pool.pids
    for place in range(4):
        pool.submit(place, b"loop", META)
    pool.close()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert len(list(Path("/dev/fd").iterdir())) == open_before


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a child that loops outlives a killed parent")
def test_children_die_with_their_parent_even_in_the_middle_of_a_page(tmp_path: Path) -> None:
    code = f"""
from tests.pool import tasks
from crawler_plugin.wire.page_headers import PageMeta
from worker.pool.process_pool import ProcessPool
factory = tasks.announcing({str(tmp_path)!r})
pool = ProcessPool(factory, int, processes=2, timeout_seconds=1000, memory_bytes=10**9)
for place in range(2):
    pool.submit(place, b"length x", PageMeta(url="u"))
done = []
while len(done) < 2:
    done += pool.results(10)
for place in range(2):
    pool.submit(place, b"loop", PageMeta(url="u"))
pool.results()
print("looping", flush=True)
pool.results(1000)
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout
        assert parent.stdout.readline() == b"looping\n"
        children = [int(mark.name) for mark in tmp_path.iterdir()]
        assert len(children) == 2
        watched = [os.pidfd_open(child) for child in children]
        parent.kill()
        for descriptor in watched:
            ended, _, _ = select.select([descriptor], [], [], PATIENCE)
            assert ended, "a child outlived its parent"
            os.close(descriptor)


@pytest.mark.parametrize(
    ("body", "content_type", "outcome"),
    [
        pytest.param(b"", "text/html", 0, id="nothing"),
        pytest.param(b"\0" * 1000, "text/html", 0, id="NULs"),
        pytest.param(b"hello world " * 4_200_000, "text/html", 4 * MIB, id="50 MB of text"),
        pytest.param(b"a" * 1_000_000, "text/html", 1_000_000, id="one character a million times"),
        pytest.param("网页😀".encode()[:-1] * 100, "text/html", None, id="malformed UTF-8"),
        pytest.param("<p>网页</p>".encode("utf-16-be") * 100, "text/html", None, id="UTF-16 without mark"),
        pytest.param("😀🎉".encode() * 100, "text/html", 200, id="only emoji"),
        pytest.param(b"<div>" * 10_000 + b"hello", "text/html", 5, id="10,000-deep tags"),
        pytest.param(b'<p title="' + b"x" * 100_000_000 + b'">hello', "text/html", 0, id="a 100 MB attribute"),
        pytest.param(b"<div>" * 800_000, "text/html", 0, id="800,000-deep tags"),
        pytest.param(b"\x89PNG\r\n", "text/html", "not-text", id="a picture"),
    ],
)
def test_hostile_pages_have_a_text_or_a_reason_within_the_limits(
    extracting_pool: Pool, body: bytes, content_type: str, outcome: int | str | None
) -> None:
    meta = PageMeta(url="https://a.example/", content_type=content_type)
    hostile, honest = run(extracting_pool, [body, b"<p>honest</p>"], meta)
    assert honest == len("honest")
    if outcome is None:
        assert hostile > 0
    else:
        assert reasons([hostile]) == [outcome]


@pytest.fixture(scope="module")
def extracting_pool() -> Iterator[Pool]:
    with Pool(tasks.extracting, RESULT, processes=1, timeout_seconds=15, memory_bytes=512 * MIB) as pool:
        yield pool
