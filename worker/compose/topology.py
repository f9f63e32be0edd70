"""Settings → topics, groups and the broker as commands see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawler_plugin.wire.topics import TopicSpec, topic_specs
from worker.stream.kafka.connection import client_options
from worker.stream.kafka.outsider import ClusterView

if TYPE_CHECKING:
    from worker.config import Settings


def specs(settings: Settings) -> tuple[TopicSpec, ...]:
    """The required state of the topics for these settings."""
    topics = settings.topics
    return topic_specs(
        prefix=topics.prefix,
        generation=topics.generation,
        partitions=topics.partitions,
        shards=topics.shards,
        retention_days=topics.retention_days,
        max_message_bytes=topics.max_message_bytes,
        copies=settings.output.mode != "verdicts",
        replicas=settings.index.replicas,
    )


def cluster(settings: Settings) -> ClusterView:
    """A view from outside of the generation that the settings name; close it afterwards.

    Raises:
        Unavailable: the broker is not there.
    """
    topics = settings.topics
    return ClusterView(
        client_options(settings.kafka),
        prefix=topics.prefix,
        group=settings.kafka.group,
        generation=topics.generation,
        max_message_bytes=topics.max_message_bytes,
    )
