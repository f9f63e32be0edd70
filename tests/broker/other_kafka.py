"""Other versions of Apache Kafka than the pinned one, for ``pytest --kafka-version``; jgo fetches their jars too."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import jgo

from tools.resolve_jars import LOG4J

BEFORE_LOG4J_2: Final = "3."
"""Kafka 3 logs with log4j 1. Its classes are replaced by these, which pass on to log4j 2, so that one log4j 2
configuration serves all versions."""


@cache
def jars_of(version: str) -> tuple[Path, ...]:
    """The jars from which that Kafka runs; where a library is wanted in two versions, Kafka's own version."""
    endpoints = [
        f"org.apache.kafka:kafka_2.13:{version}",
        f"org.apache.logging.log4j:log4j-core:{LOG4J}",
        f"org.apache.logging.log4j:log4j-slf4j-impl:{LOG4J}",
    ]
    if version.startswith(BEFORE_LOG4J_2):
        endpoints.append(f"org.apache.logging.log4j:log4j-1.2-api:{LOG4J}")
    found: dict[str, Path] = {}
    for endpoint in endpoints:
        for artifact in jgo.resolve(endpoint):
            name = f"{artifact.groupId}:{artifact.artifactId}"
            if name not in found:
                found[name] = Path(artifact.resolve())
    return tuple(found.values())


def classpath_of(version: str) -> Callable[[Callable[[str], None]], list[Path]]:
    """The replacement for ``worker.broker.jars.classpath``."""
    return lambda announce: list(jars_of(version))
