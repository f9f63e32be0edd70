"""``python -m benchmarks live-copy``: for how long verdicts stand still when a copied index takes over.

A broker is started for it, and its index topic filled. Two workers judge pages that keep coming; the index is copied
with other shards, two workers of the copy stand by, and take over. The figure is the longest time in which a reader of
committed records got no verdict of either generation.
"""

from __future__ import annotations

import argparse
import json
import secrets
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from benchmarks.failover import longest_gap
from benchmarks.handover import random_pages
from benchmarks.index_topic import MILLION, fill
from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.topics import VERDICTS
from worker.broker.configuration import AMPLE_HEAP_MB
from worker.broker.server import LocalBroker
from worker.compose import parts
from worker.compose.processes import ModuleProcess, see_that_it_runs, wait_until_ready
from worker.compose.step import policy
from worker.compose.topology import specs
from worker.config import Settings, load_settings
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.output_reader import OutputReader
from worker.stream.kafka.publish import publish_pages
from worker.stream.kafka.topic_admin import create_topics

WORKERS: Final = 2
SHARDS: Final = 12
PAGES_A_SECOND: Final = 50
AFTER_SECONDS: Final = 10.0
PATIENCE_SECONDS: Final = 900.0
_SPACE_AN_ENTRY: Final = 280
"""Bytes on disk: both indexes."""
_LOOK_SECONDS: Final = 0.1


@dataclass(frozen=True)
class LiveHandover:
    """Seconds: until the copy is made; the longest time without a verdict before the workers of the new generation are
    there, and from then on; and the time of the hand-over that the command reports."""

    entries: int
    copied_in: float
    before: float
    longest: float
    says: str

    def line(self) -> str:
        """The result as a line for people."""
        return (
            f"{self.entries / MILLION:g}M survivors copied to {SHARDS} shards within {self.copied_in:.0f} s, handed "
            f"over in {self.says}: verdicts stood still for {self.longest:.1f} s at most ({self.before:.1f} s before)"
        )


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the argument: how many survivors."""
    parser.add_argument("--entries", type=int, default=MILLION, metavar="N", help=f"survivors (default: {MILLION:,})")
    parser.add_argument("--json", action="store_true", help="as one object")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Measure and print."""
    found = measure(arguments.entries)
    print(json.dumps(asdict(found)) if arguments.json else found.line(), flush=True)
    return 0


def measure(entries: int) -> LiveHandover:
    """Measure one hand-over, on a broker of its own.

    Raises:
        Unavailable: a process ended that should go on, or does not get to the expected state.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        space = entries * _SPACE_AN_ENTRY
        broker = stack.enter_context(
            LocalBroker(data_dir=folder / "broker", heap_mb=AMPLE_HEAP_MB, minimum_free_bytes=space)
        )
        overrides = [f"kafka.bootstrap_servers={broker.bootstrap_servers}"]
        settings = load_settings(config=None, overrides=overrides, environ={})
        options, topics = client_options(settings.kafka), settings.topics
        create_topics(options, specs(settings), 1)
        rules = policy(settings, parts.scheme(settings, parts.recipe(settings)), secrets.token_bytes(8))
        fill(settings, rules, entries)

        def started(name: str, command: list[str], *more: str) -> ModuleProcess:
            pairs = [part for pair in (*overrides, *more) for part in ("--set", pair)]
            return stack.enter_context(ModuleProcess(name, "worker", [*command, *pairs], folder))

        def crew(name: str, *more: str) -> list[ModuleProcess]:
            return [
                started(f"{name} {number}", [], "metrics.port=0", "page.processes=1", *more)
                for number in range(WORKERS)
            ]

        seen: list[float] = []
        over = threading.Event()
        stack.callback(over.set)
        wait_until_ready(crew("old"), topics.shards, topics.partitions, PATIENCE_SECONDS)
        pages = random_pages(over, PAGES_A_SECOND)
        threading.Thread(target=publish_pages, args=(options, topics.prefix, pages), daemon=True).start()
        _follow(settings, "", seen, over)
        _wait_until(lambda: len(seen) > PAGES_A_SECOND, "verdicts come")
        begun = time.monotonic()
        copying = started("copy", ["index", "copy", "--live", "--to", "b", "--shards", str(SHARDS)])
        _wait_until(lambda: bool(copying.find("copied ")), "the index is copied", copying)
        copied = time.monotonic()
        _follow(settings, "b", seen, over)
        crew("new", "topics.generation=b", f"topics.shards={SHARDS}")
        _wait_until(lambda: bool(copying.find("handed over in ")), "the new generation begins", copying)
        ended = time.monotonic()
        time.sleep(AFTER_SECONDS)
        last = time.monotonic()
        if max(seen) < ended:
            raise Unavailable("the new generation has judged nothing yet: try again when the machine is less busy")
        times = sorted(seen)
        return LiveHandover(
            entries,
            copied - begun,
            longest_gap(times, begun, copied),
            longest_gap(times, copied, last),
            copying.find("handed over in ") or "",
        )


def _follow(settings: Settings, generation: str, seen: list[float], over: threading.Event) -> None:
    """Have a thread note when verdicts of a generation come."""

    def read() -> None:
        options, prefix = client_options(settings.kafka), settings.topics.prefix
        with OutputReader(options, prefix, (VERDICTS,), generation=generation) as reader:
            while not over.is_set():
                seen.extend([time.monotonic()] * len(reader.read(0.02)))

    threading.Thread(target=read, daemon=True).start()


def _wait_until(came: Callable[[], bool], what: str, process: ModuleProcess | None = None) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not came():
        if process is not None:
            see_that_it_runs(process)
        if time.monotonic() > deadline:
            raise Unavailable(f"it took longer than {PATIENCE_SECONDS:g} s until {what}: try again")
        time.sleep(_LOOK_SECONDS)
