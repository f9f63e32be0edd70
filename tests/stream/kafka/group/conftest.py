"""A test's own topics on the real broker, and members of a group on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from crawler_plugin.wire.topics import topic_specs
from tests.stream.kafka.group.alone import PARTITIONS, Alone
from worker.config import KafkaSettings
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.topic_admin import create_topics


@pytest.fixture
def options(broker: str, topic_prefix: str) -> Iterator[dict[str, Any]]:
    made = client_options(KafkaSettings(bootstrap_servers=broker))
    create_topics(made, topic_specs(prefix=topic_prefix, partitions=PARTITIONS), 1)
    yield made


@pytest.fixture
def join(options: dict[str, Any], topic_prefix: str) -> Iterator[Callable[..., Alone]]:
    made: list[Alone] = []

    def one_more(**timing: int) -> Alone:
        made.append(Alone(options, topic_prefix, **timing))
        return made[-1]

    yield one_more
    for alone in made:
        alone.pages.close()
