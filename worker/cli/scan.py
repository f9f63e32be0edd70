"""``python -m worker scan``: verdicts on the pages of files, without Kafka."""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.errors import CheckFailed, UsageError
from crawler_plugin.wire.files import replaced
from worker.cli._archives import (
    add_earlier_options,
    add_reading_options,
    bytes_in_all,
    duration,
    fields_given,
    memory_of_index,
    memory_of_parsers,
    progress,
    say,
    say_what_is_read,
    states_given,
)
from worker.cli._installed import require
from worker.cli._output_file import name_given, path_here
from worker.stopping import AskedToStop, interrupt
from worker.terminal import aligned, fitted

if TYPE_CHECKING:
    from worker.config import Settings
    from worker.scan.inputs.fields import Fields
    from worker.scan.inputs.records import Archive
    from worker.scan.scan import Done

INTERRUPTED: Final = 130
STANDARD_INPUT: Final = "standard-input"
"""Input from there was read once; a second reading needs a file."""
_SECONDS: Final = {True: 0.5, False: 10.0}
"""Seconds between two progress lines of the scan, on a terminal and elsewhere."""
_log = logging.getLogger(__name__)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Reads pages out of WARC, ARC, WACZ, JSON lines and arrays, CSV, Parquet, HTML, MHTML and text files, judges "
        "them in their order as workers on Kafka would, and writes into DIR: verdicts.jsonl and verdicts.parquet (a "
        "row a page), dead-letters.jsonl, summary.json and report.html. The content of a file says what it is, not its "
        "name; it may be compressed (gzip, zstd, xz, bzip2). The same files and settings give the same result, however "
        "many processes parse."
    )
    parser.add_argument(
        "inputs",
        nargs="+",
        type=name_given,
        metavar="INPUT",
        help="files, folders, patterns, URLs that fsspec knows; - is standard input",
    )
    parser.add_argument(
        "--out", type=path_here, required=True, metavar="DIR", help="where the result goes; made if needed"
    )
    parser.add_argument("--write", choices=("unique",), help="also write the pages that stay, in the form they came in")
    add_earlier_options(parser, "files")
    add_reading_options(parser)
    parser.add_argument("--resume", action="store_true", help="go on where a scan into the same folder was interrupted")
    parser.add_argument("--no-report", action="store_true", help="do not write report.html")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """0 when all pages are judged, 130 if that was interrupted.

    Raises:
        CheckFailed: a page that stays could not be written; or with ``--strict``, an input could not be read.
        UsageError: an input or a folder cannot be used, or the extra ``scan`` is not installed.
        Refused: a state or an interrupted scan cannot be continued, or memory does not suffice.
        Unavailable: an input cannot be read to its end, or the disk is full.
    """
    require("scan", "reading archives takes packages that workers do not need")
    from worker.scan.scan import begun, scan

    asked = AskedToStop()
    asked.tell(interrupt)  # a server may take a file's request and never answer it
    settings = load()
    folder: Path = arguments.out
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {folder}: cannot be made ({error.strerror}); name another folder") from error
    plan = begun(folder, arguments.resume)
    try:
        task = _task(arguments, settings, is_begun=plan is not None)
    except OSError as error:
        name = str(error.filename)
        shown = name if len(name) < 200 else f"{name[:200]}..."
        raise UsageError(
            f"{shown} cannot be looked at ({error.strerror}): name a file or folder that this program can read"
        ) from error
    asked.tell(lambda: None)
    say_what_is_read(task.archives)
    say(f"{memory_of_index(settings)}; {memory_of_parsers(settings)}")
    size = bytes_in_all(task.archives)
    found = None
    line: Callable[[Done, Done, float], str] = partial(_how_far, size=size)
    with progress(line) as tell, suppress(KeyboardInterrupt):
        found = scan(task, settings, plan, asked.by_now, tell, lambda: asked.tell(interrupt))
    if found is None:
        say("stopped; the same command with --resume goes on from here")
        return INTERRUPTED
    if not arguments.no_report:
        from worker.results.report.report import REPORT, write_report
        from worker.scan.texts_again import TextsAgain

        try:
            write_report(folder, folder / REPORT, settings, TextsAgain(task.new, settings))
        except KeyboardInterrupt:
            say(f"stopped; the scan is complete, and `python -m worker report {folder}` writes its report")
            return INTERRUPTED
        except Exception as error:  # whatever the error is, all verdicts are there
            _log.error("the report could not be written", exc_info=error)
            say(
                f"the scan is complete, but its report could not be written ({type(error).__name__}: {error}): "
                f"`python -m worker report {folder}` tries again; --no-report leaves it out"
            )
    (folder / STANDARD_INPUT).unlink(missing_ok=True)
    files = ", ".join(sorted(file.name for file in folder.iterdir()))
    print(fitted("\n".join(lines_of(found, f"{folder}: {files}"))))
    if found["not_written"]:
        raise CheckFailed(
            f"{counted(found['not_written'], 'page that stays', 'pages that stay')} could not be written to "
            f"{folder}/unique; the messages above say which: mend those files, or scan copies of "
            "them that can be read with all columns"
        )
    dead = _dead(found)
    if arguments.strict and dead:
        raise CheckFailed(
            f"{counted(dead, 'page or record', 'pages or records')} could not be read: "
            f"{folder}/dead-letters.jsonl says which, and why"
        )
    return 0


