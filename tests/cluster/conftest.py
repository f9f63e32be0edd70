"""The fixture of most tests of real workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import SMALL, Cluster


@pytest.fixture
def cluster(broker: str, topic_prefix: str, tmp_path: Path) -> Iterator[Cluster]:
    """Two partitions and two shards, and no worker yet."""
    with Cluster(broker, topic_prefix, tmp_path, SMALL) as made:
        yield made
