"""``python -m tools.crawls.long_crawl``: a crawl that is interrupted while its broker comes and goes.

One crawl in three runs with one spool in one ``JOBDIR``; shares are of the pages that the site has served:

1. at a fifth the broker is frozen for ``--away`` seconds (SIGSTOP); at two fifths one Ctrl-C ends the run;
2. at three fifths the broker is killed (SIGKILL), and two Ctrl-C stop the run by force; after ``--away`` seconds the
   broker is back;
3. the crawl goes to its end.

Scrapy's own queue on disk is not fit for use after a run that was stopped by force: queuelib writes the size of a queue
at its end only, and an ``OSError`` ends the next run. So before the third one ``requests.queue`` and ``requests.seen``
are removed from the ``JOBDIR``; the spool stays there. That run fetches every page again, so pages are twice on the
topic: each run writes its own name into its records, which tells those that another run had published, too, from those
that one run sent twice, as a confirmation was lost with the broker or the process.

``--out docs/faults.md`` puts what was found between the markers ``crawl`` there.
Exit code 1 if a page is missing on the topic, is left in the spool, or was sent from it without having gone there.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from crawler_plugin.spool.file import Spool
from tests.crawler_plugin.crawling import Crawl, Ended, Record, Site, make_topic, numbered, records, serve, to_kafka
from tests.waiting import wait_for
from tools.cluster.nemesis import around, machine
from worker.broker.ports import free_port
from worker.broker.server import LocalBroker

PREFIX: Final = "long."
DEADLINE_S: Final = 900.0
ANSWER_S: Final = 0.05
"""How long the site takes for an answer: without this delay the crawl would be over before it is interrupted."""
CONCURRENT: Final = 8
UNCONFIRMED: Final = 2 * CONCURRENT
"""The number of pages that are requested after the broker was killed; all but ``CONCURRENT`` of them have come."""


@dataclass(frozen=True)
class Account:
    """The outcomes of the pages, counted by page."""

    pages: int
    served: int
    handed_to_the_spider: int
    on_the_topic: int
    missing: int
    twice_because_fetched_again: int
    twice_because_a_confirmation_was_lost: int
    written_to_the_spool: int
    sent_from_the_spool: int
    left_in_the_spool: int

    @property
    def is_good(self) -> bool:
        """Whether every page is on the topic, and no page came from the spool that was not seen to go there."""
        return not self.missing and not self.left_in_the_spool and self.sent_from_the_spool <= self.written_to_the_spool

    def table(self) -> list[str]:
        """The account in Markdown."""
        told = vars(self).items()
        return ["| | pages |", "|---|---:|", *(f"| {name.replace('_', ' ')} | {count:,} |" for name, count in told)]


def crawl_in_three_runs(folder: Path, pages: int, away_s: float) -> Account:
    """Crawl the site, with a broker of its own in this folder."""
    job, got = folder / "job", folder / "got.txt"
    spool = job / "dedup.spool"
    with (
        LocalBroker(data_dir=folder / "kafka", port=free_port(), announce=print) as broker,
        serve(Site(numbered(pages, size=4_000), before=lambda number: time.sleep(ANSWER_S))) as site,
    ):
        make_topic(broker.bootstrap_servers, PREFIX)
        told = to_kafka(broker.bootstrap_servers, PREFIX) | {
            "DEDUP_CAPTURE": True,
            "DEDUP_SPOOL": str(spool),
            "DEDUP_BUFFER_BYTES": 500_000,
            "DEDUP_MAX_PAGE_BYTES": 400_000,
            "CONCURRENT_REQUESTS": CONCURRENT,
            "DEDUP_KAFKA_OPTIONS": {"request_timeout_ms": 5_000, "delivery_timeout_ms": 12_000},
            "JOBDIR": str(job),
            "LOG_LEVEL": "INFO",
            "GOT": str(got),
        }

        def begin(run: int) -> Crawl:
            (folder / str(run)).mkdir()
            return Crawl(folder / str(run), "long", site.url("/"), told | {"DEDUP_JOB": f"run {run}"})

        def served(count: float) -> None:
            wait_for(lambda: len(site.asked) >= count, f"{count:.0f} answers of the site", DEADLINE_S)

        first = begin(1)
        served(0.2 * pages)
        assert broker.pid is not None
        os.kill(broker.pid, signal.SIGSTOP)
        thaw = threading.Timer(away_s, os.kill, (broker.pid, signal.SIGCONT))
        thaw.start()
        thaw.join()
        served(0.4 * pages)
        first.send_signal(signal.SIGINT)
        ends = [first.end()]

        second = begin(2)
        second.wait_for_log("Spider opened")
        served(0.6 * pages)
        broker.kill()
        served(len(site.asked) + UNCONFIRMED)
        back = threading.Timer(away_s, broker.start)
        back.start()
        second.send_signal(signal.SIGINT)
        second.wait_for_log("shutting down gracefully")
        second.send_signal(signal.SIGINT)
        ends.append(second.end())
        back.join()

        shutil.rmtree(job / "requests.queue")
        (job / "requests.seen").unlink()
        ends.append(begin(3).end(DEADLINE_S))
        return _account(site, records(broker.bootstrap_servers, PREFIX), got, ends, spool)


def _account(site: Site, topic: Sequence[Record], got: Path, ends: list[Ended], spool: Path) -> Account:
    handed = {line.removeprefix(site.url("")) for line in got.read_text(encoding="utf-8").splitlines()}
    of_runs = Counter((record.meta.url.removeprefix(site.url("")), record.meta.job) for record in topic)
    runs = Counter(path for path, _ in of_runs if path in site.pages)
    sent_again = {path for (path, _), times in of_runs.items() if times > 1 and path in site.pages}
    told = [pages for end in ends for pages in re.findall(r"by force; ([\d,]+) pages? that .* went to", end.log)]
    by_force = [int(pages.replace(",", "")) for pages in told]
    return Account(
        pages=len(site.pages),
        served=len(set(site.asked) & site.pages.keys()),
        handed_to_the_spider=len(handed & site.pages.keys()),
        on_the_topic=len(runs),
        missing=len(site.pages.keys() - runs.keys()),
        twice_because_fetched_again=sum(times > 1 for times in runs.values()),
        twice_because_a_confirmation_was_lost=len(sent_again),
        written_to_the_spool=sum(by_force) + sum(int(end.dedup.get("spool/written", 0)) for end in ends),
        sent_from_the_spool=sum(int(end.dedup["spool/found"] - end.dedup["spool/left"]) for end in ends[2:]),
        left_in_the_spool=_left(spool),
    )


def _left(spool: Path) -> int:
    if not spool.exists():
        return 0
    opened = Spool.open(spool, 0)
    try:
        return opened.left
    finally:
        opened.close()


def main(arguments: list[str]) -> int:
    """0 if every page is on the topic."""
    parser = argparse.ArgumentParser(prog="python -m tools.crawls.long_crawl", description=__doc__)
    parser.add_argument("--pages", type=int, default=5_000)
    parser.add_argument("--away", type=float, default=30.0, help="seconds for which the broker is away, twice")
    parser.add_argument("--out", type=Path, help="put the table into this file, too, between its markers")
    options = parser.parse_args(arguments)
    if options.out:
        around(options.out, "crawl")  # fails now, not after the crawl
    with tempfile.TemporaryDirectory(prefix="long-crawl-") as folder:
        account = crawl_in_three_runs(Path(folder), options.pages, options.away)
    command = f"python -m tools.crawls.long_crawl --pages {options.pages} --away {options.away:g}"
    text = "\n".join([f"`{command}`: {machine()}.", "", *account.table()]) + "\n"
    print(text)
    if options.out:
        before, after = around(options.out, "crawl")
        options.out.write_text(before + text + after, encoding="utf-8")
    return 0 if account.is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
