"""Whether a worker's memory is what it says: small pages at a steady rate for half an hour, and its memory meanwhile.

Run with ``python -m tools.cluster.soak --minutes 30``. A real worker, with snapshots each minute, takes pages of a real
broker that are all different. After a while to warm up, its resident memory (that of the worker's own process, without
the parsers') may grow only by what ``dedup_index_bytes`` grows. Then come copies only, and nothing may grow at all. The
exit code is 1 if anything grew by more than 5 MiB more.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from statistics import linear_regression
from typing import Final, NamedTuple

from crawler_plugin.wire.page_headers import PageMeta
from tests.cluster.cluster import Cluster, WorkerProcess
from tests.cluster.crawl import Crawler, Page
from tests.waiting import wait_for
from tools.cluster.nemesis import around, machine
from worker.broker.server import LocalBroker
from worker.observe.scrape import is_ready, samples, summed

MOST_GROWTH_MIB: Final = 5.0
SNAPSHOT_SECONDS: Final = 60
LOOK_SECONDS: Final = 5.0
ADDRESS: Final = "metrics: "
PHASES: Final = ("warm-up", "different", "first copies", "copies")

_MIB: Final = 1 << 20
_WORDS: Final = 60
_VOCABULARY: Final = [f"{one}{two}" for one in ("bel", "dor", "fin", "gam", "kas") for two in range(100, 700)]


class Look(NamedTuple):
    """The worker at one moment: pages committed, entries, and bytes."""

    minutes: float
    pages: int
    entries: int
    resident: int
    of_index: int

    @property
    def rest(self) -> float:
        """Resident memory apart from the index, in MiB."""
        return (self.resident - self.of_index) / _MIB


class Feed:
    """An endless series of pages; ``copies`` says whether the next pages repeat earlier ones."""

    def __init__(self) -> None:
        self.copies = False
        self._different = 0

    def __iter__(self) -> Iterator[Page]:
        for number in count():
            if self.copies:
                text = random.randrange(self._different)
            else:
                text = self._different
                self._different += 1
            words = " ".join(random.Random(text).choices(_VOCABULARY, k=_WORDS))
            yield PageMeta(url=f"http://soak.example/{number}", form="text"), words.encode()


class Soak:
    """One observed worker."""

    def __init__(self, worker: WorkerProcess) -> None:
        self.worker = worker
        self.address = ""
        self.begun = time.monotonic()
        self.looks: dict[str, list[Look]] = {phase: [] for phase in PHASES}

    def wait_until_ready(self) -> None:
        """Wait until the worker is ready with everything that it owns."""

        def ready() -> bool:
            assert self.worker.alive, self.worker.said()[-3000:]
            _, found, rest = self.worker.said().partition(ADDRESS)
            self.address = rest.partition("\n")[0] if found else ""
            return bool(self.address) and is_ready(self.address)

        wait_for(ready, "the worker to be ready")

    def watch(self, phase: str, minutes: float) -> None:
        """Look for this many minutes; print a line per minute."""
        until = time.monotonic() + 60 * minutes
        said = time.monotonic()
        while time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
            self.looks[phase].append(self._look())
            if time.monotonic() - said >= 60:
                said += 60
                print(f"{phase}: {row(self.looks[phase][-12:])}", flush=True)

    def _look(self) -> Look:
        assert self.worker.alive, self.worker.said()[-3000:]
        sums = summed(samples(self.address))
        status = Path(f"/proc/{self.worker.process.pid}/status").read_text()
        resident = int(status.partition("VmRSS:")[2].split()[0]) << 10
        minutes = (time.monotonic() - self.begun) / 60
        return Look(
            minutes, sums["dedup_pages_total"], sums["dedup_index_entries"], resident, sums["dedup_index_bytes"]
        )


def row(looks: list[Look]) -> str:
    """The last of these looks, with the smallest and the largest resident memory apart from the index."""
    last = looks[-1]
    cells = [f"{last.minutes:.0f}", f"{last.pages:,}", f"{last.entries:,}"]
    cells += [f"{last.resident / _MIB:.1f}", f"{last.of_index / _MIB:.1f}"]
    cells += [f"{min(look.rest for look in looks):.1f}", f"{max(look.rest for look in looks):.1f}"]
    return f"| {' | '.join(cells)} |"


def growth(looks: list[Look], what: str) -> float:
    """MiB that ``rest`` or ``resident`` grew in all, by a straight line through all looks."""
    values = [look.rest if what == "rest" else look.resident / _MIB for look in looks]
    slope = linear_regression([look.minutes for look in looks], values).slope
    return slope * (looks[-1].minutes - looks[0].minutes)


def report(looks: dict[str, list[Look]]) -> tuple[list[str], bool]:
    """The tables and their conclusion; whether nothing grew that must not grow."""
    lines = [
        "| minute | pages | entries | resident, MiB | index, MiB | the rest, least | most |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for seen in looks.values():
        minutes = sorted({int(look.minutes) for look in seen})
        lines += [row([look for look in seen if int(look.minutes) == minute]) for minute in minutes]
    good = True
    lines.append("")
    for phase, what, name in (
        ("different", "rest", "resident memory less dedup_index_bytes"),
        ("copies", "resident", "resident memory"),
    ):
        if len(looks[phase]) > 1:
            grown = growth(looks[phase], what)
            good &= grown <= MOST_GROWTH_MIB
            took = looks[phase][-1].minutes - looks[phase][0].minutes
            pages = looks[phase][-1].pages - looks[phase][0].pages
            lines.append(f"- {phase}: {name} grew by {grown:.1f} MiB in {took:.0f} minutes and {pages:,} pages.")
    return lines, good


def main(arguments: list[str]) -> int:
    """0 if nothing grew that may not grow."""
    parser = argparse.ArgumentParser(prog="python -m tools.cluster.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="minutes of pages that all differ, after warming up")
    parser.add_argument("--warm-up", type=float, default=5, help="minutes of such pages before")
    parser.add_argument(
        "--copies", type=float, default=6, help="minutes of copies after; the first two are not counted"
    )
    parser.add_argument("--rate", type=float, default=390, help="pages a second")
    parser.add_argument("--set", dest="more", action="append", default=[], metavar="KEY=VALUE", help="of the worker")
    parser.add_argument("--out", type=Path, help="put the table into this file, too, between its markers soak")
    options = parser.parse_args(arguments)
    if options.out:
        around(options.out, "soak")  # fails now, not after half an hour
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    more = [
        f"index.state_dir={folder / 'state'}",
        f"index.snapshot_seconds={SNAPSHOT_SECONDS}",
        "index.flush_entries=4096",
        "index.flush_seconds=60",
        "commit.seconds=1",
        *options.more,
    ]
    feed = Feed()
    with (
        LocalBroker(data_dir=folder / "broker", announce=print) as broker,
        Cluster(broker.bootstrap_servers, "soak.", folder, more) as cluster,
    ):
        soak = Soak(cluster.start_worker())
        soak.wait_until_ready()
        with Crawler(cluster.options, cluster.prefix, feed, a_second=options.rate) as crawler:
            soak.watch("warm-up", options.warm_up)
            soak.watch("different", options.minutes)
            feed.copies = True
            first = min(2, options.copies)  # pages still on their way, caches of hits, and what findings remember
            soak.watch("first copies", first)
            soak.watch("copies", options.copies - first)
            crawler.stop()
    lines, good = report(soak.looks)
    asked = f"--minutes {options.minutes:g} --warm-up {options.warm_up:g} --copies {options.copies:g}"
    title = f"`python -m tools.cluster.soak {asked} --rate {options.rate:g}`: {machine()}."
    text = "\n".join([title, "", *lines]) + "\n"
    print(text)
    if options.out:
        before, after = around(options.out, "soak")
        options.out.write_text(before + text + after, encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
