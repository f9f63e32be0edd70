"""The topics as values: names, partitions, cleanup policies. A leaf: it imports nothing of this project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DAY_MS: Final = 24 * 60 * 60 * 1000
OUTPUT_MARGIN_BYTES: Final = 256 * 1024
"""An output record may be larger than its page by this many bytes, see ``worker.stream.partition.record_sizes``."""

PAGES: Final = "pages"
FINGERPRINTS: Final = "fingerprints"
ANSWERS: Final = "answers"
INDEX: Final = "index"
INDEX_STANDBY: Final = "index-standby"
"""An empty topic: its partitions stand for the shards' second holders in the group that assigns them."""
DEDUPLICATED: Final = "deduplicated"
VERDICTS: Final = "verdicts"
DEAD_LETTERS: Final = "dead-letters"
JOBS: Final = "jobs"
FINDINGS: Final = "findings"
ALL: Final = (PAGES, FINGERPRINTS, ANSWERS, INDEX, INDEX_STANDBY, DEDUPLICATED, VERDICTS, DEAD_LETTERS, JOBS, FINDINGS)
OF_CRAWLS: Final = (PAGES, JOBS)
"""Topics that crawls write, the same in all generations."""

MAX_BYTES_CONFIG: Final = "max.message.bytes"
"""The topic setting that bounds a record."""
DEFAULT_PREFIX: Final = "dedup."


def topic_name(prefix: str, topic: str, generation: str = "") -> str:
    """The name on the broker, for example ``dedup.index``, or ``dedup.index.b`` in generation ``b``.

    A generation is a set of all topics except those of crawls, which all generations share.
    """
    return prefix + topic + (f".{generation}" if generation and topic not in OF_CRAWLS else "")


def group_names(group: str, generation: str = "") -> tuple[str, str]:
    """The two consumer groups on the broker: on ``pages`` and on ``index``, both of one generation."""
    suffix = f".{generation}" if generation else ""
    return f"{group}-pages{suffix}", f"{group}-shards{suffix}"


@dataclass(frozen=True)
class TopicSpec:
    """The required setup of one topic on the broker.

    ``partitions`` is exact for the two logs and the index, since the order of claims and the number of shards depend on
    it; the other topics may have more. ``config`` holds the topic settings that ``topics check`` compares, spelled as
    the broker does.
    """

    topic: str
    name: str
    partitions: int
    config: dict[str, str]


def topic_specs(
    *,
    prefix: str = DEFAULT_PREFIX,
    generation: str = "",
    partitions: int = 8,
    shards: int = 8,
    retention_days: float = 7,
    max_message_bytes: int = 8 * 1024 * 1024,
    copies: bool = True,
    replicas: int = 1,
) -> tuple[TopicSpec, ...]:
    """All topics of a generation: ``deduplicated`` where pages are copied, ``index-standby`` with two ``replicas``.

    ``retention_days`` is for the topics that are not compacted; a worker cannot replay further back.
    ``max_message_bytes`` bounds one record batch as the broker counts it.
    """
    # The broker dates all records. If writers did, the records of a writer whose clock is behind would be removed
    # unread, brokers would refuse a writer whose clock is an hour ahead, and a page dated 2099 would expire the index.
    dated = {"message.timestamp.type": "LogAppendTime"}
    kept = {"cleanup.policy": "delete", "retention.ms": str(int(retention_days * DAY_MS)), "retention.bytes": "-1"}

    def spec(topic: str, count: int, config: dict[str, str]) -> TopicSpec:
        margin = OUTPUT_MARGIN_BYTES if topic in (DEDUPLICATED, DEAD_LETTERS) else 0
        size = {MAX_BYTES_CONFIG: str(max_message_bytes + margin)}
        return TopicSpec(topic, topic_name(prefix, topic, generation), count, config | dated | size)

    return (
        spec(PAGES, partitions, kept),
        spec(FINGERPRINTS, 1, kept),
        spec(ANSWERS, 1, kept),
        spec(INDEX, shards, {"cleanup.policy": "compact"}),
        *([spec(INDEX_STANDBY, shards, kept)] if replicas > 1 else []),
        *([spec(DEDUPLICATED, partitions, kept)] if copies else []),
        spec(VERDICTS, partitions, kept),
        spec(DEAD_LETTERS, partitions, kept),
        spec(JOBS, 1, {"cleanup.policy": "compact"}),
        spec(FINDINGS, 1, kept),
    )
