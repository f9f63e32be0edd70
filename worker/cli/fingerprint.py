"""``python -m worker fingerprint``: records of the pages of files, for ``judge``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.errors import CheckFailed
from worker.cli._archives import (
    add_reading_options,
    bytes_in_all,
    duration,
    fields_given,
    memory_of_parsers,
    progress,
    say,
    say_what_is_read,
)
from worker.cli._installed import require
from worker.cli._output_file import name_given, place_given
from worker.stopping import AskedToStop, interrupt

if TYPE_CHECKING:
    from worker.config import Settings
    from worker.places import Folder
    from worker.scan.fingerprinting import ReadSoFar

INTERRUPTED = 130


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Reads pages as scan does and writes records, a Parquet file for each file of pages: judge needs nothing else "
        "to say which pages are near to each other. No page is compared with another, so any number of processes and "
        "machines may each read a part. Run again, it leaves complete files as they are."
    )
    parser.add_argument(
        "inputs",
        nargs="+",
        type=name_given,
        metavar="INPUT",
        help="files, folders, patterns, URLs that fsspec knows; each file gives one file of records, and so do all "
        "single pages in a folder together",
    )
    parser.add_argument(
        "--out", type=place_given, required=True, metavar="DIR|URL", help="where the records go; made if needed"
    )
    add_reading_options(parser)


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """0 when the records of all files are written, 130 if that was interrupted.

    Raises:
        CheckFailed: with ``--strict``, something could not be read.
        UsageError: an input or a folder cannot be used, or the extra ``scan`` is not installed.
        Refused: a file of that name holds other records.
        Unavailable: an input cannot be read to its end, or the disk is full.
    """
    require("scan", "reading archives takes packages that workers do not need")
    from worker.scan.fingerprinting import fingerprint
    from worker.scan.inputs.fields import Fields
    from worker.scan.inputs.find import find_archives

    asked = AskedToStop()
    asked.tell(interrupt)  # a server may take a file's request and never answer it
    settings = load()
    target: Folder = arguments.out
    archives = find_archives(
        arguments.inputs,
        Fields(**fields_given(arguments)),
        most_bytes=settings.topics.max_message_bytes,
        without=Path(target.where) if target.is_here else None,
        follow_links=arguments.follow_links,
    )
    asked.tell(lambda: None)
    say_what_is_read(archives)
    say(f"memory: {memory_of_parsers(settings)}")
    size = bytes_in_all(archives)
    line: Callable[[ReadSoFar, ReadSoFar, float], str] = partial(_how_far, size=size)
    with progress(line) as tell:
        found = fingerprint(archives, settings, target, asked.by_now, tell)
    if found is None:
        say("stopped; the same command goes on with the file that was not whole")
        return INTERRUPTED
    whole = f"; {counted(found.whole, 'file was', 'files were')} whole before" if found.whole else ""
    print(f"{counted(found.records, 'record')} in {counted(found.files, 'file')}{whole}: all is in {target}")
    if arguments.strict and found.dead:
        raise CheckFailed(
            f"{counted(found.dead, 'page or record', 'pages or records')} could not be read: `judge` lists them in "
            "dead-letters.jsonl"
        )
    return 0


def _how_far(done: ReadSoFar, before: ReadSoFar, seconds: float, size: int | None) -> str:
    rate = (done.records - before.records) / max(seconds, 1e-3)
    said = [
        counted(done.files + done.whole, "file"),
        counted(done.records, "record"),
        f"{rate:,.0f} a second",
    ]
    read = done.bytes - before.bytes
    if size:
        said.append(f"{min(1.0, done.bytes / size):.0%} of the files' bytes")
        if read:
            said.append(f"{duration((size - done.bytes) * seconds / read)} left")
    return ", ".join(said)
