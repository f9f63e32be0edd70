"""``python -m tools.cluster.nemesis --minutes N``: random faults while pages come in; the promises are checked after.

Rounds of some minutes, each with topics of its own on one broker, or on three (``--brokers 3``): pages are published
without a break, and every few seconds something happens to a worker, a group or a broker. At a round's end everybody is
well again; when all pages are committed, the guarantees are checked from the topics, with another client. ``--moments``
instead kills one of three workers and adds one at five moments of a crawl of all the pages.

The faults and their moments follow from the seed; what they meet does not, since processes run as they like.
``--out docs/faults.md`` puts what was found between the markers there, ``rounds`` or ``moments``, of three brokers with
``-3`` behind it.
Exit code 1 on any violation; the broker's data and the workers' output then stay where they are.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import combinations, count, islice
from pathlib import Path
from typing import Final, NamedTuple

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from crawler_plugin.wire.forgetting import Forget
from crawler_plugin.wire.topics import DAY_MS, INDEX
from tests.cluster.cluster import Cluster
from tests.cluster.crawl import Crawler, Page, a_minute_apart, invented, revisited
from tests.cluster.outside import check_sums, traces
from tests.guarantees import Traces, Violation, check_guarantees
from tests.oracle import verdicts
from tests.waiting import wait_for
from tools.cluster.lines import Line, Lines
from tools.cluster.mishaps import MOST_WORKERS, faults, strike
from tools.cluster.round import Round, Tally
from worker.broker.cluster import NODES, LocalCluster
from worker.broker.jars import KAFKA
from worker.broker.server import LocalBroker
from worker.compose import parts
from worker.local.deduplicator import alone
from worker.places import Folder
from worker.scan.records.exported import whole
from worker.sizing.pages import pages_of

ROUND_SECONDS: Final = 240.0
"""Longer rounds have more pages to compare with each other in plain Python."""
PAGES_A_SECOND: Final = 40
TTL_DAYS: Final = 2
"""With pages that were fetched a minute apart, expiry begins at the 2,880th page: in a round of some minutes survivors
expire, blocks are buried, and the topic is compacted."""
EAGER_CLEANER: Final = {"segment.ms": "2000", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "0"}
FETCHED_FROM_DAYS: Final = 30
"""The age of the first page, in minutes: more than a round has pages."""
SNAPSHOTS: Final = 0.6
"""Share of the rounds whose workers keep snapshots, all in one folder."""
MOMENTS: Final = (0.1, 0.3, 0.5, 0.7, 0.9)


@dataclass
class Outcome:
    """The result of a round, from its topics."""

    pages: int
    verdicts: Counter[str]
    lost: int
    twice: int
    differing: int
    problems: list[str]

    @classmethod
    def of(cls, found: Traces) -> Outcome:
        """Count the pages, and check every promise."""
        committed = {record.source: record for record in found.verdicts}
        times = Counter(record.source for record in found.verdicts) + Counter(found.dead)
        expected = verdicts(found.log, found.near, scheme=found.scheme, ttl=found.ttl)
        differing = sum(
            source not in expected
            or (record.verdict, record.order) != (expected[source].outcome, expected[source].order)
            for source, record in committed.items()
        )
        counted = Counter({"dead letter": len(set(found.dead))})
        counted.update(record.verdict for record in committed.values())
        problems = []
        try:
            check_guarantees(found)
        except Violation as violation:
            problems.append(str(violation)[:2000])
        twice = sum(number > 1 for number in times.values())
        return cls(len(found.pages), counted, len(found.pages - times.keys()), twice, differing, problems)


class Brokers(NamedTuple):
    """One broker, with lines to it that can be cut, or three that are a cluster."""

    bootstrap_servers: str
    nodes: Sequence[LocalBroker]
    lines: Sequence[Line] = ()


@contextmanager
def running(folder: Path, number: int) -> Iterator[Brokers]:
    """Run this many brokers inside the block."""
    if number == NODES:
        with LocalCluster(data_dir=folder, announce=print) as cluster:
            yield Brokers(cluster.bootstrap_servers, cluster.nodes)
    else:
        with (
            Lines(2 * MOST_WORKERS) as lines,
            lines.broker_listens(),
            LocalBroker(data_dir=folder, announce=print) as broker,
        ):
            yield Brokers(broker.bootstrap_servers, [broker], lines.all)


def play(
    brokers: Brokers,
    folder: Path,
    prefix: str,
    pages: Iterator[Page],
    seed: int,
    seconds: float,
    tally: Tally,
    *,
    pairs: bool,
) -> tuple[Round, Outcome]:
    """Play one round, with ``pairs`` always two faults at once; ``tally`` counts those of all rounds."""
    chance = random.Random(seed)
    ttl, output = chance.choice((None, TTL_DAYS)), chance.choice(("tag", "drop", "verdicts"))
    folder.mkdir()
    replicas = chance.choice((1, 2))
    more = [f"output.mode={output}", f"index.replicas={replicas}", "commit.seconds=0.2"]
    more += [f"near.ttl_days={ttl}"] if ttl else []
    if chance.random() < SNAPSHOTS:
        more += [f"index.state_dir={folder}", "index.snapshot_seconds=3"]
    with Cluster(brokers.bootstrap_servers, prefix, folder, more, copies=len(brokers.nodes)) as cluster:
        admin = KafkaAdminClient(**cluster.options)
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, prefix + INDEX, EAGER_CLEANER)])
        admin.close()
        world = Round(cluster, brokers.nodes, chance, tally, lines=brokers.lines)
        for _ in range(1 + replicas):
            world.start()
        dated = a_minute_apart(pages, int(time.time() * 1000) - FETCHED_FROM_DAYS * DAY_MS)
        with Crawler(cluster.options, prefix, dated, a_second=PAGES_A_SECOND) as crawler:
            # The log's scheme is that of its first batch: a foreign batch must not come before the workers' own.
            wait_for(lambda: any(cluster.consumed().values()), "the first pages to be committed")
            until = time.monotonic() + seconds
            while time.monotonic() < until and not world.problems:
                pause_until = time.monotonic() + chance.uniform(1, 2 if pairs else 7)
                while time.monotonic() < pause_until:
                    world.look()
                    time.sleep(0.2)
                strike(world, pairs=pairs)
                if pairs and not unmet(tally, len(brokers.nodes)):
                    break
            crawler.stop()
        world.recover()

        def is_over() -> bool:
            world.watch()
            return bool(world.problems) or cluster.committed()

        try:
            wait_for(is_over, "all pages to be committed")
        except AssertionError as error:
            world.problems.append(f"{prefix}: {error}")
        world.problems += [f"a worker ended with {code} at the end" for code in cluster.stop() if code]
        found = traces(brokers.bootstrap_servers, prefix, ttl=ttl and int(ttl * DAY_MS), output=output)
        try:
            check_sums(brokers.bootstrap_servers, prefix)
        except AssertionError as error:
            world.problems.append(f"{prefix}: the sums of its job are wrong: {error}")
        world.problems += [f"{folder}: {why}" for folder in world.exports if (why := wrong(folder, cluster, found))]
    return world, Outcome.of(found)


def unmet(tally: Tally, brokers: int) -> list[str]:
    """The pairs of kinds of faults that have not happened at once."""
    names = sorted(act.__name__ for _, act in faults(brokers))
    pairs = combinations(names, 2)
    return [f"{one} and {other}" for one, other in pairs if frozenset((one, other)) not in tally.together]


def wrong(exported: Path, cluster: Cluster, found: Traces) -> str | None:
    """The entries that an export wrongly has or lacks, compared with the survivors up to its last batch; expired and
    forgotten ones may be missing."""
    settings = cluster.settings
    export = whole(Folder(str(exported)), parts.scheme(alone(settings), parts.recipe(settings)))
    survivors = {record.order: record.url for record in found.verdicts if record.verdict == "unique"}
    there = {order: survivor.url for order, _, survivor in export.rows()}
    more = there.items() - survivors.items()
    may_lack = found.ttl or any(isinstance(one, Forget) for _, one in found.log)
    lacking = set() if may_lack else {order for order in survivors if order <= max(there)} - there.keys()
    return f"{len(more)} are no survivors, {len(lacking)} are missing" if more or lacking else None


def moment(brokers: Brokers, folder: Path, prefix: str, pages: list[Page], at: float) -> Outcome:
    """Run three workers; when this share of the pages is committed, kill one and add one."""
    folder.mkdir()
    with Cluster(brokers.bootstrap_servers, prefix, folder, copies=len(brokers.nodes)) as cluster:
        three = [cluster.start_worker() for _ in range(3)]
        with Crawler(cluster.options, prefix, pages, a_second=200):
            wait_for(lambda: sum(cluster.consumed().values()) >= at * len(pages), f"{at:.0%} of the pages")
            three[int(at * 10) % 3].kill()
            cluster.start_worker()
        cluster.wait_until_committed()
        cluster.stop()
        return Outcome.of(traces(brokers.bootstrap_servers, prefix))


HEADS: Final = ("pages in", "unique", "duplicates", "refetches", "dead letters", "lost", "twice", "verdicts differing")


def row(name: str, outcomes: list[Outcome]) -> str:
    """A line of the table: the verdicts on the pages."""
    kinds: Counter[str] = sum((outcome.verdicts for outcome in outcomes), Counter())
    cells = [sum(outcome.pages for outcome in outcomes)]
    cells += [kinds[kind] for kind in ("unique", "duplicate", "refetch", "dead letter")]
    for name_of in ("lost", "twice", "differing"):
        cells.append(sum(getattr(outcome, name_of) for outcome in outcomes))
    return f"| {name} | " + " | ".join(f"{cell:,}" for cell in cells) + " |"


def pages_table(rows: list[str], first: str) -> list[str]:
    """The head of the table, and its lines."""
    return [f"| {first} | " + " | ".join(HEADS) + " |", "|---|" + "---:|" * len(HEADS), *rows]


def faults_table(happened: Counter[str], brokers: int) -> list[str]:
    """The table of how often each fault happened."""
    acts = [act for _, act in faults(brokers)]
    told = [(act.__name__.replace("_", " "), (act.__doc__ or "").strip(), happened[act.__name__]) for act in acts]
    return [
        "| fault | what it is | times |",
        "|---|---|---:|",
        *(f"| {n} | {doc} | {times} |" for n, doc, times in told),
    ]


def machine() -> str:
    """The machine and the software of the measurement."""
    with Path("/proc/cpuinfo").open() as lines:
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown CPU")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {model}, {os.cpu_count()} cores, {memory:.0f} GiB; Apache Kafka {KAFKA}, "
        f"Python {platform.python_version()}, kafka-python {version('kafka-python')}"
    )


def command(options: argparse.Namespace) -> str:
    """The command that repeats the run; folders have other names elsewhere."""
    what = "--moments" if options.moments else f"--minutes {options.minutes:g}"
    what += " --pairs" if options.pairs else ""
    what += f" --brokers {options.brokers}" if options.brokers > 1 else ""
    return f"python -m tools.cluster.nemesis {what} --seed {options.seed}" + (" --docs FOLDER" if options.docs else "")


def around(file: Path, name: str) -> tuple[str, str]:
    """The text before and after the part between a file's markers of this name, including the markers."""
    before, begin, rest = file.read_text(encoding="utf-8").partition(f"<!-- {name}:begin -->\n")
    _, end, after = rest.partition(f"<!-- {name}:end -->")
    if not end:
        raise ValueError(f"{file} has no markers {name}:begin and {name}:end; add them where the tables belong")
    return before + begin, end + after


