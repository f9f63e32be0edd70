"""Changes that are possible while a crawl goes on, on the real broker, each with the commands that the runbook
names."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Protocol
from urllib.request import urlopen

import pytest

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.messages import Claim, Order
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.topics import FINGERPRINTS, PAGES, VERDICTS, topic_name
from tests import oracle
from tests.cluster.cluster import PROGRAM, Cluster, WorkerProcess, grow
from tests.cluster.crawl import Crawler, invented
from tests.cluster.outside import committed_ends, read, traces
from tests.guarantees import Source, Traces, check_accounts, check_guarantees, check_verdicts
from tests.waiting import wait_for
from worker.cli import index, repair, switch, topics
from worker.compose import parts
from worker.compose.topology import specs
from worker.config import load_settings
from worker.index.entries import Survivor
from worker.stream.kafka.outsider import ClusterView
from worker.stream.kafka.topic_admin import compare_topics
from worker.stream.policy import Note

pytestmark = pytest.mark.cluster


class Start(Protocol):
    """Makes the clusters of one crawl, each with its generation and settings."""

    def __call__(self, generation: str = "", *more: str, topics_there: bool = False) -> Cluster:
        """Make the cluster's topics, unless they are there."""


@pytest.fixture
def start(broker: str, topic_prefix: str, tmp_path: Path) -> Iterator[Start]:
    with ExitStack() as stack:

        def started(generation: str = "", *more: str, topics_there: bool = False) -> Cluster:
            folder = tmp_path / (generation or "first")
            folder.mkdir()
            settings = [f"topics.generation={generation}", "topics.partitions=2", *more]
            made = Cluster(broker, topic_prefix, folder, settings)
            if not topics_there:
                stack.enter_context(made)
            else:
                stack.push(made.__exit__)
            return made

        yield started


def command(module: ModuleType, cluster: Cluster, *arguments: str) -> int:
    parser = argparse.ArgumentParser()
    module.configure(parser)
    return int(module.run(parser.parse_args(arguments), lambda: cluster.settings))


