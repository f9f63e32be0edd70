"""The topics: the effects of their partitions and policies."""

from __future__ import annotations

import pytest

from crawler_plugin.wire import topics
from crawler_plugin.wire.topics import (
    DEAD_LETTERS,
    DEDUPLICATED,
    INDEX_STANDBY,
    OUTPUT_MARGIN_BYTES,
    TopicSpec,
    group_names,
    topic_name,
    topic_specs,
)


def specs(**changes: object) -> dict[str, TopicSpec]:
    return {spec.topic: spec for spec in topic_specs(**changes)}  # type: ignore[arg-type]


def test_there_are_ten_in_a_fixed_order_and_one_is_for_second_holders_only() -> None:
    made = specs(replicas=2)
    assert tuple(made) == topics.ALL
    assert len(topics.ALL) == 10
    assert made[INDEX_STANDBY].partitions == made["index"].partitions
    del made[INDEX_STANDBY]
    assert specs() == made


def test_where_no_page_is_copied_there_is_no_topic_for_copies_and_the_others_are_the_same() -> None:
    made = specs()
    del made[DEDUPLICATED]
    assert specs(copies=False) == made


def test_names_carry_the_prefix() -> None:
    assert topic_name("dedup.", topics.PAGES) == "dedup.pages"
    assert {spec.name for spec in specs(prefix="").values()} == set(topics.ALL) - {INDEX_STANDBY}
    assert specs(prefix="a.b-")["dead-letters"].name == "a.b-dead-letters"


def test_a_generation_has_topics_and_groups_of_its_own_and_shares_what_crawls_write() -> None:
    assert [spec.name for spec in topic_specs(generation="b")] == [
        "dedup.pages",
        "dedup.fingerprints.b",
        "dedup.answers.b",
        "dedup.index.b",
        "dedup.deduplicated.b",
        "dedup.verdicts.b",
        "dedup.dead-letters.b",
        "dedup.jobs",
        "dedup.findings.b",
    ]
    assert group_names("dedup") == ("dedup-pages", "dedup-shards")
    assert group_names("dedup", "b") == ("dedup-pages.b", "dedup-shards.b")


def test_the_logs_have_one_partition_since_their_order_is_the_order_of_the_world() -> None:
    made = specs(partitions=5, shards=3)
    assert {name: spec.partitions for name, spec in made.items()} == {
        "pages": 5,
        "fingerprints": 1,
        "answers": 1,
        "index": 3,
        "deduplicated": 5,
        "verdicts": 5,
        "dead-letters": 5,
        "jobs": 1,
        "findings": 1,
    }


def test_the_index_and_what_is_known_of_jobs_are_compacted_and_keep_everything() -> None:
    made = specs(replicas=2)
    policies = {name: spec.config["cleanup.policy"] for name, spec in made.items()}
    assert policies == dict.fromkeys(topics.ALL, "delete") | {"index": "compact", "jobs": "compact"}
    assert all("retention.ms" not in made[topic].config for topic in ("index", "jobs"))


def test_all_topics_are_dated_by_the_broker_so_that_no_other_clock_decides_what_is_kept() -> None:
    assert {spec.config["message.timestamp.type"] for spec in specs().values()} == {"LogAppendTime"}


@pytest.mark.parametrize(("days", "milliseconds"), [(7, "604800000"), (0.5, "43200000"), (1 / 86400, "1000")])
def test_retention_is_given_in_days_and_has_no_limit_of_bytes(days: float, milliseconds: str) -> None:
    config = specs(retention_days=days)["fingerprints"].config
    assert (config["retention.ms"], config["retention.bytes"]) == (milliseconds, "-1")


def test_every_topic_takes_messages_of_the_given_size_and_outputs_the_verdict_s_headers_besides() -> None:
    sizes = {topic: int(spec.config["max.message.bytes"]) for topic, spec in specs(max_message_bytes=12345).items()}
    passed_on = {DEDUPLICATED, DEAD_LETTERS}
    assert {sizes.pop(topic) for topic in passed_on} == {12345 + OUTPUT_MARGIN_BYTES}
    assert set(sizes.values()) == {12345}