def main(arguments: list[str]) -> int:
    """0 if every promise held."""
    parser = argparse.ArgumentParser(prog="python -m tools.cluster.nemesis", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="how long pages are published under faults")
    parser.add_argument("--moments", action="store_true", help="kill one worker of three, at five moments, instead")
    parser.add_argument(
        "--pairs", action="store_true", help="two faults at once each time, until each two kinds have met"
    )
    parser.add_argument(
        "--met", type=Path, metavar="FILE", help="a list of kinds that have met: earlier runs' are read from there"
    )
    parser.add_argument("--brokers", type=int, choices=(1, NODES), default=1, help="number of brokers")
    parser.add_argument("--docs", type=Path, help="a folder with docs.jsonl.xz; without it pages are made")
    parser.add_argument("--seed", type=int, default=0, help="of the faults and the pages")
    parser.add_argument("--out", type=Path, help="put the tables into this file, too, between their markers")
    options = parser.parse_args(arguments)
    tables = ("moments" if options.moments else "rounds") + (f"-{NODES}" if options.brokers == NODES else "")
    if options.out:
        around(options.out, tables)  # fails now, not after the first round
    folder = Path(tempfile.mkdtemp(prefix="nemesis-"))
    problems: list[str] = []
    text = ""
    with running(folder / "broker", options.brokers) as brokers:
        play_all = moments if options.moments else rounds
        for lines in play_all(brokers, folder, options, problems):
            told = [f"**Violation**: {problem.splitlines()[0][:300]}" for problem in problems]
            title = f"`{command(options)}`: {machine()}, read with confluent-kafka {version('confluent-kafka')}."
            text = "\n".join([title, "", *lines, *told]) + "\n"
            if options.out:
                before, after = around(options.out, tables)
                options.out.write_text(before + text + after, encoding="utf-8")
    print(text)
    for problem in problems:
        print(f"VIOLATION {problem}", file=sys.stderr)
    if problems:
        print(f"the broker's data and the workers' output are in {folder}", file=sys.stderr)
        return 1
    shutil.rmtree(folder)
    return 0


