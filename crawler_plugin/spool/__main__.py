"""``python -m crawler_plugin.spool FILE``: sends the pages of a spool to Kafka without a crawl.

Exit codes are those of ``worker.errors``: 0 all are sent; 1 some were passed over; 2 usage or settings; 3 the broker,
the topic or the file is not there or not free, try again. What is not sent stays in the file.
"""

from __future__ import annotations

import argparse
import logging
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

from scrapy.settings import Settings
from scrapy.utils.project import get_project_settings

from crawler_plugin.catalogue import PREFIX
from crawler_plugin.publishing.connection import producer_options
from crawler_plugin.publishing.outbox import Report
from crawler_plugin.publishing.publisher import Publisher
from crawler_plugin.settings import PluginSettings
from crawler_plugin.spool.file import Spool, named
from worker.errors import CheckFailed, Stop, Unavailable, UsageError

PROGRAM: Final = "python -m crawler_plugin.spool"
SUMMARY: Final = "send the pages of a crawl's spool to Kafka"
INTERRUPTED: Final = 130
SAY_S: Final = 5.0
_log = logging.getLogger("crawler_plugin.spool")


class _Parser(argparse.ArgumentParser):
    """Raises ``UsageError`` for a wrong command line."""

    def error(self, message: str) -> NoReturn:
        """Raise it, with where to read on."""
        raise UsageError(f"{message}; see {self.prog} --help")


def main(argv: Sequence[str]) -> int:
    """Send what the file holds; the exit code."""
    logging.basicConfig(format="%(message)s", level=logging.INFO, stream=sys.stderr)
    try:
        arguments = _parser().parse_args(argv)
        _send(arguments.file, _settings(arguments.set), arguments.timeout)
    except Stop as stop:
        print(f"spool: error: {stop}", file=sys.stderr)
        return stop.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _parser() -> _Parser:
    parser = _Parser(
        prog=PROGRAM,
        description=f"{SUMMARY.capitalize()}. What Kafka has confirmed leaves the file, and an empty file is removed.",
        epilog="The settings are those of the Scrapy project in whose folder this runs (scrapy.cfg, or the module that "
        "SCRAPY_SETTINGS_MODULE names); without a project, their defaults.",
        allow_abbrev=False,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="what a crawl has named as its spool")
    parser.add_argument(
        "-s", "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting, as scrapy crawl takes it"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="how long to go on while Kafka confirms nothing (default: 60)",
    )
    return parser


def _settings(told: Sequence[str]) -> PluginSettings:
    settings: Settings = get_project_settings()
    for each in told:
        name, is_told, value = each.partition("=")
        if not is_told or not name.startswith(PREFIX):
            raise UsageError(f"-s {each}: write {PREFIX}…=VALUE")
        settings.set(name, value, priority="cmdline")
    return PluginSettings.read(settings)


def _send(file: Path, settings: PluginSettings, timeout: float) -> None:
    if not file.is_file():
        raise UsageError(f"{file}: no such file; name the spool as the crawl's last lines do")
    try:
        spool = Spool.open(file, limit=0)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}; it must be readable and writable here") from error
    for line in named(spool.damaged, file):
        _log.warning(line)
    try:
        refused = _publish(spool, settings, timeout) if spool.left else 0
    finally:
        left = spool.left
        spool.close()
    if left:
        raise Unavailable(
            f"{left} pages stay in {file}: Kafka has confirmed nothing for {timeout:g} s. See that the broker at "
            f"{','.join(settings.bootstrap_servers)} runs and has the topic {settings.topic}, and run this again"
        )
    if spool.damaged or refused:
        raise CheckFailed(
            f"{len(spool.damaged)} damaged places and {refused} pages that are too large for {settings.topic} were "
            "passed over, as the lines above say; the rest is sent and the file is removed. Crawl those pages again"
        )


def _publish(spool: Spool, settings: PluginSettings, timeout: float) -> int:
    """Send until nothing is left or nothing is confirmed any more; how many pages were refused for their size."""
    options = producer_options(
        bootstrap_servers=settings.bootstrap_servers,
        max_page_bytes=settings.max_page_bytes,
        compression=settings.compression,
        connection=settings.connection,
    )
    news = threading.Event()
    publisher = Publisher(
        options, settings.topic, news.set, cuts=settings.oversize == "truncate", spool=spool, jobs=settings.jobs
    )
    total = Report()
    _log.info("%d pages in %s go to %s", spool.left, spool.path, settings.topic)
    publisher.start()
    try:
        _wait_for(publisher, spool, news, total, timeout)
    finally:
        publisher.finish(0)
        publisher.wait_for_end()
        _add_up(total, publisher.collect())
        publisher.mark_sent()
        spool.keep_marks(publisher.marks.due(at_the_end=True))
        _log.info("%d pages sent, %d left", total.confirmed, spool.left)
    return len(total.refused)


def _wait_for(publisher: Publisher, spool: Spool, news: threading.Event, total: Report, timeout: float) -> None:
    heard_at = said_at = time.monotonic()
    while publisher.has_work and time.monotonic() - heard_at < timeout:
        news.wait(0.5)
        news.clear()
        if _add_up(total, publisher.collect()):
            heard_at = time.monotonic()
        if isinstance(publisher.found_wanting, UsageError):
            raise publisher.found_wanting
        if time.monotonic() - said_at > SAY_S:
            said_at = time.monotonic()
            _log.info("%d pages sent, %d left", total.confirmed, spool.left)


def _add_up(total: Report, report: Report) -> bool:
    """Whether a page is done with."""
    total.confirmed += report.confirmed
    total.refused += report.refused
    for page in report.refused:
        _log.warning("%s: %d bytes are too large for the topic, the page is left out", page.url, page.size)
    for notice in report.notices:
        _log.log(logging.WARNING if notice.is_trouble else logging.INFO, notice.message)
    return bool(report.confirmed or report.refused)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
