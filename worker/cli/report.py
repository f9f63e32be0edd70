"""``python -m worker report``: a page for people that shows what a scan, or a crawl, has found."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawler_plugin.wire.errors import UsageError
from worker.cli._output_file import path_here
from worker.cli.groups import add_source, verdicts

if TYPE_CHECKING:
    from worker.config import Settings
    from worker.results.report.samples import TextsOf


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Writes report.html into the folder of a scan: one file that loads nothing from anywhere. If the scanned files "
        "are still there, it shows pairs of pages side by side."
    )
    add_source(parser)
    parser.add_argument(
        "--out", type=path_here, metavar="FILE", help="write the report here instead of next to the verdicts"
    )


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """0 when the report is written.

    Raises:
        UsageError: there are no such verdicts, they were made by other settings, or the file cannot be written.
        Unavailable: no broker answers, or the topic is missing.
    """
    from worker.results.report.report import REPORT, write_report

    settings = load()
    with verdicts(arguments, settings) as path:
        given: Path = arguments.verdicts or path
        folder = given if given.is_dir() else given.parent
        out: Path = arguments.out or (Path(REPORT) if arguments.topic else folder / REPORT)
        name = f"{settings.topics.prefix}verdicts" if arguments.topic else folder.resolve().name
        texts = None if arguments.topic else _texts_of(folder, settings)
        try:
            write_report(path, out, settings, texts, name=name, sketched=not arguments.topic)
        except OSError as error:
            raise UsageError(f"{out} cannot be written ({error.strerror}): name another file with --out") from error
    print(out)
    return 0


def _texts_of(folder: Path, settings: Settings) -> TextsOf | None:
    """Reads the pages of the scan again; None, with a message, if its files cannot be found."""
    from worker.scan.summary import FILE
    from worker.scan.texts_again import TextsAgain

    try:
        scanned: dict[str, Any] = json.loads((folder / FILE).read_bytes())
        return TextsAgain(_archives(scanned["archives"], folder, settings), settings)
    except (OSError, ValueError, KeyError, TypeError, RecursionError, ImportError, UsageError) as error:
        print(f"no pages are shown side by side, since the scanned files are not found: {error}", file=sys.stderr)
        return None


def _archives(scanned: list[dict[str, Any]], folder: Path, settings: Settings) -> list[Any]:
    from worker.scan.inputs.fields import Fields
    from worker.scan.inputs.files import NO_FILES
    from worker.scan.inputs.find import find_archives

    most = settings.topics.max_message_bytes
    # Of files found behind links, only pages that the scan has judged are read.
    found = {
        archive.name: archive
        for each in scanned
        if each["form"] != NO_FILES
        for archive in find_archives(
            [each["name"]], Fields.of(each["fields"]), most_bytes=most, without=folder, follow_links=True
        )
    }
    return list(found.values())
