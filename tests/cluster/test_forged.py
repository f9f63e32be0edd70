"""A forged record on ``fingerprints``: workers end, ``repair`` says why, and the printed advice leads on without
loss."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from kafka import KafkaProducer

from crawler_plugin.wire.messages import Batch, Claim, decode, encode
from crawler_plugin.wire.topics import FINGERPRINTS, PAGES
from tests.cluster.cluster import SMALL, Cluster, WorkerProcess, running
from tests.cluster.crawl import Page, invented
from tests.cluster.outside import read, traces
from tests.columns import batch_of
from tests.waiting import wait_for

pytestmark = pytest.mark.cluster


def command(cluster: Cluster, *words: str) -> subprocess.CompletedProcess[str]:
    """Run another command, with the workers' settings."""
    settings = [argument for pair in cluster.overrides for argument in ("--set", pair)]
    return subprocess.run(
        [sys.executable, "-m", "worker", *settings, *words],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        cwd=cluster.folder,
    )


def forge(cluster: Cluster) -> int:
    """Append a forged record in the right format; returns its offset."""
    first = next(record for record in read(cluster.bootstrap, cluster.prefix + FINGERPRINTS))
    scheme = decode(Batch, first.value).scheme
    claim = Claim(partition=0, offset=2**62, clock=0, url="http://forged/", fingerprint=0)
    value = encode(batch_of([claim], scheme, b"forger00"))
    producer = KafkaProducer(**cluster.options)
    try:
        sent = producer.send(cluster.prefix + FINGERPRINTS, value=value, partition=0)
        offset: int = sent.get(timeout=30).offset
        return offset
    finally:
        producer.close(timeout=5)


def test_the_printed_words_lead_on_and_every_page_is_accounted_for_once(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    with Cluster(broker, topic_prefix, tmp_path, SMALL) as cluster:
        workers: list[WorkerProcess] = [running(cluster.start_worker()) for _ in range(2)]
        pages = invented_pages()
        cluster.publish(pages[:60])
        cluster.wait_until_committed()
        offset = forge(cluster)
        cluster.publish(pages[60:])
        said = rf"record {offset} of {FINGERPRINTS} .*index copy --to"
        wait_for(lambda: not any(worker.alive for worker in workers), "the workers to end", 120)
        for worker in workers:
            assert worker.process.returncode == 4, worker.said()[-3000:]
            assert re.search(said, worker.said()), worker.said()[-3000:]
        cluster.workers.clear()

        looked = command(cluster, "repair")
        assert looked.returncode == 1, looked
        assert re.search(said, looked.stderr), looked

        copied = command(cluster, "index", "copy", "--to", "b")
        if copied.returncode == 4:  # a shard's owner ended before it had written its blocks: do as the message says
            again = cluster.start_worker()
            wait_for(lambda: not again.alive, "the worker to end", 120)
            cluster.workers.clear()
            copied = command(cluster, "index", "copy", "--to", "b")
        assert copied.returncode == 0, copied

        new = Cluster(broker, topic_prefix, tmp_path, (*SMALL, "topics.generation=b"))
        new.started = 10
        with new:
            running(new.start_worker())
            new.wait_until_committed()
            assert new.stop() == [0]
        both = [traces(broker, topic_prefix), traces(broker, topic_prefix, generation="b")]
        seen = Counter(source for found in both for source in (*(v.source for v in found.verdicts), *found.dead))
        place = {(record.partition, record.offset) for record in read(broker, topic_prefix + PAGES)}
        assert seen == Counter(place)
        assert len(place) == len(pages)


def invented_pages() -> list[Page]:
    """A hundred pages of all kinds."""
    made = invented(seed=1)
    return [next(made) for _ in range(100)]
