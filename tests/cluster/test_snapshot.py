"""A real worker that is stopped and started again with a folder for snapshots."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.outside import traces
from tests.cluster.test_worker import articles
from tests.guarantees import check_guarantees

pytestmark = pytest.mark.cluster


def restored(said: str) -> list[tuple[int, int]]:
    """(entries, blocks read) of each shard."""
    return [(int(a), int(b)) for a, b in re.findall(r"restored (\d+) entries from (\d+) blocks", said)]


def test_a_restart_takes_survivors_from_snapshots_and_blocks_only_from_behind_them(
    cluster: Cluster, tmp_path: Path
) -> None:
    kept = f"index.state_dir={tmp_path / 'state'}"
    cluster.publish(articles(0, 60))
    first = cluster.start_worker(kept)
    cluster.wait_until_committed()
    assert first.stop() == 0
    snapshots = sorted((tmp_path / "state").iterdir())
    assert [file.suffix for file in snapshots] == [".snapshot"] * len(snapshots)
    assert snapshots
    second = cluster.start_worker(kept)
    cluster.publish(articles(60, 30))
    cluster.wait_until_committed()
    assert "is not used" not in second.said()
    assert sum(entries for entries, _ in restored(second.said())) > 0
    assert second.stop() == 0
    snapshots[0].write_bytes(snapshots[0].read_bytes()[:-3])
    third = cluster.start_worker(kept)
    cluster.publish(articles(0, 30))
    cluster.wait_until_committed()
    assert third.said().count("is not used") == 1
    check_guarantees(traces(cluster.bootstrap, cluster.prefix))
    assert third.stop() == 0
