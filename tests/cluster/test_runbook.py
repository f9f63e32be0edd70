"""The procedures of the runbook, played with the commands and programs that it prints."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Final

import pytest
from kafka import KafkaAdminClient

from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.topics import PAGES, VERDICTS
from tests.cli.test_repair import let_logs_pass, let_sessions_end
from tests.cluster.cluster import SMALL, Cluster, WorkerProcess
from tests.cluster.crawl import invented
from tests.cluster.outside import read
from tests.cluster.test_forged import forge
from tests.cluster.test_live_changes import ready
from tests.deploy import test_acls
from tests.deploy.test_acls import PREFIX, allow, guarded_broker, login, options_of
from tests.deploy.watched import metrics_of, pages
from tests.handbook import blocks, commands, play
from tests.waiting import wait_for
from worker.broker.ports import free_port
from worker.compose.topology import specs
from worker.config.catalogue import catalogue
from worker.stream.kafka.publish import publish_pages
from worker.stream.kafka.topic_admin import create_topics

pytestmark = pytest.mark.cluster

__all__ = ["guarded_broker"]

SHOWN: Final = "127.0.0.1:9464"
BROKER: Final = catalogue()["kafka.bootstrap_servers"].environment
Ended = subprocess.CompletedProcess[str]


class FiveCommands:
    """The five commands for the case that all verdicts stand still, run on one worker and its cluster."""

    def __init__(self, cluster: Cluster, worker: WorkerProcess) -> None:
        self.cluster, self.worker = cluster, worker
        self.lines = commands("runbook", "All verdicts stand still")
        assert len(self.lines) == 5

    def __call__(self, number: int, **settings: str) -> Ended:
        line = self.lines[number - 1]
        address = {SHOWN: metrics_of(self.worker)} if "curl" in line else {}
        return play(line, self.cluster, address, **settings)


def test_all_verdicts_stand_still_and_each_of_the_five_commands_finds_its_cause(cluster: Cluster) -> None:
    worker = cluster.start_worker()
    cluster.publish(islice(invented(seed=7), 30))
    cluster.wait_until_committed()
    wait_for(lambda: ready(worker), "the worker to be ready")
    ask = FiveCommands(cluster, worker)
    assert (ask(1).stdout, ask(2).stdout) == ("alive\n", "ready\n")
    wait_for(lambda: "lag_records" in ask(5).stdout, "the worker to have asked how far behind it is")
    topics, repair, numbers = ask(3), ask(4), ask(5)
    assert (topics.returncode, repair.returncode) == (0, 0), (topics, repair)
    first, *_, last = repair.stdout.splitlines()
    group = cluster.settings.kafka.group
    assert first == f"topics.prefix={cluster.prefix!r}, kafka.group={group!r}, topics.generation=''"
    assert last.startswith("nothing to repair: ")
    found = dict(line.rsplit(" ", 1) for line in numbers.stdout.splitlines())
    shards = {
        int(found) for found in re.findall(r'shard_state\{shard="(\d+)",state="answering"\} 1\.0', numbers.stdout)
    }
    assert shards == {0, 1}
    assert {value for name, value in found.items() if "lag_records" in name} == {"0.0"}

    worker.pause()
    assert "timed out" in ask(1).stderr
    worker.wake()
    assert ask(3, **{BROKER: f"127.0.0.1:{free_port()}"}).returncode == 3
    offset = forge(cluster)
    wait_for(lambda: not worker.alive, "the worker to end at a record that nobody may decide", 120)
    cluster.workers.remove(worker)
    assert "connect" in ask(1).stderr
    barred = ask(4)
    assert barred.returncode == 1
    assert re.search(rf"all workers end at one record: record {offset} .* index copy --to", barred.stderr), barred


@pytest.mark.long
def test_a_gap_is_found_by_the_fourth_command_and_closed_by_those_of_the_page_on_repair(cluster: Cluster) -> None:
    look, shown, accept = commands("repair", "Repair")
    made = list(islice(invented(seed=8), 60))
    cluster.start_worker()
    cluster.publish(made[:30])
    cluster.wait_until_committed()
    assert cluster.stop() == [0]
    killed = cluster.start_worker("index.flush_seconds=80000", "index.flush_entries=1000000")
    cluster.publish(made[30:])
    cluster.wait_until_committed()
    killed.kill()
    let_logs_pass(cluster)
    let_sessions_end(cluster)
    assert FiveCommands(cluster, killed)(4).returncode == 1
    looked, listed = play(look, cluster), play(shown, cluster)
    assert looked.returncode == 1 and "to spare" in looked.stdout, looked
    assert listed.returncode == 1 and "lost:\n" in listed.stdout, listed
    assert play(accept, cluster).returncode == 0
    again = cluster.start_worker()
    cluster.publish(made[:30])
    cluster.wait_until_committed()
    wait_for(lambda: ready(again), "the worker to be ready")
    ask = FiveCommands(cluster, again)
    assert [ask(number).returncode for number in range(1, 6)] == [0] * 5


def program(cluster: Cluster, text: str, *arguments: str) -> list[str]:
    """Run a program of the page exactly as printed; returns its output lines."""
    for shown, here in (("127.0.0.1:9092", cluster.bootstrap), ('"dedup.', f'"{cluster.prefix}')):
        assert shown in text
        text = text.replace(shown, here)
    ran = subprocess.run([sys.executable, "-c", text, *arguments], capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()


@pytest.mark.long
def test_dead_letters_are_looked_at_skipped_by_hand_and_published_anew(cluster: Cluster) -> None:
    look, again = blocks("runbook", "Dead letters: pages that cannot be judged", "python")
    slow = [(PageMeta(url=f"http://slow.example/{n}", form="text"), f"word{n} ".encode() * 200_000) for n in range(3)]
    strict = cluster.start_worker("page.timeout_seconds=0.0001")
    cluster.publish([*slow, (PageMeta(url="http://paper.example/"), b"%PDF-1.7")])
    cluster.wait_until_committed()
    assert strict.stop() == 0
    printed = program(cluster, look)
    assert set(printed) >= {"parser-timeout: 3", "not-text: 1"}, printed
    assert sum(line.startswith("parser-timeout ") for line in printed) == 3

    cluster.publish(islice(invented(seed=9), 20))
    (skip,) = commands("repair", "A page that kills whoever reads it")
    ends = Counter(record.partition for record in read(cluster.bootstrap, cluster.prefix + PAGES))
    partition = min(ends)
    spot = f"{partition}:{cluster.consumed()[partition]}"
    assert play(skip, cluster, {"3:1207": spot}).returncode == 0
    assert program(cluster, again, "parser-timeout") == ["3 pages are published anew"]
    cluster.start_worker()
    cluster.wait_until_committed()
    printed = program(cluster, look)
    assert f"skipped {spot} " in "\n".join(printed)
    assert set(printed) >= {"parser-timeout: 3", "skipped: 1"}
    verdicts = [Verdict.decode(record.value or b"") for record in read(cluster.bootstrap, cluster.prefix + VERDICTS)]
    assert {found.url for found in verdicts} >= {meta.url for meta, _ in slow}
    assert cluster.stop() == [0]


ACLS_OF_KAFKA: Final = """\
#!{python}
import sys
from kafka import KafkaAdminClient
from tests.deploy.test_acls import as_acls
words = sys.argv[sys.argv.index("--bootstrap-server") :]
admin = KafkaAdminClient(bootstrap_servers=words[1])
end = words.index("--command-config")
admin.create_acls(list(as_acls(["kafka-acls.sh", *words[:2], "--add", *words[3:end]])))
"""
"""A replacement for Kafka's own command, which the tests do not have: it asks the real broker for the same."""


