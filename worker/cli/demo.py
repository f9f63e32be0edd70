"""``python -m worker demo``: a crawl of its own site, through a real Kafka to verdicts; 0 only if it adds up."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from crawler_plugin.wire.errors import CheckFailed
from worker.cli._installed import require
from worker.stopping import unwound_by

WORKERS: Final = 2
MOST_WORKERS: Final = 8
"""As many as there are partitions; more would idle."""
_ENDINGS: Final = (signal.SIGTERM, signal.SIGHUP)
_SIGNALLED: Final = 128
"""Exit status after a signal, less the signal's number, as in shells."""
_WIDTH_OF_FILES: Final = 110
"""Columns if the output goes to a file or a pipe: the width of the tables and rows of bits."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments. Settings do not count: the demo runs with the default ones."""
    parser.description = (
        "Starts a Kafka broker, crawls a local site of some hundred pages with Scrapy and the plugin, lets workers "
        "that share pages and index judge them, and checks that the counts add up. It uses default settings, free "
        "ports and a folder that it deletes in the end."
    )
    parser.add_argument(
        "--workers", type=_workers, default=WORKERS, metavar="N", help="workers that share the pages (%(default)s)"
    )
    parser.add_argument(
        "--keep",
        action=argparse.BooleanOptionalAction,
        help="leave broker and workers running until Ctrl-C, and say how to look at them (the default on a terminal)",
    )


def run(arguments: argparse.Namespace, load: Callable[[], Any]) -> int:
    """0 if every page is accounted for and all repeats are found with the right verdict.

    Raises:
        CheckFailed: it does not add up.
        UsageError: the demo extra is not installed.
        Unavailable: broker, spider or worker does not start, or makes no progress.
    """
    require("demo", "the demo runs a spider and a broker")
    from worker.demo.run import Demo

    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(highlight=False, width=_WIDTH_OF_FILES)
    keep = console.is_terminal and sys.stdin.isatty() if arguments.keep is None else arguments.keep
    with _ended_in_order(), tempfile.TemporaryDirectory(prefix="crawl-dedup-demo-") as folder:
        wrong = Demo(console, Path(folder), workers=arguments.workers, keep=keep).run()
    if wrong:
        raise CheckFailed(
            "the demo does not add up:\n" + "\n".join(f"  {line}" for line in wrong) + "\nRun it again with --keep, "
            "and look at the topics and logs that it names"
        )
    return 0


def _workers(text: str) -> int:
    number = int(text)
    if not 1 <= number <= MOST_WORKERS:
        raise argparse.ArgumentTypeError(f"write a number from 1 to {MOST_WORKERS}")
    return number


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """SIGTERM, Ctrl-C and a closed terminal unwind the demo, so that its processes and its folder go with it.

    Ctrl-C is named explicitly, since a shell makes its background jobs ignore it.
    """
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with unwound_by(_ENDINGS, lambda number: sys.exit(_SIGNALLED + number)):
            yield
    finally:
        signal.signal(signal.SIGINT, interrupt)
