"""``python -m tests.crawler_plugin.long_crawl``: a crawl that is interrupted while its broker comes and goes.

One crawl in two runs with one ``JOBDIR``; shares are of the pages that the site has served:

1. at a fifth the broker is frozen for ``--away`` seconds (SIGSTOP); at two fifths one Ctrl-C ends the run;
2. at three fifths the broker is killed (SIGKILL), and two Ctrl-C stop the run by force; after ``--away`` seconds the
   broker is back.

What is in the spool then is sent by ``python -m crawler_plugin.spool``. There is no third run: Scrapy's queue on disk
is not fit for use after a run that was stopped by force (queuelib writes its size at the end only). A page may be on
the topic twice where a confirmation was lost with the broker or the process.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from tests.crawler_plugin.crawling import Crawl, Ended, Site, make_topic, numbered, published, serve, to_kafka
from tests.waiting import wait_for
from worker.broker.ports import free_port
from worker.broker.server import LocalBroker

PREFIX: Final = "long."
DEADLINE_S: Final = 600.0
ANSWER_S: Final = 0.05
"""How long the site takes for an answer: so fast a crawl as without it would be over before it is interrupted."""


@dataclass(frozen=True)
class Account:
    """What became of the pages, counted by page."""

    pages: int
    served_twice: int
    handed_to_spider: int
    never_handed: int
    on_topic: int
    on_topic_twice: int
    twice_though_handed_once: int
    missing: int
    sent_from_spool_by_next_run: int
    sent_from_spool_by_command: int

    def __str__(self) -> str:
        return "\n".join(f"{field.name.replace('_', ' ')}: {getattr(self, field.name)}" for field in fields(self))


def crawl_in_two_runs(folder: Path, pages: int, away_s: float) -> Account:
    """Crawl the site, with a broker of its own in this folder."""
    spool, got = folder / "job" / "dedup.spool", folder / "got.txt"
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
            "CONCURRENT_REQUESTS": 8,
            "DEDUP_KAFKA_OPTIONS": {"request_timeout_ms": 5_000, "delivery_timeout_ms": 12_000},
            "JOBDIR": str(folder / "job"),
            "LOG_LEVEL": "INFO",
            "GOT": str(got),
        }

        def begin(run: int) -> Crawl:
            (folder / str(run)).mkdir()
            return Crawl(folder / str(run), "long", site.url("/"), told)

        def served(share: float) -> None:
            wait_for(lambda: len(site.asked) >= share * pages, f"{share:.0%} of the pages", DEADLINE_S)

        first = begin(1)
        served(0.2)
        assert broker.pid is not None
        os.kill(broker.pid, signal.SIGSTOP)
        thaw = threading.Timer(away_s, os.kill, (broker.pid, signal.SIGCONT))
        thaw.start()
        thaw.join()
        served(0.4)
        first.send_signal(signal.SIGINT)
        ends = [first.end()]

        second = begin(2)
        second.wait_for_log("Spider opened")
        served(0.6)
        broker.kill()
        back = threading.Timer(away_s, broker.start)
        back.start()
        second.send_signal(signal.SIGINT)
        second.wait_for_log("shutting down gracefully")
        second.send_signal(signal.SIGINT)
        ends.append(second.end())
        back.join()

        sent = _send(spool, broker.bootstrap_servers) if spool.exists() else 0
        return _account(site, published(broker.bootstrap_servers, PREFIX, site), got, ends, sent)


def _send(spool: Path, broker: str) -> int:
    """How many pages the command sent."""
    told: dict[str, Any] = to_kafka(broker, PREFIX)
    arguments = [part for name, value in told.items() for part in ("--set", f"{name}={value}")]
    command = [sys.executable, "-m", "crawler_plugin.spool", str(spool), *arguments]
    said = subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True).stderr
    found = re.search(r"([0-9]+) pages? sent, 0 left", said)
    assert found, said
    return int(found[1])


def _account(site: Site, topic: Counter[str], got: Path, ends: list[Ended], sent: int) -> Account:
    handed = Counter(line.removeprefix(site.url("")) for line in got.read_text(encoding="utf-8").splitlines())
    served = Counter(site.asked)
    return Account(
        pages=len(site.pages),
        served_twice=sum(served[path] > 1 for path in site.pages),
        handed_to_spider=sum(handed[path] > 0 for path in site.pages),
        never_handed=sum(handed[path] == 0 for path in site.pages),
        on_topic=sum(topic[path] > 0 for path in site.pages),
        on_topic_twice=sum(topic[path] > 1 for path in site.pages),
        twice_though_handed_once=sum(topic[path] > 1 == handed[path] for path in site.pages),
        missing=sum(handed[path] > 0 == topic[path] for path in site.pages),
        sent_from_spool_by_next_run=int(ends[1].stats.get("dedup/spool/found", 0)),
        sent_from_spool_by_command=sent,
    )


def main(arguments: list[str]) -> int:
    """0 if no page that the spider was handed is missing on the topic."""
    parser = argparse.ArgumentParser(prog="python -m tests.crawler_plugin.long_crawl", description=__doc__)
    parser.add_argument("--pages", type=int, default=5_000)
    parser.add_argument("--away", type=float, default=30.0, help="seconds for which the broker is away, twice")
    told = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="long-crawl-") as folder:
        account = crawl_in_two_runs(Path(folder), told.pages, told.away)
    print(account)
    return 1 if account.missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
