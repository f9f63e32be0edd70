"""``python -m worker verdicts --job X``: the verdicts on one crawl's pages, and whether they are all; ``--jobs``:
sums."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.errors import CheckFailed, UsageError
from crawler_plugin.wire.files import replaced
from worker.cli._output_file import output_to, path_here
from worker.results.formats import CSV, FORMATS, JSONL, PARQUET, Row, write_csv, write_jsonl, write_parquet
from worker.results.jobs.account import JobAccount
from worker.results.jobs.from_topics import JobTopics, totals
from worker.results.jobs.joining import FIELD, join
from worker.results.rows import OF_JOB, OF_JOBS, job_row
from worker.stream.kafka.connection import client_options
from worker.terminal import fitted

if TYPE_CHECKING:
    from worker.config import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Prints a row for each page of the crawl that has its verdict, or is a dead letter. How many there are, and "
        "whether the crawl has published as many, goes to standard error; if not, the exit code is 1. Reads committed "
        "records only, from the beginning of the topics, and joins no group. With --jobs it prints a row for each job "
        "and spider instead, from sums that are kept for good: pages, reasons and bytes."
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--job", metavar="NAME", help="the crawl: its DEDUP_JOB, the header job of its pages")
    which.add_argument("--jobs", action="store_true", help="all crawls, a row with the sums of each")
    parser.add_argument("--spider", metavar="NAME", help="only the pages of this spider")
    parser.add_argument(
        "--follow",
        action="store_true",
        help="wait for missing verdicts; end when the crawl has ended and all of them are out",
    )
    parser.add_argument("--format", choices=FORMATS, default=JSONL, help=f"default: {JSONL}; {PARQUET} needs --out")
    parser.add_argument("--out", type=path_here, metavar="FILE", help="write the rows here instead of printing them")
    parser.add_argument(
        "--join",
        type=Path,
        metavar="ITEMS",
        help="instead of rows write these items (lines of JSON), each with the verdict on its page in the field dedup",
    )
    parser.add_argument("--on", default="url", metavar="FIELD", help="of the items: the page's URL (default: url)")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """0 if there is a row for each page that the crawl has published.

    Raises:
        CheckFailed: there are fewer, or more, or the crawl has not ended; the message says what to do.
        UsageError: options that exclude each other, or a file that cannot be read or written.
        Unavailable: no broker answers, or a topic is missing.
    """
    if arguments.join is not None and arguments.format != JSONL:
        raise UsageError(f"--join writes items as lines of JSON: leave --format {arguments.format} out")
    if arguments.format == PARQUET and arguments.out is None:
        raise UsageError("a Parquet file cannot be printed: name it with --out")
    if arguments.jobs and (arguments.spider or arguments.follow or arguments.join):
        raise UsageError("--jobs prints sums of all crawls: leave --spider, --follow and --join out, or name one --job")
    settings = load()
    if arguments.jobs:
        return _tell_sums(arguments, settings)
    topics = settings.topics
    spider = f", spider {arguments.spider}" if arguments.spider else ""
    account = JobAccount(f"job {arguments.job}{spider}")
    source = JobTopics(
        client_options(settings.kafka), topics.prefix, topics.generation, arguments.job, arguments.spider
    )
    verdicts = source.verdicts(account, follow=arguments.follow)
    said = []
    if arguments.join is not None:
        with output_to(arguments.out, arguments.join) as out:
            joined = join(arguments.join, arguments.on, verdicts, out)
        said.append(f"{joined.told:,} of {joined.items:,} items have a verdict")
        if joined.as_it_came:
            stay = counted(joined.as_it_came, "stays as it came, since it is", "stay as they came, since they are")
            said.append(f"{stay} nested too deep, or with too long a number next to an older {FIELD}")
    else:
        _write(map(job_row, verdicts), OF_JOB, arguments)
    print(*map(fitted, (*account.in_words(), *said)), sep="\n", file=sys.stderr)
    if problem := account.problem():
        raise CheckFailed(problem)
    return 0


def _tell_sums(arguments: argparse.Namespace, settings: Settings) -> int:
    topics = settings.topics
    found = totals(client_options(settings.kafka), topics.prefix, topics.generation)
    rows = (total.row() for total in found)
    if arguments.format != JSONL:
        rows = (row | {"reasons": json.dumps(row["reasons"])} for row in rows)
    _write(rows, OF_JOBS, arguments)
    print(*(fitted(line) for total in found for line in total.in_words()), sep="\n", file=sys.stderr)
    return 0


def _write(rows: Iterator[Row], names: Sequence[str], arguments: argparse.Namespace) -> None:
    if arguments.format == PARQUET:
        with replaced(arguments.out) as beside:
            write_parquet(rows, names, beside)
        return
    with output_to(arguments.out, arguments.join) as out:
        if arguments.format == CSV:
            write_csv(rows, names, out)
        else:
            write_jsonl(rows, out)
