"""``python -m crawler_plugin.spool FILE``: sends the pages of a spool to Kafka without a crawl.

They go where the crawl that left them would have sent them, as the spool says, whatever the settings in the current
folder are. The command refuses another destination on the command line, since a spool that is sent is removed;
``--elsewhere`` confirms that another destination is meant.

Exit codes are those of ``crawler_plugin.wire.errors``: 0 all pages are sent; 1 some pages were passed over; 2 usage or
settings; 3 the broker, the topic or the file is not there or not free, try again. Pages that are not sent stay in the
file.
"""

from __future__ import annotations

import argparse
import logging
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

from scrapy.settings import Settings
from scrapy.utils.project import get_project_settings

from crawler_plugin.config.catalogue import PREFIX
from crawler_plugin.config.settings import PluginSettings
from crawler_plugin.publishing.connection import producer_options
from crawler_plugin.publishing.outbox import Report
from crawler_plugin.publishing.publisher import Publisher
from crawler_plugin.spool.file import Spool, named
from crawler_plugin.spool.records import Destination
from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.errors import CheckFailed, Stop, Unavailable, UsageError

PROGRAM: Final = "python -m crawler_plugin.spool"
SUMMARY: Final = "send the pages of a crawl's spool to Kafka"
INTERRUPTED: Final = 130
SAY_S: Final = 5.0
_log = logging.getLogger("crawler_plugin.spool")


class _Parser(argparse.ArgumentParser):
    """Raises ``UsageError`` for a wrong command line."""

    def error(self, message: str) -> NoReturn:
        """Raise the error, with the place to read on."""
        raise UsageError(f"{message}; see {self.prog} --help")


def main(argv: Sequence[str]) -> int:
    """Send the pages in the file; returns the exit code."""
    logging.basicConfig(format="%(message)s", level=logging.INFO, stream=sys.stderr)
    try:
        arguments = _parser().parse_args(argv)
        _send(arguments)
    except Stop as stop:
        print(f"spool: error: {stop}", file=sys.stderr)
        return stop.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _parser() -> _Parser:
    parser = _Parser(
        prog=PROGRAM,
        description=f"{SUMMARY.capitalize()}. Pages that Kafka has confirmed leave the file, and an empty file is "
        "removed.",
        epilog="Brokers and topic are those to which the crawl was to publish. All other settings are those of the "
        "Scrapy project in whose folder this runs (scrapy.cfg, or the module that SCRAPY_SETTINGS_MODULE names); "
        "without a project, their defaults.",
        allow_abbrev=False,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the file that a crawl has named as its spool")
    parser.add_argument(
        "-s", "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting, as scrapy crawl takes it"
    )
    parser.add_argument(
        "--elsewhere",
        action="store_true",
        help="send them to the brokers and the topic of the settings, not to those of the crawl: they have moved",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="how long to go on while Kafka confirms nothing (default: 60)",
    )
    return parser


class _Told(NamedTuple):
    """The settings, and the names of those that come from the command line."""

    settings: PluginSettings
    names: frozenset[str]


def _told(told: Sequence[str]) -> _Told:
    settings: Settings = get_project_settings()
    names = set()
    for each in told:
        name, is_told, value = each.partition("=")
        if not is_told or not name.startswith(PREFIX):
            raise UsageError(f"-s {each}: write {PREFIX}…=VALUE")
        settings.set(name, value, priority="cmdline")
        names.add(name)
    return _Told(PluginSettings.read(settings, are_merged=False), frozenset(names))


def _send(arguments: argparse.Namespace) -> None:
    file, timeout = arguments.file, arguments.timeout
    told = _told(arguments.set)
    if not file.is_file():
        raise UsageError(f"{file}: no such file; name the spool as the crawl's last lines do")
    try:
        spool = Spool.open(file, limit=0)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}; it must be readable and writable here") from error
    for line in named(spool.damaged, file):
        _log.warning(line)
    try:
        to = _destination(spool, told, is_elsewhere=arguments.elsewhere)
        refused = _publish(spool, told.settings, to, timeout) if spool.left else 0
    finally:
        left = spool.left
        spool.close()
    if left:
        raise Unavailable(
            f"{counted(left, 'page stays', 'pages stay')} in {file}: Kafka has confirmed nothing for "
            f"{timeout:g} s. See that the broker at {','.join(to.servers)} runs and has the topic {to.topic}, and "
            f"run this again; if they have moved, with -s DEDUP_BOOTSTRAP_SERVERS=… and --elsewhere"
        )
    if spool.damaged or refused:
        raise CheckFailed(
            f"passed over, as the lines above say: {counted(len(spool.damaged), 'damaged place')} and "
            f"{counted(refused, 'page')} too large for {to.topic}. The rest is sent and the file is removed. "
            "Crawl those pages again"
        )


def _destination(spool: Spool, told: _Told, *, is_elsewhere: bool) -> Destination:
    """Where the pages go.

    Raises:
        UsageError: the command line names another destination than the spool.
    """
    settings = told.settings
    by_settings = Destination(settings.topic, settings.jobs, settings.bootstrap_servers)
    if is_elsewhere or not spool.destinations:
        return by_settings
    to = spool.destinations[-1]
    named = sorted({"DEDUP_BOOTSTRAP_SERVERS", "DEDUP_TOPIC_PREFIX"} & told.names)
    asked = Destination(
        settings.topic if "DEDUP_TOPIC_PREFIX" in told.names else to.topic,
        to.jobs,
        settings.bootstrap_servers if "DEDUP_BOOTSTRAP_SERVERS" in told.names else to.servers,
    )
    if not asked.is_that_of(to):
        raise UsageError(
            f"the pages in {spool.path} are to go to {to}, and not to {asked}; leave out "
            f"{' and '.join(named)}, or add --elsewhere if that is where they belong now"
        )
    jobs = sorted({each.job for each in spool.destinations if each.job is not None})
    if "DEDUP_JOB" in told.names and settings.job not in jobs:
        raise UsageError(
            f"the pages in {spool.path} belong to {', '.join(jobs)}, and their job cannot be changed; "
            "leave out DEDUP_JOB"
        )
    return to.at(asked.servers)


def _publish(spool: Spool, settings: PluginSettings, to: Destination, timeout: float) -> int:
    """Send until nothing is left or nothing is confirmed any more; returns how many pages were refused for their
    size."""
    options = producer_options(
        bootstrap_servers=to.servers,
        max_page_bytes=settings.max_page_bytes,
        compression=settings.compression,
        connection=settings.connection,
    )
    news = threading.Event()
    publisher = Publisher(options, to.topic, news.set, cuts=settings.oversize == "truncate", spool=spool, jobs=to.jobs)
    total = Report()
    _log.info("%d pages in %s go to %s", spool.left, spool.path, to)
    publisher.start()
    try:
        _wait_for(publisher, spool, news, total, timeout)
    finally:
        publisher.finish(0)
        publisher.wait_for_end()
        publisher.give_up()
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
    """Add a report to the total; whether a page is done with."""
    total.confirmed += report.confirmed
    total.refused += report.refused
    for page in report.refused:
        _log.warning("%s: %d bytes are too large for the topic, the page is left out", page.url, page.size)
    for notice in report.notices:
        _log.log(logging.WARNING if notice.is_trouble else logging.INFO, notice.message)
    return bool(report.confirmed or report.refused)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