def _task(arguments: argparse.Namespace, settings: Settings, *, is_begun: bool) -> Any:
    from worker.scan.inputs.fields import Fields
    from worker.scan.inputs.find import find_archives
    from worker.scan.scan import Task

    chosen = fields_given(arguments)
    states = states_given(arguments)
    most = settings.topics.max_message_bytes

    standard_input = arguments.out / STANDARD_INPUT
    if "-" in (*arguments.against, *arguments.inputs) and not (is_begun and standard_input.exists()):
        _keep_standard_input(standard_input)

    def found(names: Sequence[str]) -> list[Archive]:
        fields: Fields = Fields(**chosen)
        here = [str(standard_input) if name == "-" else name for name in names]
        if not here:
            return []
        follows: bool = arguments.follow_links
        return find_archives(here, fields, most_bytes=most, without=arguments.out, follow_links=follows)

    return Task(
        folder=arguments.out,
        old=found(arguments.against),
        new=found(arguments.inputs),
        fields=chosen | {"follow_links": "yes" if arguments.follow_links else None},
        states=states,
        keeps=arguments.state is not None,
        write=arguments.write is not None,
    )


def _keep_standard_input(file: Path) -> None:
    """Copy standard input into a file, since it may have to be read again.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        with replaced(file) as beside, beside.open("wb") as target:
            shutil.copyfileobj(sys.stdin.buffer, target)
    except OSError as error:
        raise UsageError(
            f"standard input cannot be kept in {file.parent} ({error.strerror}): make room there"
        ) from error


def _how_far(done: Done, before: Done, seconds: float, size: int | None) -> str:
    """In a line: counts, rate, share, time left. ``seconds`` have passed since ``before``."""
    rate = (done.pages - before.pages) / max(seconds, 1e-3)
    read = done.bytes - before.bytes
    parts = [counted(done.pages, "page"), f"{done.copies:,} of them copies", f"{rate:,.0f} a second"]
    if done.broken:
        parts.insert(2, counted(done.broken, "record not readable", "records not readable"))
    if size:
        parts.append(f"{min(1.0, done.bytes / size):.0%} of the files")
        if read:
            parts.append(f"{duration((size - done.bytes) * seconds / read)} left")
    return ", ".join(parts)


def lines_of(found: dict[str, Any], where: str) -> Iterator[str]:
    """The lines for people at the end."""
    pages = found["pages"]
    yield counted(pages, "page")
    rows = [(f"{count:,}", f"{count / max(1, pages):.1%}", kind) for kind, count in found["verdicts"].items()]
    for name, what in (
        ("dead_pages", "of them dead"),
        ("dead_letters", "records that no page could be read from"),
        ("passed_over", "records passed over"),
    ):
        rows += [(f"{count:,}", "", f"{what}: {reason}") for reason, count in found[name].items()]
    if dead := _dead(found):
        rows.append((f"{dead:,}", "", "dead letters in all, of these pages and records: dead-letters.jsonl names each"))
    yield from aligned(rows, right=(0, 1), indent="  ")
    yield f"all is in {where}"


def _dead(found: dict[str, Any]) -> int:
    """Pages and records that could not be read."""
    dead: int = sum(found["dead_pages"].values()) + sum(found["dead_letters"].values())
    return dead
