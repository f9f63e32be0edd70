"""``python -m tools.cluster.month --minutes N``: what a team changes in a month, one thing after the other.

Pages come in all the time, on a cluster of three brokers. Each step changes something as the handbook says, with its
commands, and it is told how long there was no verdict. When its time is over, spiders pause until all pages are
committed, and every page that came in must have gone out once, over all generations. At the end all verdicts of the
generation that is in force then, which has judged every page, are held against the plain program.

``--out docs/faults.md`` puts the table between the markers ``month`` there. Exit code 1 if anything is wrong; the
brokers' data and the workers' output then stay where they are.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.topics import DEAD_LETTERS, PAGES, VERDICTS, topic_name
from tests import oracle
from tests.cluster.cluster import PROGRAM, Cluster, WorkerProcess, running
from tests.cluster.crawl import Crawler, Page, invented
from tests.cluster.outside import read, traces
from tests.guarantees import Source
from tests.waiting import wait_for
from tools.cluster.nemesis import around, machine
from worker.broker.cluster import NODES, LocalCluster
from worker.compose import parts

MOST_PAGES: Final = 10_000
"""The most pages, if steps take no longer than their time: to compare more in plain Python takes long."""
PAGES_A_SECOND: Final = 15
AWAY_SECONDS: Final = 5.0
PREFIX: Final = "month."
SETTINGS: Final = ("topics.partitions=8", "topics.shards=8")


@dataclass
class Account:
    """How many pages came in, how many did not go out, how many went out more than once, and when verdicts were
    written, in milliseconds by the brokers' clocks, ascending."""

    came: int
    lost: int
    twice: int
    written: list[int]

    def longest(self, begin: float, end: float) -> float:
        """The longest time without a verdict between these two moments, all in seconds since 1970."""
        there = [stamp / 1000 for stamp in self.written if begin <= stamp / 1000 <= end]
        return max(late - early for early, late in pairwise([begin, *there, end]))


@dataclass
class Month:
    """A cluster with changes. ``written_from`` has the first written offset of each partition for each generation that
    has written pages."""

    cluster: Cluster
    brokers: LocalCluster
    pages: Iterator[Page]
    a_second: float
    workers: dict[str, WorkerProcess] = field(default_factory=dict)
    written_from: dict[str, dict[int, int]] = field(default_factory=lambda: {"": {}})
    published: list[Page] = field(default_factory=list)
    crawler: Crawler | None = None

    def spiders(self) -> None:
        """Start the spiders; the first of their pages is committed when this returns, if a worker runs."""
        before = sum(self.cluster.consumed().values())
        self.crawler = Crawler(self.cluster.options, PREFIX, self._kept(), a_second=self.a_second)
        self.crawler.__enter__()
        if self.workers:
            wait_for(lambda: sum(self.cluster.consumed().values()) > before, "the first pages to be committed")

    def _kept(self) -> Iterator[Page]:
        for page in self.pages:
            self.published.append(page)
            yield page

    def pause(self) -> None:
        """Pause the spiders; all pages are committed when this returns."""
        if self.crawler is not None:
            self.crawler.stop()
            self.crawler.__exit__(None, None, None)
            self.crawler = None
        self.cluster.wait_until_committed()

    def start(self, name: str) -> WorkerProcess:
        """Start a worker with this name, which runs when this returns."""
        self.workers[name] = self.cluster.start_worker(f"kafka.instance_id={name}")
        return running(self.workers[name])

    def stop(self, name: str, by: signal.Signals = signal.SIGTERM) -> None:
        """End a worker."""
        code = self.workers.pop(name).stop(by)
        assert code == 0, f"a worker that was told to stop ended with {code}"

    def restart(self) -> None:
        """Restart all workers, one after the other, with the present settings."""
        for name in list(self.workers):
            self.stop(name)
            self.start(name)

    def restart_at_once(self, between: Callable[[], None]) -> None:
        """Restart all workers at once, with spiders paused, and call ``between`` while no worker runs."""
        self.pause()
        names = list(self.workers)
        for name in names:
            self.stop(name)
        between()
        self.spiders()
        for name in names:
            self.start(name)

    def command(self, *words: str, more: tuple[str, ...] = ()) -> None:
        """Run a command of the worker, with the present settings; it must end with 0."""
        overrides = [word for setting in (*self.cluster.overrides, *more) for word in ("--set", setting)]
        done = subprocess.run([*PROGRAM, *words, *overrides], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(words)} ended with {done.returncode}: {done.stderr[-1500:]}"

    def account(self) -> Account:
        """The account of all pages so far, by the outputs of all generations."""
        out: Counter[Source] = Counter()
        written = []
        for generation, begins in self.written_from.items():
            for record in read(self.cluster.bootstrap, topic_name(PREFIX, VERDICTS, generation)):
                source = Verdict.decode(record.value or b"").source
                if source[1] >= begins.get(source[0], 0):
                    out[source] += 1
                    written.append(record.timestamp)
            for record in read(self.cluster.bootstrap, topic_name(PREFIX, DEAD_LETTERS, generation)):
                partition, _, offset = dict(record.headers)["dedup-source"].decode().partition(":")
                out[int(partition), int(offset)] += 1
        came = {(record.partition, record.offset) for record in read(self.cluster.bootstrap, PREFIX + PAGES)}
        lost, twice = sum(not out[source] for source in came), sum(times > 1 for times in out.values())
        return Account(len(came), lost, twice, sorted(written))


