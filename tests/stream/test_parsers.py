"""Whatever a page does to its parser, it alone pays."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.stream import parser_tasks
from worker.errors import PageError, Stop, Unavailable, UsageError
from worker.messages import PageMeta
from worker.stream.parsers import PAGES_AHEAD, ParserPool
from worker.stream.stopwatch import PIPES, START

MIB = 1024 * 1024
META = PageMeta(url="https://a.example/", status=200, content_type="text/html")
PATIENCE = 60.0
"""Seconds after which a test gives up waiting; nothing depends on how long anything really takes."""

Pool = ParserPool[Any, Any]


@pytest.fixture(scope="module")
def shared_pool() -> Iterator[Pool]:
    with ParserPool(parser_tasks.obedient, processes=2, timeout_seconds=PATIENCE, memory_bytes=64 * MIB) as pool:
        yield pool


@pytest.fixture(scope="module")
def impatient_pool() -> Iterator[Pool]:
    with ParserPool(parser_tasks.obedient, processes=1, timeout_seconds=1.0, memory_bytes=64 * MIB) as pool:
        yield pool


def run(pool: Pool, bodies: Sequence[bytes], meta: PageMeta = META) -> list[Any]:
    """The result of each body, in their order; page errors as "reason"."""
    results: dict[int, Any] = {}
    given = 0
    give_up = time.monotonic() + PATIENCE
    while len(results) < len(bodies):
        assert time.monotonic() < give_up, f"only {len(results)} of {len(bodies)} pages came back"
        while given < len(bodies) and pool.capacity:
            pool.submit(given, bodies[given], meta)
            given += 1
        for key, result in pool.results(1.0):
            assert key not in results, "a page came back twice"
            results[key] = result
    assert pool.outstanding == 0
    return [results[place] for place in range(len(bodies))]


def reasons(results: Sequence[Any]) -> list[Any]:
    return [result.reason if isinstance(result, PageError) else result for result in results]


def test_each_page_gets_its_result(shared_pool: Pool) -> None:
    bodies = [b"length " + b"x" * (n * 37 % 5000) for n in range(2000)]
    assert run(shared_pool, bodies) == [n * 37 % 5000 for n in range(2000)]


def test_the_metadata_arrives_as_it_was(shared_pool: Pool) -> None:
    meta = PageMeta(url="https://网页.example/", fetched=2**53, form="text", spider="s")
    assert run(shared_pool, [b"meta"], meta) == [meta]


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
        (b"unpicklable", "parser-raised", "pickle"),
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


@pytest.mark.parametrize("order", [b"loop", b"sleep 1000"])
def test_a_page_without_end_is_killed_and_those_behind_it_run_elsewhere(impatient_pool: Pool, order: bytes) -> None:
    results = run(impatient_pool, [b"length x", order, *[b"length xy"] * 30])
    assert reasons(results) == [1, "parser-timeout", *[2] * 30]
    assert "no end after 1 s" in results[1].detail


def test_the_clock_of_a_page_starts_when_it_is_the_first(impatient_pool: Pool) -> None:
    # Together they take longer than one may; the loop also stays away for longer than one page may take.
    for _ in range(5):
        impatient_pool.submit("slow", b"sleep 0.3", META)
    deadline = time.monotonic() + 1.5
    while time.monotonic() < deadline:
        select.select([], [], [], 0.05)
    slow: list[Any] = []
    while len(slow) < 5:
        slow += impatient_pool.results(PATIENCE)
    assert reasons([result for _, result in slow]) == [b"sleep"] * 5


def test_many_bad_pages_at_once_cost_themselves_only(impatient_pool: Pool) -> None:
    bodies = [b"die", b"loop", b"length x", b"eat 200000000", b"raise", b"segfault", b"length xy", b"loop"]
    assert reasons(run(impatient_pool, bodies)) == [
        "parser-crashed",
        "parser-timeout",
        1,
        "parser-memory",
        "parser-raised",
        "parser-crashed",
        2,
        "parser-timeout",
    ]


def test_a_child_killed_from_outside_costs_no_page(shared_pool: Pool) -> None:
    before = shared_pool.replaced
    for victim in shared_pool.pids:
        os.kill(victim, signal.SIGKILL)
    assert run(shared_pool, [b"length x"] * 40) == [1] * 40
    assert shared_pool.replaced == before + 2


def test_a_page_that_crashes_once_is_tried_again(shared_pool: Pool, tmp_path: Path) -> None:
    order = b"die-once " + os.fsencode(tmp_path / "mark")
    assert run(shared_pool, [order, b"length x"]) == ["alive", 1]


def test_what_a_terminal_or_a_supervisor_sends_does_not_end_a_child(shared_pool: Pool) -> None:
    before = shared_pool.pids
    assert run(shared_pool, [b"catch-signals"] * 4) == ["alive"] * 4
    assert shared_pool.pids == before
    assert all(os.getsid(pid) != os.getsid(0) for pid in before)


def test_a_child_keeps_its_task(tmp_path: Path) -> None:
    factory = parser_tasks.announcing(str(tmp_path))
    with ParserPool[Any, Any](factory, processes=2, timeout_seconds=PATIENCE, memory_bytes=64 * MIB) as pool:
        used = set(run(pool, [b"pid"] * 200))
        assert used <= set(pool.pids)
    assert {int(mark.name) for mark in tmp_path.iterdir()} >= used


@pytest.mark.skipif(sys.platform != "linux", reason="what another process took is read from Linux's /proc")
def test_children_tell_what_their_stages_took() -> None:
    with ParserPool[Any, Any](
        parser_tasks.Staged, processes=2, timeout_seconds=PATIENCE, memory_bytes=64 * MIB
    ) as pool:
        give_up = time.monotonic() + PATIENCE
        while len(pool.stage_seconds) < 4:
            assert time.monotonic() < give_up, f"only {dict(pool.stage_seconds)} was told"
            assert reasons(run(pool, [b"length xy", b"refuse", b"raise"])) == [2, "not-text", "parser-raised"]
        assert set(pool.stage_seconds) == {START, PIPES, "reading", "obeying"}
        assert min(pool.stage_seconds.values()) > 0
        assert sum(pool.stage_seconds.values()) <= sum(map(cpu_seconds, pool.pids))


def cpu_seconds(pid: int) -> float:
    """What a living process has taken so far, rounded up to the kernel's unit."""
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


