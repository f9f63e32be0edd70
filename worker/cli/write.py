"""``python -m worker write``: the pages that stay, in the form in which they came."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.errors import CheckFailed, Refused, UsageError
from worker.cli._installed import require
from worker.cli._output_file import name_given
from worker.compose.machine import MIB, memory_limit
from worker.compose.parts import near
from worker.results.groups.keep import KEEPS

if TYPE_CHECKING:
    from worker.config import Settings
    from worker.scan.inputs.archive_ref import ArchiveRef
    from worker.scan.writing.write import ArchiveCopy

_PART: Final = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Reads once more the archives that a scan has judged, and writes a copy of each, in its own form, with the "
        "pages that stay: records of a WARC as they are, JSON lines and CSV byte for byte, Parquet with all its "
        "columns, files of folders. A copy gets its name only when it is complete; the same command, run again, goes "
        "on after the complete copies."
    )
    parser.add_argument(
        "verdicts", type=name_given, metavar="DIR", help="the folder or URL that the verdicts were written into"
    )
    parser.add_argument("--out", type=name_given, required=True, metavar="PLACE", help="a folder, or a URL of one")
    parser.add_argument(
        "--duplicates",
        choices=("drop", "tag", "revisit"),
        default="drop",
        help="drop (default): pages that do not stay are left out, and of a WARC the requests and metadata that belong "
        "to them; all its other records stay. tag: all pages are written, with the fields dedup_verdict and "
        "dedup_duplicate_of, in a WARC Dedup-Verdict and Dedup-Duplicate-Of on those that would go. revisit: a WARC "
        "has a revisit record in place of each, with its requests and metadata",
    )
    parser.add_argument(
        "--keep",
        choices=KEEPS,
        default="first",
        help="the page of a group that stays: the first one (default), the one with the most words, the one fetched "
        "last, the one that the others call canonical, or the one with the shortest URL; if it is not near to all "
        "others, the first one stays, too",
    )
    parser.add_argument(
        "--removed", type=name_given, metavar="PLACE", help="also write the pages that do not stay, to this place"
    )
    parser.add_argument(
        "--part",
        type=_part,
        default=(1, 1),
        metavar="I/N",
        help="write the archives I, I+N, I+2N and so on: N machines, each with its own I, write all of them",
    )
    parser.add_argument(
        "--moved",
        action="append",
        type=_move,
        default=[],
        metavar="OLD=NEW",
        help="archives whose names begin with OLD now begin with NEW; repeatable",
    )


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """0 when all copies are whole.

    Raises:
        CheckFailed: a page could not be read a second time.
        UsageError: there are no such verdicts, an archive is not there, or the options do not go together.
        Refused: memory does not suffice, or another run has written there.
        Unavailable: an archive cannot be read to its end, or there is no room.
    """
    require("scan", "reading archives takes packages that workers do not need")
    from worker.places import Folder
    from worker.scan.summary import FILE, refs_in, unique_in
    from worker.scan.writing.staying import memory_for
    from worker.scan.writing.verdict_columns import VerdictColumns
    from worker.scan.writing.write import JudgedArchive, Writing, write_archives

    if arguments.removed is not None and arguments.duplicates == "tag":
        raise UsageError("--removed: with --duplicates tag all pages stay; leave one of the two out")
    settings = load()
    verdicts = Folder(arguments.verdicts)
    writing = Writing(
        out=Folder(arguments.out),
        removed=None if arguments.removed is None else Folder(arguments.removed),
        keep=arguments.keep,
        duplicates=arguments.duplicates,
        part=arguments.part,
        moved=dict(arguments.moved),
    )
    _refuse_same(verdicts, writing)
    found = _summary(verdicts.read(FILE), f"{verdicts}/{FILE}")
    most = settings.topics.max_message_bytes
    sources = [
        JudgedArchive(ref, partial(ref.archive, most)) for ref in (one.moved(writing.moved) for one in refs_in(found))
    ]
    columns = VerdictColumns(verdicts)
    copies = columns.rows - unique_in(found)
    needed = memory_for(columns.rows, copies, writing.keep, with_originals=writing.with_originals)
    _say(f"memory: up to {needed // MIB:,} MiB for {counted(columns.rows, 'verdict')}, plus a page or a row group")
    if needed > (limit := memory_limit().bytes):
        raise Refused(
            f"{needed // MIB:,} MiB are needed, and this process may have {limit // MIB:,}: take --keep first, which "
            "needs next to none, or a larger machine"
        )
    written = write_archives(columns, sources, writing, near(settings).near, _tell)
    print(
        f"{written.stay:,} of {counted(written.pages, 'page')} stay, in {counted(written.archives, 'archive')}"
        + (f", {written.before:,} of them whole before" if written.before else "")
        + (f"; in {counted(written.split, 'group')} two pages stay" if written.split else "")
    )
    if written.lost:
        raise CheckFailed(
            f"{counted(written.lost, 'page or record', 'pages or records')} could not be read a second time; "
            "the messages above say which: mend those files, or judge copies of them that can be read"
        )
    return 0


def _part(text: str) -> tuple[int, int]:
    """The number of the part, and of how many."""
    match = _PART.fullmatch(text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError(f"{text!r} is no part such as 1/4, the first of four")
    return int(match[1]), int(match[2])


def _move(text: str) -> tuple[str, str]:
    """The beginning of names, and the beginning that replaces it."""
    old, is_there, new = text.partition("=")
    if not old or not is_there:
        raise argparse.ArgumentTypeError(f"{text!r} does not say OLD=NEW, such as /data=s3://bucket/data")
    return old, new


def _refuse_same(verdicts: Any, writing: Any) -> None:
    places = [str(place).rstrip("/") for place in (verdicts, writing.out, writing.removed) if place is not None]
    if len(set(places)) < len(places):
        raise UsageError("DIR, --out and --removed are three places: name another one for each")


def _summary(content: bytes | None, name: str) -> dict[str, Any]:
    try:
        found = json.loads(content or b"")
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is not there or no JSON ({error}): name the folder of a result") from error
    if not isinstance(found, dict):
        raise UsageError(f"{name} is no summary: name the folder of a result")
    return found


def _tell(ref: ArchiveRef, copied: ArchiveCopy) -> None:
    _say(f"{ref.name}: {copied.stay:,} of {counted(copied.pages, 'page')} stay")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
