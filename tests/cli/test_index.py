"""``python -m worker index`` with the real broker: it shows, checks and copies the index."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from kafka import KafkaProducer

from crawler_plugin.wire.errors import CheckFailed, Refused, Unavailable, UsageError
from crawler_plugin.wire.topics import FINGERPRINTS, INDEX
from tests.cluster.cluster import Cluster, grow
from tests.cluster.crawl import invented
from tests.cluster.outside import read, traces
from worker.cli import index

pytestmark = pytest.mark.cluster


@pytest.fixture
def cluster(broker: str, topic_prefix: str, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(broker, topic_prefix, tmp_path, ["topics.shards=2"]) as made:
        yield made


def inspect(cluster: Cluster, *arguments: str, prefix: str = "") -> int:
    return command(cluster, "inspect", *arguments, prefix=prefix)


def command(cluster: Cluster, *arguments: str, prefix: str = "") -> int:
    parser = argparse.ArgumentParser()
    index.configure(parser)
    topics = cluster.settings.topics.model_copy(update={"prefix": prefix or cluster.prefix})
    settings = cluster.settings.model_copy(update={"topics": topics})
    return index.run(parser.parse_args(arguments), lambda: settings)


def test_where_somebody_gave_the_logs_and_the_index_more_partitions_a_copy_is_the_way_on(cluster: Cluster) -> None:
    for topic, partitions in ((FINGERPRINTS, 2), (INDEX, 3)):
        grow(cluster.options, cluster.prefix + topic, partitions)
    with pytest.raises(Refused, match=r"must have one partition.*`python -m worker index copy --to NAME`"):
        inspect(cluster)
    with pytest.raises(Refused, match="is empty, so there is nothing to copy"):
        command(cluster, "copy", "--to", "b")


def test_it_tells_of_every_shard_and_of_damage(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert inspect(cluster) == 0
    assert "together 0 entries" in capsys.readouterr().out

    cluster.start_worker()
    cluster.publish(islice(invented(seed=1), 80))
    cluster.wait_until_committed()
    assert cluster.stop() == [0]
    found = traces(cluster.bootstrap, cluster.prefix)
    unique = sum(record.verdict == "unique" for record in found.verdicts)
    before = read(cluster.bootstrap, cluster.prefix + INDEX)
    assert inspect(cluster, "--json") == 0
    shards = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [shard["shard"] for shard in shards] == [0, 1]
    assert sum(shard["entries"] for shard in shards) == unique
    assert {shard["complete_up_to"] for shard in shards} == {found.log[-1][0]}
    assert sum(shard["bytes"] for shard in shards) == sum(len(r.key or b"") + len(r.value or b"") for r in before)
    assert all(len(shard["writers"]) == 1 and not shard["problems"] for shard in shards)
    assert read(cluster.bootstrap, cluster.prefix + INDEX) == before
    out = tmp_path / "exported"
    assert command(cluster, "export", "--out", str(out)) == 0
    assert f"exported {unique:,} survivors, up to batch {found.log[-1][0]}; 0 batches came" in capsys.readouterr().out
    survivors = [record.url for record in found.verdicts if record.verdict == "unique"]
    assert sorted(pq.read_table(out).column("url").to_pylist()) == sorted(survivors)
    with pytest.raises(UsageError, match="holds an export"):
        command(cluster, "export", "--out", str(out))

    elsewhere = f"{cluster.prefix}elsewhere."
    for _ in range(2):
        assert command(cluster, "import", str(out), prefix=elsewhere) == 0
        assert f"imported {unique:,} survivors\nstart workers with" in capsys.readouterr().out
    assert inspect(cluster, prefix=elsewhere) == 0
    assert f"together {unique:,} entries" in capsys.readouterr().out
    (out / "00000.parquet").write_bytes(b"")
    with pytest.raises(Refused, match=r"00000\.parquet of this export is damaged"):
        command(cluster, "import", str(out), prefix=f"{cluster.prefix}nowhere.")

    producer = KafkaProducer(**cluster.options)
    producer.send(cluster.prefix + INDEX, key=b"foreign", value=b"no block", partition=1).get(timeout=30)
    producer.close()
    with pytest.raises(CheckFailed, match=r"shard 1: a record cannot be read, offset \d+"):
        inspect(cluster)
    assert f"together {unique} entries" in capsys.readouterr().out


def test_topics_that_are_not_there_are_named_with_the_next_move(cluster: Cluster) -> None:
    with pytest.raises(Unavailable, match=rf"{cluster.prefix}nowhere\.index: missing.*topics create"):
        inspect(cluster, prefix=f"{cluster.prefix}nowhere.")