def test_asking_without_patience_returns_at_once_with_what_there_is(shared_pool: Pool) -> None:
    assert shared_pool.results() == []
    assert shared_pool.results(0.01) == []


@pytest.mark.parametrize(
    ("factory", "error", "message"),
    [
        (parser_tasks.refusing, UsageError, r"segment\.engine"),
        (parser_tasks.broken, Stop, "KeyError: 'a defect'"),
        (parser_tasks.dying, Unavailable, "3 parser processes in a row .*exit code 7"),
    ],
)
def test_a_task_that_cannot_be_made_stops_the_worker(
    factory: Callable[[], parser_tasks.Task], error: type[Stop], message: str
) -> None:
    with ParserPool[Any, Any](factory, processes=1, timeout_seconds=PATIENCE, memory_bytes=64 * MIB) as pool:
        pool.submit(1, b"length x", META)
        with pytest.raises(error, match=message):
            while not pool.results(PATIENCE):
                pass


@pytest.mark.parametrize("wrong", [{"processes": 0}, {"timeout_seconds": 0}, {"memory_bytes": 0}])
def test_limits_are_above_zero(wrong: dict[str, int]) -> None:
    limits = {"processes": 1, "timeout_seconds": 1, "memory_bytes": MIB} | wrong
    with pytest.raises(ValueError, match="above zero"):
        ParserPool(parser_tasks.obedient, **limits)  # type: ignore[arg-type]


def test_closing_ends_all_children_at_work_and_frees_their_pipes() -> None:
    open_before = len(list(Path("/dev/fd").iterdir()))
    pool: Pool = ParserPool(parser_tasks.obedient, processes=2, timeout_seconds=PATIENCE, memory_bytes=64 * MIB)
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
from tests.stream import parser_tasks
from worker.messages import PageMeta
from worker.stream.parsers import ParserPool
pool = ParserPool(parser_tasks.announcing({str(tmp_path)!r}), processes=2, timeout_seconds=1000, memory_bytes=10**9)
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
    with ParserPool(parser_tasks.extracting, processes=1, timeout_seconds=15, memory_bytes=512 * MIB) as pool:
        yield pool
