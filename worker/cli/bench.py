"""``python -m worker bench KIND``: measures this program where it stands."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from typing import Final, NamedTuple

from worker.config import Settings

SUMMARY: Final = "measure: pages a second and core from HTML in Kafka to verdicts"


class Kind(NamedTuple):
    """A measurement's module, which has ``configure(parser)`` and ``run(arguments, load)`` as a command has.

    Every kind is imported for the help, so a library that only one of them needs is imported where it is used.
    """

    module: str
    summary: str


KINDS: Final = {
    "pipeline": Kind("worker.cli.bench_pipeline", "the whole way: HTML, text, fingerprint, index, verdict"),
    "fingerprint": Kind("worker.cli.bench_fingerprint", "text to fingerprint, beside what pip installs for the same"),
    "index": Kind("worker.cli.bench_index", "store and look up, beside other indexes that pip installs"),
    "protocol": Kind("worker.cli.bench_protocol", "what a claim costs every worker, however many there are"),
    "restore": Kind("worker.cli.bench_restore", "rebuild the index from a real topic, and from snapshots"),
    "skew": Kind("worker.cli.bench_skew", "look-ups in a crowded block, beside other indexes"),
}
"""What can be measured, by name."""


def configure(parser: argparse.ArgumentParser) -> None:
    """What to measure, and the options of each."""
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="WHAT")
    for name, kind in KINDS.items():
        importlib.import_module(kind.module).configure(
            kinds.add_parser(name, help=kind.summary, description=kind.summary)
        )


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Measure and print; the exit code of the kind."""
    code: int = importlib.import_module(KINDS[arguments.kind].module).run(arguments, load)
    return code
