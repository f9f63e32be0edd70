"""The common parts of commands that read archives or their records."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from crawler_plugin.wire.errors import UsageError
from worker.cli._output_file import name_given, path_here
from worker.compose.machine import MIB, PARSER_BYTES, index_memory, memory_limit, parsers
from worker.index.layout import Layout
from worker.stream.shard.memory_limit import expected_bytes
from worker.terminal import fitted

if TYPE_CHECKING:
    from worker.config import Settings
    from worker.scan.inputs.records import Archive

_SECONDS: Final = {True: 0.5, False: 10.0}
"""Seconds between two progress lines, on a terminal and elsewhere."""
Done = TypeVar("Done")


def add_earlier_options(parser: argparse.ArgumentParser, what: str) -> None:
    """Options that name earlier pages: as a state, or as ``what``, files or records."""
    parser.add_argument(
        "--against",
        action="append",
        type=name_given,
        default=[],
        metavar="OLD",
        help=f"earlier pages, as {what} or as a state: new pages are compared with them, too, and they get no verdict; "
        "repeatable",
    )
    parser.add_argument(
        "--state",
        type=path_here,
        metavar="DIR",
        help="begin with the pages that this state has seen, and keep all pages seen there",
    )


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """Options that say how archives are read, and what their columns and fields hold."""
    parser.add_argument(
        "--follow-links",
        action="store_true",
        help="also follow symbolic links within folders and patterns; a file or folder that you name is read in any "
        "case",
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit code 1 if any page or record could not be read (dead letters)"
    )
    columns = parser.add_argument_group("columns", "of JSON, CSV and Parquet; guessed names are printed")
    for role, what in (
        ("url", "the page's URL"),
        ("body", "its HTML"),
        ("text", "its main text, if that was taken out already"),
        ("id", "your own id for it"),
    ):
        columns.add_argument(f"--{role}-field", metavar="NAME", help=what)
    columns.add_argument(
        "--encoding",
        metavar="NAME",
        help="of JSON and CSV that are not in UTF-8; UTF-16 is recognized, and the encoding of cells of a CSV is "
        "guessed",
    )


def fields_given(arguments: argparse.Namespace) -> dict[str, str | None]:
    """The values of these options, as ``worker.scan.inputs.fields.Fields``.

    Raises:
        UsageError: an unknown encoding.
    """
    from worker.scan.inputs.transcoding import named_encoding

    chosen = {role: getattr(arguments, f"{role}_field") for role in ("url", "body", "text", "id")}
    chosen["file_encoding"] = None if arguments.encoding is None else named_encoding(arguments.encoding)
    return chosen


def states_given(arguments: argparse.Namespace) -> list[Path]:
    """The folders of states that were named, first the one that keeps new pages; the others stay in ``against``.

    Raises:
        UsageError: one of them is named twice.
    """
    from worker.scan.judge.base_state import is_state

    found = [arguments.state] if arguments.state else []
    found += [Path(name) for name in arguments.against if is_state(Path(name))]
    arguments.against = [name for name in arguments.against if not is_state(Path(name))]
    places = [folder.resolve() for folder in found]
    if twice := [folder for number, folder in enumerate(found) if places[number] in places[:number]]:
        raise UsageError(
            f"the state {twice[0]} is named twice: name it once, with --state if it is to keep these pages"
        )
    return found


def say_what_is_read(archives: Sequence[Archive]) -> None:
    """One line for each archive on standard error, with the columns that were chosen."""
    for archive in archives:
        chosen = [f"{role} from {column}" for role, column in archive.fields.items() if role != "file_encoding"]
        chosen += [f"in {archive.fields['file_encoding']}"] if "file_encoding" in archive.fields else []
        say("; ".join((f"{archive.name}: {archive.form}", *([", ".join(chosen)] if chosen else []))))


def memory_of_index(settings: Settings, records: int | None = None) -> str:
    """The memory that the index takes at most, and for ``records`` if each of them survives."""
    tables = len(Layout(settings.index.layout).arrangements)
    each = expected_bytes(tables, settings.near.predicate == "accurate")
    mib = index_memory(settings, memory_limit()).mib
    index = f"up to {mib:,} MiB for the index, room for {mib * MIB // each:,} survivors or more" if mib else "no limit"
    needed = "" if records is None else f"; {records:,} records take {records * each // MIB:,} MiB if none is a copy"
    return f"memory: {index} (index.memory_mb){needed}"


def memory_of_parsers(settings: Settings) -> str:
    """The memory that the parsers take."""
    return (
        f"{parsers(settings)} parsing processes of {PARSER_BYTES // MIB} MiB, each with up to "
        f"{settings.page.memory_mb} MiB for a page (page.memory_mb)"
    )


def bytes_in_all(archives: Sequence[Archive]) -> int | None:
    """Bytes of the stored archives; None if one size is unknown."""
    sizes = [archive.bytes_in_all for archive in archives]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


@contextmanager
def progress(
    line: Callable[[Done, Done, float], str], clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[Done], None]]:
    """Shows people the progress of a command on standard error.

    Args:
        line: makes the text from the progress, the progress at the first call, and the seconds since then.
    """
    on_terminal = sys.stderr.isatty()
    first: tuple[float, Done] | None = None
    told = 0.0

    def tell(done: Done) -> None:
        nonlocal first, told
        now = clock()
        if first is None:  # before that, processes start
            first, told = (now, done), now
        if now - told < _SECONDS[on_terminal]:
            return
        told = now
        words = line(done, first[1], now - first[0])
        if on_terminal:  # where a second line would stay
            words = fitted(words).split("\n")[0]
        print(
            f"\r\033[K{words}" if on_terminal else words, end="" if on_terminal else "\n", file=sys.stderr, flush=True
        )

    try:
        yield tell
    finally:
        if on_terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """In words."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def say(line: str) -> None:
    """On standard error, at once."""
    print(fitted(line), file=sys.stderr, flush=True)
