"""``python -m worker judge``: verdicts on the pages of records."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from crawler_plugin.wire.errors import UsageError
from worker.cli._archives import add_earlier_options, duration, memory_of_index, progress, say, states_given
from worker.cli._installed import require
from worker.cli._output_file import name_given, place_given
from worker.cli.scan import lines_of

if TYPE_CHECKING:
    from worker.config import Settings
    from worker.scan.judging import Judged


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Judges pages by records, which fingerprint has written, or a program that calls worker.records.fingerprint. "
        "Takes them in the order of the files' names and of the rows in them, and writes into DIR: verdicts/*.parquet, "
        "dead-letters.jsonl, summary.json. The same records and settings give the same verdicts, and scan gives these, "
        "too. No page is read again, so another threshold or predicate takes microseconds a page."
    )
    parser.add_argument(
        "inputs", nargs="+", type=name_given, metavar="RECORDS", help="files, folders, patterns, URLs that fsspec knows"
    )
    parser.add_argument(
        "--out", type=place_given, required=True, metavar="DIR|URL", help="where the result goes; made if needed"
    )
    parser.add_argument(
        "--order",
        choices=("files", "fetched"),
        default="files",
        help="fetched: judge pages in the order in which they were fetched, those without a known fetch time last "
        "(default: in the order of the files and rows)",
    )
    add_earlier_options(parser, "records")
    parser.add_argument(
        "--lines",
        action="store_true",
        help="also write verdicts.jsonl, a line a page; needs an --out on this machine",
    )


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """0 when all pages are judged.

    Raises:
        UsageError: an input or a folder cannot be used, or the extra ``scan`` is not installed.
        Refused: records or a state were made with other settings, or memory does not suffice.
        Unavailable: an input cannot be read to its end, or the disk is full.
    """
    require("scan", "reading records takes packages that workers do not need")
    from worker.scan.judging import JudgeTask, judge, record_files

    settings = load()
    if arguments.lines and not arguments.out.is_here:
        raise UsageError("--lines needs an --out on this machine: leave it out, or name a folder here")
    states = states_given(arguments)
    task = JudgeTask(
        target=arguments.out,
        old=record_files(arguments.against),
        new=record_files(arguments.inputs),
        states=states,
        keeps=arguments.state is not None,
        by_fetch_time=arguments.order == "fetched",
        lines=arguments.lines,
    )
    say(memory_of_index(settings, task.records))
    with progress(_how_far) as tell:
        found = judge(task, settings, tell)
    print("\n".join(lines_of(found, str(arguments.out))))
    return 0


def _how_far(done: Judged, before: Judged, seconds: float) -> str:
    rate = (done.records - before.records) / max(seconds, 1e-3)
    said = f"{done.records:,} of {done.in_all:,} records, {done.copies:,} of them copies, {rate:,.0f} a second"
    return f"{said}, {duration((done.in_all - done.records) / rate)} left" if rate else said