def nothing(month: Month) -> None:
    """One worker, and nothing is changed."""


def three_workers(month: Month) -> None:
    """Two more workers."""
    month.start("b")
    month.start("c")


def two_workers(month: Month) -> None:
    """One of three leaves for good (SIGUSR1)."""
    month.stop("c", signal.SIGUSR1)


def more_partitions(month: Month) -> None:
    """16 partitions instead of 8 (`topics create --alter-config`), workers restarted one by one."""
    month.cluster.change("topics.partitions=16")
    month.command("topics", "create", "--alter-config")
    month.restart()


def more_shards(month: Month) -> None:
    """12 shards instead of 8 (`index copy --live`): workers of the new generation take over from those of the old."""
    copying = month.cluster.start_worker(
        program=(*PROGRAM, "index", "copy", "--live", "--to", "shards", "--shards", "12")
    )
    ready = " workers with topics.generation=shards"
    wait_for(lambda: ready in copying.said() or not copying.alive, "the index to be copied")
    month.cluster.change("topics.generation=shards", "topics.shards=12")
    month.written_from["shards"] = {}
    ending, month.workers = month.workers, {}
    for name in ending:
        month.workers[name] = month.cluster.start_worker(f"kafka.instance_id={name}")
    assert copying.process.wait(300) == 0, copying.said()[-1500:]
    for worker in ending.values():
        assert worker.process.wait(60) == Refused.exit_code, worker.said()[-1500:]
        month.cluster.workers.remove(worker)
    for worker in month.workers.values():
        running(worker)


def new_threshold(month: Month) -> None:
    """Another `near.threshold`, in a second generation that has judged all pages at the same time, and `switch`."""
    more = ("topics.generation=threshold", "near.threshold=0.6", "output.mode=count")
    beside = Cluster(
        month.cluster.bootstrap, PREFIX, month.cluster.folder / "beside", (*month.cluster.overrides, *more), NODES
    )
    beside.folder.mkdir()
    with beside:
        running(beside.start_worker())
        month.pause()
        beside.wait_until_committed()
        assert beside.stop() == [0]
        month.spiders()

    def switch() -> None:
        old = month.cluster.settings.topics.generation
        month.written_from["threshold"] = month.cluster.consumed()
        month.command("switch", "--from", old, more=more)
        month.cluster.change(*more[:2])

    month.restart_at_once(switch)


def broker_lost(month: Month) -> None:
    """kill -9 of one broker of three, which comes back on the same data."""
    broker = month.brokers.nodes[0]
    broker.kill()
    time.sleep(AWAY_SECONDS)
    broker.start()


def moved(month: Month) -> None:
    """`index export` while workers run, and `index import` in another cluster, which then knows the pages."""
    folder = month.cluster.folder / "exported"
    month.command("index", "export", "--out", str(folder))
    there = month.cluster.folder / "mirror"
    there.mkdir()
    names = ("topics.prefix=mirror.", "kafka.group=mirror", "topics.generation=")
    month.command("index", "import", str(folder), more=names)
    with Cluster(month.cluster.bootstrap, "mirror.", there, (*month.cluster.overrides, *names), NODES) as mirror:
        running(mirror.start_worker())
        mirror.publish(month.published[:200])
        mirror.wait_until_committed()
        assert mirror.stop() == [0]
        again = [Verdict.decode(record.value or b"") for record in read(mirror.bootstrap, "mirror." + VERDICTS)]
    new = [verdict.url for verdict in again if verdict.verdict == "unique"]
    assert not new, f"pages that were known are unique in the other cluster: {new[:5]}"


