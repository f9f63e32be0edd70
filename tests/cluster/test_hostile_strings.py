"""Strings that once took ages, on a real worker: it goes on, answers requests, and ends when it gets a signal."""

from __future__ import annotations

import urllib.request
from collections import Counter
from pathlib import Path

import pytest

from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.topics import VERDICTS
from tests.cluster.cluster import Cluster
from tests.cluster.hostile import COPIES, odd_urls
from tests.cluster.outside import read

pytestmark = pytest.mark.cluster
ANSWER_SECONDS = 20
"""A limit for an answer that takes milliseconds; the string took years."""


def test_copies_under_urls_of_many_blanks_hold_up_neither_verdicts_nor_livez_nor_the_end(
    broker: str, topic_prefix: str, tmp_path: Path
) -> None:
    with Cluster(broker, topic_prefix, tmp_path, ("topics.partitions=1", "topics.shards=1")) as cluster:
        worker = cluster.start_worker()
        cluster.publish(odd_urls(COPIES))
        cluster.wait_until_committed()
        found = [Verdict.decode(record.value).verdict for record in read(broker, topic_prefix + VERDICTS)]
        assert Counter(found) == {"unique": 1, "duplicate": COPIES - 1}
        assert worker.silence(ANSWER_SECONDS) < ANSWER_SECONDS
        with urllib.request.urlopen(worker.address + "/livez", timeout=ANSWER_SECONDS) as answer:
            assert answer.status == 200
        assert worker.stop() == 0
