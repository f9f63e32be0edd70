"""The broker is set up for the features that this project needs: compaction, transactions, large records."""

from __future__ import annotations

import pytest
from kafka.admin import KafkaAdminClient
from kafka.errors import UnknownTopicOrPartitionError

pytestmark = pytest.mark.cluster


def test_a_topic_that_nobody_made_does_not_spring_up(broker: str, topic_prefix: str) -> None:
    with KafkaAdminClient(bootstrap_servers=broker) as admin:
        (described,) = admin.describe_topics([topic_prefix + "misspelt"])
        assert described["error_code"] == UnknownTopicOrPartitionError.errno
        assert topic_prefix + "misspelt" not in admin.list_topics()