def some_forgotten(month: Month) -> None:
    """A part of all pages is forgotten by all workers at one place (`forget --url-prefix`)."""
    (first, _), *_ = month.published
    month.command("forget", "--url-prefix", first.url[: first.url.rindex("/")] + "/1", "--yes")


def upgrade(month: Month) -> None:
    """All workers restarted, one after the other, as for another release."""
    month.restart()


STEPS: Final[tuple[Callable[[Month], None], ...]] = (
    nothing,
    three_workers,
    two_workers,
    more_partitions,
    more_shards,
    new_threshold,
    broker_lost,
    moved,
    some_forgotten,
    upgrade,
)
"""The steps in their order; each takes its share of the time."""
HEAD: Final = (
    "| step | what it is | pages in | lost | twice | longest time without a verdict, s |\n|---|---|---:|---:|---:|---:|"
)


def play(month: Month, seconds: float) -> Iterator[str]:
    """Play the steps; yields a line of the table for each.

    Raises:
        AssertionError: something was refused, a page was lost or went out twice, or a verdict differs.
    """
    month.start("a")
    for step in STEPS:
        month.spiders()
        begun = time.time()
        step(month)
        time.sleep(max(AWAY_SECONDS, begun + seconds - time.time()))
        over = time.time()
        month.pause()
        found = month.account()
        name, longest = step.__name__.replace("_", " "), found.longest(begun, over)
        what = (step.__doc__ or "").strip()
        yield f"| {name} | {what} | {found.came:,} | {found.lost} | {found.twice} | {longest:.1f} |"
        assert not found.lost, f"{name}: of {found.came} pages {found.lost} were lost"
        assert not found.twice, f"{name}: of {found.came} pages {found.twice} went out twice"
    assert month.cluster.stop() == [0] * len(month.workers)
    last = traces(month.cluster.bootstrap, PREFIX, generation=month.cluster.settings.topics.generation)
    expected = oracle.verdicts(last.log, parts.near(month.cluster.settings), scheme=last.scheme)
    differing = sum(
        (each.verdict, each.order) != (expected[each.source].outcome, expected[each.source].order)
        for each in last.verdicts
    )
    assert last.verdicts
    assert not differing, f"{differing} verdicts differ from those of the plain program"


def write(out: Path | None, lines: list[str]) -> None:
    """Put the lines between the markers, if there is a file."""
    if out is not None:
        before, after = around(out, "month")
        out.write_text(before + "\n".join(lines) + "\n" + after, encoding="utf-8")


def main(arguments: list[str]) -> int:
    """0 if every step went well."""
    parser = argparse.ArgumentParser(prog="python -m tools.cluster.month", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=60, help="length of all steps together, without waiting for commits"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the pages")
    parser.add_argument("--out", type=Path, help="put the table into this file, too, between its markers")
    options = parser.parse_args(arguments)
    if options.out:
        around(options.out, "month")  # fails now, not after all steps
    folder = Path(tempfile.mkdtemp(prefix="month-"))
    title = f"`python -m tools.cluster.month --minutes {options.minutes:g} --seed {options.seed}`: {machine()}."
    lines = [title, "", HEAD]
    problem = None
    with (
        LocalCluster(data_dir=folder / "brokers", announce=print) as brokers,
        Cluster(brokers.bootstrap_servers, PREFIX, folder, SETTINGS, NODES) as cluster,
    ):
        a_second = min(PAGES_A_SECOND, MOST_PAGES / (options.minutes * 60))
        month = Month(cluster, brokers, invented(options.seed), a_second)
        try:
            for line in play(month, options.minutes * 60 / len(STEPS)):
                print(line, flush=True)
                lines.append(line)
                write(options.out, lines)
        except AssertionError as error:
            problem = str(error)
    is_good = "All verdicts of the last generation are those of the plain program."
    write(options.out, [*lines, "", is_good if problem is None else f"**Violation**: {problem.splitlines()[0][:300]}"])
    if problem is not None:
        print(f"VIOLATION {problem}\nthe brokers' data and the workers' output are in {folder}", file=sys.stderr)
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
