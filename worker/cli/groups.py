"""``python -m worker groups``: the pages that a scan, or a crawl, found to be near to each other, group by group."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.errors import Unavailable, UsageError
from worker.cli._output_file import output_to, path_here
from worker.compose.parts import near
from worker.places import Folder
from worker.results.groups.group_lines import Written, write_groups
from worker.results.groups.keep import KEEPS
from worker.results.groups.verdict_lines import VerdictLines
from worker.results.rows import DEAD_LETTERS, VERDICTS
from worker.terminal import fitted

if TYPE_CHECKING:
    from worker.config import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Prints a line of JSON for each group: the page that is kept, then the pages that are near to it, each with "
        "its distance and similarity to the kept one. A sentence about all groups goes to standard error."
    )
    add_source(parser)
    parser.add_argument(
        "--keep",
        choices=KEEPS,
        default="first",
        help="the page of a group to keep: the first one (default), the one with the most words, the one fetched last, "
        "the one that the others call canonical, or the one with the shortest URL; pages that are not near to it are a "
        "group of their own",
    )
    parser.add_argument("--least", type=int, default=2, metavar="PAGES", help="leave smaller groups out (default: 2)")
    parser.add_argument("--out", type=path_here, metavar="FILE", help="write the lines here instead of printing them")


def add_source(parser: argparse.ArgumentParser) -> None:
    """Options that say where verdicts are read from."""
    parser.add_argument(
        "verdicts",
        nargs="?",
        type=Path,
        metavar="VERDICTS",
        help=f"{VERDICTS} of a scan, or the folder that scan or judge wrote to",
    )
    parser.add_argument("--topic", action="store_true", help="read the topic verdicts instead, as the settings name it")
    for name, which in (("--since", "from then on"), ("--until", "before")):
        parser.add_argument(
            name,
            type=moment,
            metavar="TIME",
            help=f"with --topic: pages fetched {which}, as 2026-05-01 or 2026-05-01T12:30",
        )


def moment(text: str) -> datetime:
    """A time in ISO 8601; UTC if it names no zone."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 2026-05-01 or 2026-05-01T12:30") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """0 when all groups are written.

    Raises:
        UsageError: there are no such verdicts, or they were made by other settings.
        Unavailable: no broker answers, or the topic is missing.
    """
    if arguments.least < 1:
        raise UsageError(f"--least {arguments.least}: a group has at least one page; give 1 or more")
    settings = load()
    with (
        verdicts(arguments, settings) as path,
        VerdictLines(path) as lines,
        output_to(arguments.out, lines.path) as out,
    ):
        rule = None if arguments.topic else near(settings).near
        written = write_groups(lines, out, rule, arguments.keep, arguments.least)
    print(fitted(in_words(written, arguments.keep)), file=sys.stderr)
    return 0


@contextmanager
def verdicts(arguments: argparse.Namespace, settings: Settings) -> Iterator[Path]:
    """The file with the verdicts that were asked for; a file from the topic is deleted afterwards.

    Raises:
        UsageError: neither source was asked for, or both, or a period for a source other than the topic.
    """
    if arguments.topic == (arguments.verdicts is not None):
        raise UsageError(f"give the {VERDICTS} of a scan, or --topic, and not both")
    if not arguments.topic and (arguments.since or arguments.until):
        raise UsageError("--since and --until choose from the topic: add --topic, or leave them out")
    if not arguments.topic:
        with _lines_in(arguments.verdicts) as path:
            yield path
        return
    # Reading a file needs no Kafka client.
    from crawler_plugin.wire.outcomes import Verdict
    from crawler_plugin.wire.topics import VERDICTS as TOPIC
    from worker.results.groups.topic_lines import fetched_within, write_topic
    from worker.stream.kafka.connection import client_options
    from worker.stream.kafka.output_reader import read_outputs

    topics = settings.topics
    with TemporaryDirectory() as folder:
        path = Path(folder) / VERDICTS
        outputs = read_outputs(client_options(settings.kafka), topics.prefix, (TOPIC,), topics.generation)
        records = (output for output in outputs if isinstance(output, Verdict))
        write_topic(fetched_within(records, arguments.since, arguments.until), path)
        yield path


@contextmanager
def _lines_in(place: Path) -> Iterator[Path]:
    """A file of lines, or the folder that holds it; where there are only columns, a folder with their lines, which is
    deleted afterwards."""
    if not place.is_dir() or (place / VERDICTS).exists():
        yield place
        return
    from worker.scan.results import lines_of  # only columns need pyarrow
    from worker.scan.writing.verdict_columns import VerdictColumns

    columns = VerdictColumns(Folder(str(place)))
    with TemporaryDirectory(prefix="crawl-dedup-") as folder:
        made = Path(folder)
        try:
            with (made / VERDICTS).open("wb") as lines:
                lines.writelines(lines_of(columns))
        except OSError as error:
            raise Unavailable(
                f"the lines of {place} cannot be written to {made} ({error.strerror}): set TMPDIR to a folder with room"
            ) from error
        (made / DEAD_LETTERS).symlink_to((place / DEAD_LETTERS).resolve())
        yield made


def in_words(written: Written, keep: str) -> str:
    """The results, for people."""
    said = [
        f"{counted(written.pages, 'page')}, {counted(written.groups, 'group')} with {written.grouped:,} of them, "
        f"the largest with {written.largest:,}"
    ]
    if written.split:
        said.append(
            f"{counted(written.split, 'group is', 'groups are')} split: the {keep} page is not near to all of "
            "them, and the others stay with the first one (split_from)"
        )
    if written.elsewhere:
        said.append(
            f"{counted(written.elsewhere, 'group has', 'groups have')} a page from before this scan, which is kept"
        )
    if written.dead:
        said.append(f"no group has {counted(written.dead, 'page')} that could not be read")
    return "; ".join(said)
