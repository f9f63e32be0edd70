"""The real broker for tests: one for the whole session, and names of topics that no other test uses.

A broker that does not start is an error of every test that uses it, never a skip.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.broker.other_kafka import classpath_of
from worker.broker import server
from worker.broker.server import LocalBroker


@pytest.fixture(scope="session", autouse=True)
def kafka_version(request: pytest.FixtureRequest) -> Iterator[None]:
    """Brokers that tests start in this process have the version that ``--kafka-version`` names."""
    version = request.config.getoption("--kafka-version")
    with pytest.MonkeyPatch.context() as patched:
        if version:
            patched.setattr(server, "classpath", classpath_of(version))
        yield


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``host:port`` of a running Apache Kafka."""
    with LocalBroker(data_dir=tmp_path_factory.mktemp("broker") / "data", announce=print) as running:
        yield running.bootstrap_servers


@pytest.fixture
def topic_prefix() -> str:
    """A prefix for topics and groups that only this test uses, ending in a dot."""
    return f"test-{uuid.uuid4().hex[:12]}."
