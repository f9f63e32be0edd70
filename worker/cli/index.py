"""``python -m worker index inspect|copy``: what the shards would be rebuilt from, read from the topic."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from worker.cli.size import in_units
from worker.cli.topology import cluster, specs
from worker.errors import CheckFailed, UsageError
from worker.operations.inspect import ShardReport, inspect
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.topic_admin import compare_topics
from worker.stream.preflight import check_topics

if TYPE_CHECKING:
    from worker.config import Settings

SUMMARY: Final = "show what the index topic holds and whether all is well, or copy it to another generation"
INSPECT: Final = "inspect"
COPY: Final = "copy"

_HEADS: Final = ("shard", "entries", "complete up to", "floor", "blocks", "damaged", "size", "writers", "to spare")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "inspect: reads the index topic from its beginning and changes nothing; workers may run meanwhile. Complete up "
        "to: the last batch whose survivors the blocks hold, -1 for none; floor: a batch up to which all has expired; "
        "to spare: batches and answers by which the logs reach back beyond the shard's replay point (negative: gone). "
        "Exit code 1 if anything is damaged or gone. copy: makes the topics of another generation and writes all "
        "entries there, in their order, for workers that go on with other settings of these two kinds; what is judged "
        "next is judged as it would have been. Stop all workers with SIGTERM first, when all pages are committed. The "
        "old workers refuse to run afterwards. Needs as much memory as the blocks take on the topic."
    )
    parser.add_argument("action", choices=(INSPECT, COPY), help="what to do")
    parser.add_argument("--to", metavar="GENERATION", help="with copy: topics.generation of the new topics")
    parser.add_argument("--shards", type=int, metavar="N", help="with copy: topics.shards there (default: as here)")
    parser.add_argument(
        "--without", type=Path, metavar="FILE", help="with copy: URLs to forget, one a line; those not found are listed"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a shard, with all writers and problems")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """0 if all is well.

    Raises:
        CheckFailed: damage or a gap was seen; the message says where.
        UsageError: arguments that do not go together.
        Refused: the topics are otherwise than the settings say.
        Unavailable: the broker or a topic is not there.
    """
    copies = arguments.action == COPY
    if copies != (arguments.to is not None) or (not copies and (arguments.shards is not None or arguments.without)):
        raise UsageError("copy needs --to GENERATION and may have --shards and --without; inspect has none of them")
    settings = load()
    if copies:
        from worker.cli import index_copy  # imports the worker, which inspect need not wait for

        return index_copy.run(arguments, settings)
    check_topics(compare_topics(client_options(settings.kafka), specs(settings)))
    with cluster(settings) as broker:
        reports = inspect(broker, range(settings.topics.shards))
    print("\n".join(as_json(reports) if arguments.json else table(reports)))
    if problems := [f"  shard {report.shard}: {problem}" for report in reports for problem in report.problems]:
        raise CheckFailed("the index needs a look:\n" + "\n".join(problems))
    return 0


def as_json(reports: Sequence[ShardReport]) -> Iterator[str]:
    """A line a shard."""
    return (json.dumps(asdict(report)) for report in reports)


def table(reports: Sequence[ShardReport]) -> Iterator[str]:
    """A line a shard, aligned, and one for all of them."""
    rows = [_HEADS, *map(_cells, reports)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
    entries = sum(report.entries for report in reports)
    size = sum(report.bytes for report in reports)
    yield f"together {entries:,} entries, {in_units(size)} on the topic"


def _cells(report: ShardReport) -> tuple[str, ...]:
    return (
        str(report.shard),
        f"{report.entries:,}",
        str(report.complete_up_to),
        str(report.floor),
        str(report.blocks),
        str(report.damaged),
        in_units(report.bytes),
        str(len(report.writers)),
        f"{report.batches_to_spare} / {report.answers_to_spare}",
    )
