"""``python -m worker pardon URL``: a page that was wrongly called a duplicate survives."""

from __future__ import annotations

import argparse
import secrets
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from crawler_plugin.wire.errors import CheckFailed, Unavailable, UsageError
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.topics import DEAD_LETTERS, VERDICTS
from crawler_plugin.wire.urls import canonical_url
from worker.compose.topology import cluster
from worker.operations.pardon import last_duplicate, send_again
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.output_reader import OutputReader, read_outputs
from worker.stream.shard.live import MOST_PARDONED
from worker.verdict.decide import DEAD, DUPLICATE

if TYPE_CHECKING:
    from worker.config import Settings

_WAIT: Final = 0.5


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Finds the last verdict on the page on the topic verdicts. If it is duplicate, the page goes to the topic "
        "pages once more, as it came, with the header dedup-pardon: yes. Workers judge it like any other page, but "
        "compare it only with earlier fetches of its own URL: it survives, and is passed on. Waits for that verdict "
        "and prints it. Exit code 1 if the last verdict is another one, or the page is not on the topic any more."
    )
    parser.add_argument("url", metavar="URL", help="the page's URL, in any spelling")
    parser.add_argument("--spider", metavar="NAME", help="only verdicts on pages of this spider")
    parser.add_argument(
        "--timeout",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="how long to wait for the verdict (default: 60)",
    )


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """0 if the page survives now.

    Raises:
        CheckFailed: it was no duplicate, is no longer on ``pages``, or cannot be read.
        UsageError: the URL is invalid, or the broker refuses.
        Unavailable: the broker is not there, or no verdict came in time.
    """
    settings = load()
    topics, options = settings.topics, client_options(settings.kafka)
    try:
        url = canonical_url(arguments.url)
    except ValueError as error:
        raise UsageError(f"{arguments.url}: {error}; give the URL of a page") from error

    def wanted(headers: Mapping[str, str]) -> bool:
        try:
            return canonical_url(headers["url"]) == url and arguments.spider in (None, headers.get("spider"))
        except (KeyError, ValueError):
            return False

    found = read_outputs(options, topics.prefix, [VERDICTS], topics.generation, wanted=wanted)
    before = last_duplicate(url, (verdict for verdict in found if isinstance(verdict, Verdict)))
    print(f"{url} was called a duplicate of {before.duplicate_of} ({before.reason})", flush=True)
    outputs = VERDICTS, DEAD_LETTERS
    with OutputReader(options, topics.prefix, outputs, topics.generation, wanted, from_now=True) as reader:
        with cluster(settings) as broker:
            source = send_again(broker, before, secrets.token_hex(8))
        until = time.monotonic() + arguments.timeout
        while time.monotonic() < until:
            for verdict in reader.read(_WAIT):
                if isinstance(verdict, Verdict) and verdict.source == source:
                    return _tell(verdict)
    raise Unavailable(
        f"the page was sent, but has no verdict after {arguments.timeout:g} s: check that workers run; they judge it "
        "when they come to it. Then run this again to see the verdict"
    )


def _tell(verdict: Verdict) -> int:
    partition, offset = verdict.source
    where = f"page {partition}:{offset}"
    if verdict.verdict == DEAD:
        raise CheckFailed(f"{verdict.url} could not be read this time, {where}: {verdict.reason}: {verdict.detail}")
    if verdict.verdict == DUPLICATE:
        raise CheckFailed(
            f"{verdict.url} is a duplicate of {verdict.duplicate_of} still ({where}): its text survives at "
            f"{MOST_PARDONED} URLs or more already, and then no further page is pardoned. Give such pages a near.scope "
            "that keeps them apart, or have the spider keep them whatever their verdict is"
        )
    print(f"{verdict.url} is {verdict.verdict} ({verdict.reason}) now, {where}")
    return 0