def rounds(brokers: Brokers, folder: Path, options: argparse.Namespace, problems: list[str]) -> Iterator[list[str]]:
    """Play rounds until the time is over or something is wrong; yields the tables after each round."""
    left = options.minutes * 60
    tally = Tally.of_earlier(options.met)
    restarted, silence = 0, 0.0
    outcomes: list[Outcome] = []
    docs = pages_of(options.docs, None) if options.docs else None
    for number in count(1):
        if left <= 0 or problems or (options.pairs and not unmet(tally, options.brokers)):
            break
        seed = options.seed * 1000 + number
        pages = revisited(docs, seed) if docs else invented(seed)
        seconds = min(ROUND_SECONDS, left)
        prefix = f"round-{number}"
        world, outcome = play(brokers, folder / prefix, f"{prefix}.", pages, seed, seconds, tally, pairs=options.pairs)
        left -= seconds
        restarted += world.restarted
        silence = max(silence, *world.silences)
        outcomes.append(outcome)
        problems += [f"round {number}, seed {seed}: {what}" for what in (*world.problems, *outcome.problems)]
        print(f"round {number}: {dict(tally.happened)}, {outcome}", flush=True)
        if options.met:
            tally.write(options.met)
        played = options.minutes - max(0, left) / 60
        left_out = unmet(tally, options.brokers)
        yield [
            f"{played:g} minutes of {options.minutes:g}, seed {options.seed}, {PAGES_A_SECOND} pages a second, "
            f"{tally.happened.total()} faults; {tally.together.total()} times two at once, "
            f"of {len(tally.together)} pairs of kinds of {len(tally.together) + len(left_out)}. "
            f"Longest silence of a worker that was not stopped or cut off: {silence:.1f} s. "
            f"Workers that ended with 3 because the broker was away, and were started again: {restarted}.",
            "",
            *faults_table(tally.happened, options.brokers),
            "",
            *pages_table([row(f"{len(outcomes)} rounds", outcomes)], "together"),
        ]


def moments(brokers: Brokers, folder: Path, options: argparse.Namespace, problems: list[str]) -> Iterator[list[str]]:
    """Play the same pages at five moments; yields the table after each."""
    pages = pages_of(options.docs, None) if options.docs else list(islice(invented(options.seed), 2000))
    rows = []
    for at in MOMENTS:
        name = f"killed at {at:.0%}"
        outcome = moment(brokers, folder / f"{at:.0%}", f"at-{int(at * 100)}.", pages, at)
        problems += [f"{name}: {problem}" for problem in outcome.problems]
        rows.append(row(name, [outcome]))
        print(rows[-1], flush=True)
        yield pages_table(rows, "three workers, one killed and one added")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
