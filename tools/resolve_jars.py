"""``python -m tools.resolve_jars > worker/broker/kafka.lock``: pins the jars after a change of ``KAFKA``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import jgo

from worker.broker.jars import KAFKA

LOG4J: Final = "2.25.3"
ENDPOINTS: Final = (
    f"org.apache.kafka:kafka_2.13:{KAFKA}",
    # Resolved separately: in one graph with Kafka, log4j's bill of materials turns kafka-clients into 3.8.0.
    f"org.apache.logging.log4j:log4j-slf4j-impl:{LOG4J}",
)


def resolved() -> Iterator[str]:
    """The lines of ``kafka.lock``: every jar of Kafka, and of the log4j binding the one jar itself."""
    kafka, binding = (jgo.resolve(endpoint) for endpoint in ENDPOINTS)
    for artifact in [*kafka, binding[0]]:
        sha256 = hashlib.sha256(Path(artifact.resolve()).read_bytes()).hexdigest()
        yield f"{artifact.groupId}:{artifact.artifactId}:{artifact.version} {sha256}"


if __name__ == "__main__":
    print(*resolved(), sep="\n")
