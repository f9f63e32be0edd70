"""``python -m benchmarks serve``: verdicts over HTTP, beside ``judge_all`` on the same pages.

The service runs as its own process, and so do its clients; ``judge_all`` runs in a third one. Each begins with an empty
state for each turn. The first half of the pages, sent in the same way, does not count, as a service runs for days. What
counts is the CPU time of the judging process and of its parsers: clients usually run on other machines.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple, TypeVar
from urllib.parse import quote

from benchmarks.process_tree import cpu_seconds
from benchmarks.report import table
from crawler_plugin.wire.errors import Unavailable
from worker.compose.processes import ModuleProcess, see_that_it_runs
from worker.config import Settings
from worker.local import Deduplicator, FetchedPage
from worker.sizing.pages import Page, pages_of

TURNS: Final = 5
READY_SECONDS: Final = 180.0
_LOOK_SECONDS: Final = 0.05
_BASE: Final = "judge_all"
T = TypeVar("T")


class Way(NamedTuple):
    """How pages are sent: over so many connections, each page in a request of its own or all as lines of one."""

    connections: int
    as_lines: bool

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.connections} connections {'with JSON lines' if self.as_lines else 'page by page'}"


WAYS: Final = (Way(4, as_lines=True), Way(32, as_lines=False), Way(64, as_lines=False))


class Cost(NamedTuple):
    """Of a page, microseconds of CPU time, and how many came a second."""

    cpu: float
    rate: float


def configure(parser: argparse.ArgumentParser) -> None:
    """Which pages, and how often."""
    parser.add_argument("--docs", type=Path, required=True, help="folder with docs.jsonl.xz (id, url, html a line)")
    parser.add_argument("--turns", type=int, default=TURNS, metavar="N", help=f"of each way (default: {TURNS})")
    parser.add_argument("--pages", type=int, metavar="N", help="number of pages (default: all)")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Measure and print a Markdown table."""
    settings = load()
    pages = pages_of(arguments.docs, arguments.pages)
    turns = [dict(_turn(pages, settings)) for _ in range(arguments.turns)]
    rows = []
    for name in turns[0]:
        shares = [turn[_BASE].cpu / turn[name].cpu for turn in turns]
        costs = [turn[name] for turn in turns]
        row = (f"{median(cost.cpu for cost in costs):,.0f}", f"{median(shares):.2f}")
        rows.append((name, *row, f"{median(cost.rate for cost in costs):,.0f}"))
    print(table(("how pages are sent", "CPU µs a page", f"`{_BASE}` in the same turn, ×", "pages a second"), rows))
    return 0


def _turn(pages: Sequence[Page], settings: Settings) -> Iterator[tuple[str, Cost]]:
    with tempfile.TemporaryDirectory(prefix="serve-") as folder:
        yield _BASE, _apart(_judge_all, pages, settings, Path(folder) / "alone")
        for number, way in enumerate(WAYS):
            yield way.name, _served(pages, settings, way, Path(folder) / f"state-{number}")


def _served(pages: Sequence[Page], settings: Settings, way: Way, state: Path) -> Cost:
    state.mkdir()
    chosen = ["--set", f"page.processes={settings.page.processes}", "--set", "metrics.port=0"]
    with ModuleProcess("serve", "worker", ["serve", "--state", "seen", "--port", "0", *chosen], state) as service:
        port = _port_of(service)
        warm, counted = _halves(pages)
        _apart(_ask, warm, way, port)
        before = cpu_seconds(service.pid)
        wall = _apart(_ask, counted, way, port)
        return Cost(1e6 * (cpu_seconds(service.pid) - before) / len(counted), len(counted) / wall)


def _halves(pages: Sequence[Page]) -> tuple[Sequence[Page], Sequence[Page]]:
    return pages[: len(pages) // 2], pages[len(pages) // 2 :]


def _port_of(service: ModuleProcess) -> int:
    by = time.monotonic() + READY_SECONDS
    while time.monotonic() < by:
        see_that_it_runs(service)
        for line in service.log.read_text().splitlines():
            if "serving on http://" in line:
                return int(line.partition("serving on http://")[2].partition(",")[0].rpartition(":")[2])
        time.sleep(_LOOK_SECONDS)
    raise Unavailable(f"the service was not ready within {READY_SECONDS:g} s:\n{service.last_lines()}")


def _apart(work: Callable[..., T], *arguments: object) -> T:
    """Call it in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(work, *arguments).result()


def _judge_all(pages: Sequence[Page], settings: Settings, state: Path) -> Cost:
    warm, counted = _halves(pages)
    told, before, begun = 0, 0.0, 0.0

    def coming() -> Iterator[FetchedPage | None]:
        nonlocal before, begun
        yield from _fetched(warm)
        while told < len(warm):
            yield None
        before, begun = cpu_seconds(os.getpid()), time.perf_counter()
        yield from _fetched(counted)

    with Deduplicator(state, settings) as local:
        for _ in local.judge_all(coming()):
            told += 1
            if told == len(pages):  # before its parsers end
                cpu, wall = cpu_seconds(os.getpid()) - before, time.perf_counter() - begun
    return Cost(1e6 * cpu / len(counted), len(counted) / wall)


def _fetched(pages: Sequence[Page]) -> Iterator[FetchedPage]:
    for meta, body in pages:
        yield FetchedPage(meta.url, body, content_type=meta.content_type)


def _ask(pages: Sequence[Page], way: Way, port: int) -> float:
    """The seconds from the first request to the last answer."""
    requests = _lines(pages, way.connections) if way.as_lines else _single(pages, way.connections)
    begun = time.perf_counter()
    asyncio.run(_ask_all(requests, port))
    return time.perf_counter() - begun


def _lines(pages: Sequence[Page], connections: int) -> list[list[bytes]]:
    """The requests of each connection."""
    found = []
    for first in range(min(connections, len(pages))):
        rows = [
            {"url": meta.url, "content_type": meta.content_type, "body": body.decode()}
            for meta, body in pages[first::connections]
        ]
        found.append([_request("/judge", "application/x-ndjson", "\n".join(map(json.dumps, rows)).encode())])
    return found


def _single(pages: Sequence[Page], connections: int) -> list[list[bytes]]:
    """The same, each page in one of its own."""
    return [
        [
            _request(f"/judge?url={quote(str(meta.url), safe='')}", str(meta.content_type), body)
            for meta, body in pages[first::connections]
        ]
        for first in range(min(connections, len(pages)))
    ]


def _request(target: str, content_type: str, body: bytes) -> bytes:
    head = f"POST {target} HTTP/1.1\r\nHost: a\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def _ask_all(requests: Sequence[Sequence[bytes]], port: int) -> None:
    await asyncio.gather(*(_ask_on_one(each, port) for each in requests))


async def _ask_on_one(requests: Sequence[bytes], port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    for request in requests:
        writer.write(request)
        status, head = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n", 1)
        if status.split(b" ")[1] not in (b"200", b"422"):
            raise Unavailable(f"the service answered {status.decode()}: look at its log")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n") if line)
        if (length := fields.get(b"content-length")) is not None:
            await reader.readexactly(int(length))
        else:
            while size := int(await reader.readline(), 16):
                await reader.readexactly(size + len(b"\r\n"))
            await reader.readline()
    writer.close()
    await writer.wait_closed()
