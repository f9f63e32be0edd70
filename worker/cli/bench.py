"""``python -m worker bench pipeline|scaling``: measures this program where it stands, so that machines can be sized."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from worker.config import Settings
from worker.sizing import pipeline
from worker.sizing.pages import Page, pages_of, repeated
from worker.sizing.scaling import Scaling, measure_workers, scaling_lines

PIPELINE: Final = "pipeline"
SCALING: Final = "scaling"
KINDS: Final = {
    PIPELINE: "the whole way: HTML, text, fingerprint, index, verdict",
    SCALING: "the same with different numbers of workers in turn, each a process with one parser and one core",
}
"""The possible measurements, by name."""
WORKERS: Final = (1, 2)


def configure(parser: argparse.ArgumentParser) -> None:
    """What to measure, with which pages, how often."""
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="WHAT")
    one, several = (kinds.add_parser(name, help=told, description=told) for name, told in KINDS.items())
    for kind in (one, several):
        kind.add_argument("--docs", type=Path, required=True, help="folder with docs.jsonl.xz (id, url, html a line)")
        kind.add_argument("--pages", type=int, help="how many of its pages (default: all)")
        kind.add_argument(
            "--laps", type=int, default=1, help="how many times each page, each time under another URL (default: 1)"
        )
        kind.add_argument("--runs", type=int, default=1, help="how many times to measure (default: 1)")
        kind.add_argument("--json", action="store_true", help="print an object for each run, one a line")
    one.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="parsers (default: one a core)")
    several.add_argument(
        "--workers",
        type=_counts,
        default=WORKERS,
        metavar="N,N,…",
        help=f"how many workers (default: {','.join(map(str, WORKERS))})",
    )


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Measure and print."""
    settings = load()
    once = pages_of(arguments.docs, arguments.pages)
    pages = list(repeated(once, arguments.laps)) if arguments.laps > 1 else once
    (_measure_scaling if arguments.kind == SCALING else _measure_pipeline)(settings, pages, arguments)
    return 0


def _measure_pipeline(settings: Settings, pages: Sequence[Page], arguments: argparse.Namespace) -> None:
    for _ in range(arguments.runs):
        done = pipeline.measure(settings, pages, arguments.processes)
        if arguments.json:
            figures = dataclasses.asdict(done) | {"pages_a_second_and_core": done.pages_a_second_and_core}
            print(json.dumps(figures | {"shares": done.shares()}), flush=True)
        else:
            print(*pipeline.run_lines(done), sep="\n", flush=True)


def _measure_scaling(settings: Settings, pages: Sequence[Page], arguments: argparse.Namespace) -> None:
    """In turn, so that other load on the machine affects all alike."""
    done: list[Scaling] = []
    for _ in range(arguments.runs):
        for count in arguments.workers:
            done.append(measure_workers(settings, pages, count))
            if arguments.json:
                print(done[-1].as_json(), flush=True)
    if not arguments.json:
        print(*scaling_lines(done), sep="\n", flush=True)


def _counts(text: str) -> list[int]:
    counts = [int(count) for count in text.split(",")]
    if min(counts) < 1:
        raise argparse.ArgumentTypeError("write numbers above 0 with commas between them, such as 1,2,4")
    return counts