def ready(worker: WorkerProcess) -> bool:
    """Whether /readyz answers 200."""
    address = re.search(r"metrics: (http://\S+)/metrics", worker.said())
    if address is None:
        return False
    try:
        with urlopen(f"{address[1]}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def left_by(cluster: Cluster) -> Traces:
    """The records that a generation left on its topics, to be checked with its own predicate."""
    generation = cluster.settings.topics.generation
    found = traces(cluster.bootstrap, cluster.prefix, generation=generation)
    return replace(found, near=parts.near(cluster.settings))


def verdicts_of(cluster: Cluster) -> list[Verdict]:
    """The verdicts of a generation, by partition and offset."""
    name = topic_name(cluster.prefix, VERDICTS, cluster.settings.topics.generation)
    return [Verdict.decode(record.value or b"") for record in read(cluster.bootstrap, name)]


def border(cluster: Cluster) -> dict[int, int]:
    """The offset from which each partition is written, from the metadata next to its consumed offset."""
    with ClusterView(
        cluster.options, prefix=cluster.prefix, group=cluster.settings.kafka.group, generation="b"
    ) as look:
        notes = {number: look.committed(number) for number in range(2)}
    return {
        number: Note.from_metadata(committed.metadata, "here").written_from
        for number, committed in notes.items()
        if committed is not None
    }


def test_workers_are_replaced_one_at_a_time_while_pages_come_in(start: Start) -> None:
    cluster = start("", "topics.shards=3")
    named = [(f"kafka.instance_id=worker-{number}", "kafka.session_timeout_seconds=20") for number in range(2)]
    workers = [cluster.start_worker(*settings) for settings in named]
    with Crawler(cluster.options, cluster.prefix, invented(seed=3), a_second=20) as crawler:
        for number, settings in enumerate(named):
            wait_for(lambda: all(map(ready, workers)), "all workers to be ready")
            assert workers[number].stop() == 0
            workers[number] = cluster.start_worker(*settings)
        crawler.stop()
    cluster.wait_until_committed()
    assert cluster.stop() == [0, 0]
    check_guarantees(left_by(cluster))


def test_pages_of_partitions_that_come_later_wait_until_workers_claim_them(start: Start) -> None:
    few, pages = start("", "topics.shards=2"), invented(seed=6)
    workers = [few.start_worker(), few.start_worker()]
    few.publish(islice(pages, 20))
    few.wait_until_committed()
    grow(few.options, few.prefix + PAGES, 3)
    wait_for(
        lambda: any("partition 2 of pages lies beyond topics.partitions" in worker.said() for worker in workers),
        "a worker to be given the new partition",
    )
    few.publish(islice(pages, 40))
    ends = {number: end for (_, number), end in committed_ends(few.bootstrap, [few.prefix + PAGES]).items()}
    wait_for(lambda: few.consumed() == {0: ends[0], 1: ends[1]}, "the pages of the other partitions to be committed")
    assert ends[2] > 0

    more = load_settings(config=None, overrides=[*few.overrides, "topics.partitions=3"], environ={})
    assert (
        topics.run(argparse.Namespace(action="create", generation=None, alter_config=True, sample=None), lambda: more)
        == 0
    )
    assert workers[0].stop() == 0
    few.start_worker("topics.partitions=3")
    few.publish(islice(pages, 20))
    assert workers[1].stop() == 0
    few.wait_until_committed()
    assert few.stop() == [0]
    check_guarantees(left_by(few))


@pytest.mark.long
def test_other_settings_count_beside_and_then_take_over_the_outputs(start: Start, tmp_path: Path) -> None:
    pages = list(islice(invented(seed=4), 160))
    old = start("", "topics.shards=2")
    new = start("b", "topics.shards=3", "near.k=1", "output.mode=count")
    old.start_worker()
    new.start_worker()
    old.publish(pages[:80])
    old.wait_until_committed()
    new.wait_until_committed()
    with pytest.raises(Refused, match=r"a worker of .* is running"):
        command(switch, new, "--from", "")
    file = tmp_path / "changes.jsonl"
    assert command(switch, new, "--from", "", "--diff", str(file)) == 0
    told = [
        {record.source: (record.verdict, record.duplicate_of) for record in verdicts_of(each)} for each in (old, new)
    ]
    assert told[0].keys() == told[1].keys()
    changed = {source for source in told[0] if told[0][source] != told[1][source]}
    assert changed == {tuple(row["source"]) for row in map(json.loads, file.read_bytes().splitlines())}
    assert changed
    assert new.stop() == [0]
    old.publish(pages[80:120])
    old.wait_until_committed()
    assert old.stop() == [0]
    assert command(switch, new, "--from", "") == 0
    assert command(switch, new, "--from", "") == 0, "run again, it changes nothing"
    begins = border(new)
    assert begins == old.consumed()

    new.publish(pages[120:])
    new.start_worker("output.mode=tag")
    new.wait_until_committed()
    assert new.stop() == [0]

    before, after = left_by(old), left_by(new)
    judged = oracle.verdicts(after.log, after.near, scheme=after.scheme)
    committed: dict[Source, Verdict | None] = {record.source: record for record in after.verdicts}
    check_verdicts(committed, judged)
    assert committed.keys() == {source for source, expected in judged.items() if expected.outcome != "dead"}
    assert judged.keys() == after.pages
    written = [record for record in after.verdicts if record.source[1] >= begins[record.source[0]]]
    both = replace(
        before,
        verdicts=before.verdicts + written,
        dead=before.dead + after.dead,
        passed=before.passed + after.passed,
    )
    check_accounts(both)


def test_an_index_goes_on_with_other_shards_and_without_a_forgotten_url(
    start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = list(islice(invented(seed=5), 60))
    old = start("", "topics.shards=2")
    old.start_worker()
    old.publish(pages)
    old.wait_until_committed()
    assert old.stop() == [0]
    before = verdicts_of(old)
    unique = {record.url: record.fingerprint for record in before if record.verdict == "unique"}
    copied = {record.duplicate_of for record in before}  # a copy of one of these might come first, the second time
    forgotten = next(meta.url for meta, _ in pages if unique.get(meta.url) is not None and meta.url not in copied)
    forget = tmp_path / "forget.txt"
    forget.write_text(f"{forgotten}\nhttp://never.example/\n")
    refused = old.start_worker("topics.shards=3")
    assert refused.process.wait(60) == 4
    (named,) = re.findall(r"run `python -m worker --set topics\.shards=2 index (.*?)`", refused.said())
    old.workers.remove(refused)
    assert command(index, old, *named.replace("NAME", "b").split(), "--without", str(forget)) == 0
    said = capsys.readouterr().out
    assert "left out 1 of 2 URLs" in said
    assert "not in the index: http://never.example/" in said
    with pytest.raises(Refused, match="topics delete"):
        command(index, old, "copy", "--to", "b", "--shards", "3")
    for asked in ([], ["--accept-gap"], ["--skip", "0:0"]):
        with pytest.raises(Refused, match=r"run the same command with --set topics\.generation=b"):
            command(repair, old, *asked)
        assert capsys.readouterr().out == (
            f"topics.prefix={old.prefix!r}, kafka.group={old.settings.kafka.group!r}, topics.generation=''\n"
        )

    new = start("b", "topics.shards=3", topics_there=True)
    assert command(index, new, "inspect") == 0
    new.start_worker()
    new.publish(pages)
    new.wait_until_committed()
    assert new.stop() == [0]
    after = verdicts_of(new)
    assert len(after) == len(before), "the second time alone"
    assert {record.source for record in after}.isdisjoint(record.source for record in before)
    first = {record.url: record for record in reversed(after)}
    assert first[forgotten].verdict == "unique"
    assert {first[url].verdict for url in unique if url != forgotten and unique[url]} == {"refetch"}

    assert command(topics, new, "delete", "--generation", "") == 0
    differences = compare_topics(old.options, specs(old.settings))
    assert {difference.topic.removeprefix(old.prefix) for difference in differences} == {
        "fingerprints",
        "answers",
        "index",
        "deduplicated",
        "verdicts",
        "dead-letters",
        "findings",
    }
    assert command(topics, new, "check") == 0


def copying_live(old: Cluster, *given: str) -> WorkerProcess:
    """The running command, once it says that workers of the new generation may start."""
    copying = old.start_worker(program=(*PROGRAM, "index", "copy", "--live", "--to", "b", *given))
    said = " workers with topics.generation=b"
    wait_for(lambda: said in copying.said() or not copying.alive, "the index to be copied")
    assert copying.alive, copying.said()
    return copying


@pytest.mark.parametrize(
    ("before", "given", "after"),
    [
        pytest.param(("topics.shards=2",), ("--shards", "3"), ("topics.shards=3",), id="shards"),
        pytest.param(
            ("topics.shards=2", "near.predicate=simhash", "near.k=0"),
            ("--near", "k=3"),
            ("topics.shards=2", "near.predicate=simhash", "near.k=3"),
            marks=pytest.mark.long,
            id="rule",
        ),
    ],
)
def test_workers_hand_over_to_those_of_a_copied_index_while_pages_come_in(
    start: Start, tmp_path: Path, before: Sequence[str], given: Sequence[str], after: Sequence[str]
) -> None:
    old = start("", *before)
    ending = [old.start_worker(), old.start_worker()]
    with Crawler(old.options, old.prefix, invented(seed=8), a_second=15) as crawler:
        wait_for(lambda: sum(old.consumed().values()) > 60, "some pages to be judged")
        copying_live(old, *given).kill()
        assert command(topics, old, "delete", "--generation", "b") == 0
        fallen = tmp_path / "fallen.jsonl"
        copying = copying_live(old, *given, "--fallen", str(fallen))
        new = start("b", *after, topics_there=True)
        beginning = [new.start_worker(), new.start_worker()]
        assert copying.process.wait(300) == 0, copying.said()
        assert [worker.process.wait(60) for worker in ending] == [4, 4]
        assert all("gives the outputs to topics.generation='b'" in worker.said() for worker in ending)
        handed_over_at = crawler.sent
        wait_for(lambda: crawler.sent > handed_over_at + 30, "more pages")
        crawler.stop()
    new.wait_until_committed()
    assert all(map(ready, beginning))
    assert new.stop() == [0, 0]

    left, right, known = left_by(old), left_by(new), oracle.Known()
    (end, *_) = (r.offset for r in read(old.bootstrap, old.prefix + FINGERPRINTS) if "successor" in dict(r.headers))
    log = [(offset, batch) for offset, batch in left.log if offset < end]
    judged = oracle.verdicts(log, left.near, scheme=left.scheme, known=known)
    check_verdicts(accounted(left), judged)
    stay: list[tuple[Order, Claim | Survivor]] = []
    for order, survivor in known.survivors:
        if not any(right.near(survivor, other) for _, other in stay):
            stay.append((order, survivor))
    fell = {survivor.url for _, survivor in known.survivors} - {survivor.url for _, survivor in stay}
    told = [json.loads(line)["url"] for line in fallen.read_bytes().splitlines()] if fallen.exists() else []
    assert set(told) >= fell
    assert len(told) == len(known.survivors) - len(stay)
    assert bool(told) == ("--near" in given)
    scheme = parts.scheme(new.settings, parts.recipe(new.settings)).id
    inherited = oracle.Known(stay, {}, dict(known.claimed_up_to), known.watermark)
    check_verdicts(accounted(right), oracle.verdicts(right.log, right.near, scheme=scheme, known=inherited))
    assert left.verdicts
    assert right.verdicts
    check_accounts(
        replace(
            left,
            pages=right.pages,
            verdicts=left.verdicts + right.verdicts,
            dead=left.dead + right.dead,
            passed=left.passed + right.passed,
        )
    )


def accounted(traces: Traces) -> dict[Source, Verdict | None]:
    """The verdict on each page in a generation, None for a dead letter."""
    return {record.source: record for record in traces.verdicts} | dict.fromkeys(traces.dead)
