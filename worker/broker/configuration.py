"""The broker's configuration: Kafka's properties, log4j's, and the JVM's options.

All paths are relative to the data folder, where the JVM is started: so no character of the folder's name has a meaning
in a properties file (a comma in ``log.dirs`` would make two folders of one).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LOGS: Final = "kafka"
"""Folder of the topics' logs and of the cluster's metadata."""
PROPERTIES: Final = "server.properties"
LOG4J: Final = "log4j2.properties"
BROKER_LOG: Final = "broker.log"
JVM_OUTPUT: Final = "jvm.log"
"""The JVM's own output, of the last start only."""

HOST: Final = "127.0.0.1"
DEFAULT_HEAP_MB: Final = 384
AMPLE_HEAP_MB: Final = 1024
"""The heap that Kafka's own start script gives. From here on the broker has all of it at once and collects as there."""
LARGEST_RECORD_BATCH: Final = 16 * 1024 * 1024
"""Bytes; the topics set their own bound (8 MiB by default), this one holds for topics that someone makes by hand."""


@dataclass(frozen=True)
class Node:
    """One of several brokers that are a cluster. ``number`` counts from 1; ``controllers`` are ports, one for each
    node."""

    number: int
    cluster_id: str
    controllers: tuple[int, ...]


def node_properties(node: Node) -> dict[str, str]:
    """The properties of a cluster's node in addition to ``server_properties``: the other nodes, and how much is copied.

    Every topic is on all nodes, unless its maker says otherwise, and accepts a record once two of them have it.
    """
    copies, least = str(len(node.controllers)), "2"
    voters = (f"{number}@{HOST}:{port}" for number, port in enumerate(node.controllers, 1))
    return {
        "node.id": str(node.number),
        "controller.quorum.voters": ",".join(voters),
        "default.replication.factor": copies,
        "min.insync.replicas": least,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": least,
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": least,
        # A follower that is dead or frozen holds up every record until it no longer counts: not for 30 s.
        "replica.lag.time.max.ms": "3000",
    }


def server_properties(port: int, controller_port: int) -> dict[str, str]:
    """Settings of one node that is broker and controller, reachable from this machine only."""
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{HOST}:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": LOGS,
        # A misspelt topic is an error, not a topic with one partition.
        "auto.create.topics.enable": "false",
        # There is no other node to replicate to.
        "default.replication.factor": "1",
        "min.insync.replicas": "1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        # Never to be changed: keys of groups and transactions are hashed over these. 50, the default, starts slower.
        "offsets.topic.num.partitions": "8",
        "transaction.state.log.num.partitions": "8",
        # The first member of a group does not wait three seconds for others, and tests may ask for short sessions.
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "500",
        # A dead worker's transaction is aborted within this of its transaction.timeout.ms, not up to 10 s later.
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
        # After a crash the controller believes the broker alive until its session ends, and refuses its return till
        # then.
        "broker.session.timeout.ms": "2000",
        "broker.heartbeat.interval.ms": "400",
        "message.max.bytes": str(LARGEST_RECORD_BATCH),
        "log.segment.bytes": str(64 * 1024 * 1024),
        "log.index.size.max.bytes": str(1024 * 1024),
        "log.retention.check.interval.ms": "10000",
        "log.segment.delete.delay.ms": "1000",
        # One cleaner that looks twice a second; its buffer (24 bytes a key) is heap: not 128 MiB of it, the default.
        "log.cleaner.threads": "1",
        "log.cleaner.backoff.ms": "500",
        "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
        "num.network.threads": "2",
        "num.io.threads": "4",
        "background.threads": "2",
        # Requests that wait for a thread are heap, too; the first number must not be above the second.
        "socket.request.max.bytes": str(64 * 1024 * 1024),
        "queued.max.request.bytes": str(64 * 1024 * 1024),
    }


def log4j_properties() -> dict[str, str]:
    """Warnings and worse, and the starts and ends, into ``broker.log`` and one older file of at most 8 MB."""
    return {
        "status": "error",
        "appender.file.type": "RollingFile",
        "appender.file.name": "file",
        "appender.file.fileName": BROKER_LOG,
        "appender.file.filePattern": f"{BROKER_LOG}.%i",
        "appender.file.layout.type": "PatternLayout",
        "appender.file.layout.pattern": "%d{ISO8601} %p %m (%c)%n",
        "appender.file.policies.type": "Policies",
        "appender.file.policies.size.type": "SizeBasedTriggeringPolicy",
        "appender.file.policies.size.size": "8MB",
        "appender.file.strategy.type": "DefaultRolloverStrategy",
        "appender.file.strategy.max": "1",
        "rootLogger.level": "warn",
        "rootLogger.appenderRef.file.ref": "file",
        "logger.server.name": "kafka.server.KafkaRaftServer",
        "logger.server.level": "info",
    }


def java_options(heap_mb: int) -> list[str]:
    """The JVM's options: small and quick to start rather than fast for days, below ``AMPLE_HEAP_MB``."""
    if heap_mb >= AMPLE_HEAP_MB:
        # A collection of a third of a gigabyte at once stops everything for 40 to 60 ms.
        memory = [f"-Xms{heap_mb}m", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35"]
    else:
        # A third of its initial heap is for new objects: with little, a busy broker stands still often.
        memory = [f"-Xms{max(min(64, heap_mb), heap_mb // 6)}m", "-XX:+UseSerialGC"]
    return [
        f"-Xmx{heap_mb}m",
        *memory,
        "-XX:TieredStopAtLevel=1",
        # Only reserved: with less, everything stops for .1 s a minute after the start, to discard old code.
        "-XX:ReservedCodeCacheSize=240m",
        # Without heap a broker lives on as a wreck that answers some requests; it is better if it ends.
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:ErrorFile=jvm-crash.log",
        # Direct buffers above this are freed at once; otherwise every thread keeps one of its largest message.
        "-Djdk.nio.maxCachedBufferSize=262144",
        "-Djava.awt.headless=true",
        f"-Dlog4j2.configurationFile={LOG4J}",
        "--enable-native-access=ALL-UNNAMED",
    ]


def write_properties(path: Path, properties: Mapping[str, str]) -> None:
    """Write ``properties`` for Java; values hold no character that Java would read differently."""
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()), "ascii")