@pytest.mark.long
def test_where_brokers_ask_for_rights_a_generation_is_begun_with_the_commands_of_the_page(
    guarded_broker: tuple[str, str], tmp_path: Path
) -> None:
    bootstrap, of_admin = guarded_broker
    allow(of_admin)
    old = Cluster(bootstrap, PREFIX, tmp_path, (*SMALL, *login("dedup-worker")))
    create_topics(options_of(bootstrap, "dedup-operator"), specs(old.settings), 1)
    old.start_worker()
    sent = publish_pages(options_of(bootstrap, "dedup-crawler"), PREFIX, pages(0))
    for topic, count in (("verdicts", sent - 1), ("dead-letters", 1)):
        test_acls.read(bootstrap, topic, count)  # one of the pages is not text
    assert old.stop() == [0], old.workers[0].said()

    # The broker forgets the consumed offsets, and a repair finds them in the outputs.
    admin = KafkaAdminClient(bootstrap_servers=of_admin)
    admin.delete_groups([f"{old.settings.kafka.group}-pages"])
    admin.close()
    _, shown, accept = commands("repair", "Repair")
    listed = play(shown, old)
    assert listed.returncode == 1 and "by the outputs it is committed up to" in listed.stdout, listed
    assert play(accept, old).returncode == 0

    give, create, copy = commands("runbook", "Where brokers ask for rights")
    instead = tmp_path / "kafka-acls.sh"
    instead.write_text(ACLS_OF_KAFKA.format(python=sys.executable))
    instead.chmod(0o755)
    refused = play(copy, old, {" --config worker.yaml": ""})
    assert refused.returncode == 2 and "uthoriz" in refused.stderr, refused
    root = Path(__file__).resolve().parents[2]
    here = {"kafka-1:9092": of_admin, "deploy/kafka/acls.sh": f"PATH={tmp_path}:$PATH {root}/deploy/kafka/acls.sh"}
    given = play(give, old, here, PREFIX=PREFIX, GROUP=old.settings.kafka.group, PYTHONPATH=str(root))
    assert given.returncode == 0, given
    operator = {
        catalogue()[key].environment: "dedup-operator" for key in ("kafka.sasl_username", "kafka.sasl_password")
    }
    made = play(create, old, {" --config operator.yaml": ""}, **operator)
    assert made.returncode == 0, made
    copied = play(copy, old, {" --config worker.yaml": ""})
    assert copied.returncode == 0, copied
    new = Cluster(bootstrap, PREFIX, tmp_path, (*SMALL, *login("dedup-worker"), "topics.generation=b"), started=10)
    worker = new.start_worker()
    wait_for(lambda: ready(worker) or not worker.alive, "the worker of the new generation to be ready")
    assert new.stop() == [0], worker.said()
