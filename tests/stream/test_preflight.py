"""A worker begins only on topics with the agreed setup and on logs of its own scheme."""

from __future__ import annotations

import logging

import pytest

from crawler_plugin.wire.errors import Refused, Unavailable, UsageError
from crawler_plugin.wire.forgetting import Forget, ForgetCondition
from crawler_plugin.wire.messages import encode
from crawler_plugin.wire.topics import (
    DEAD_LETTERS,
    DEDUPLICATED,
    FINGERPRINTS,
    INDEX,
    MAX_BYTES_CONFIG,
    OUTPUT_MARGIN_BYTES,
    PAGES,
    VERDICTS,
    topic_specs,
)
from tests.columns import batch_of
from tests.simulation.schedule import SCHEME
from tests.stream.script import COMMIT, FLUSH, Page, Stage, batch, claim, policy, write
from worker.fingerprint.scheme import Scheme
from worker.stream.kafka.topic_admin import MISSING, MORE_PARTITIONS, PARTITIONS, Difference
from worker.stream.policy import SCHEME_HEADER, Policy
from worker.stream.preflight import check_scheme, check_topics, harmless_to_copy, limits, page_partitions

OTHER = Scheme.of({"near.k": 2, "shards": 2})
GONE = Difference("dedup.pages", MISSING, "8 partitions", None)


def check(stage: Stage, rules: Policy | None = None) -> None:
    check_scheme(stage.worker.log, rules or stage.policy)


def written_by_another(stage: Stage) -> None:
    """A batch of scheme OTHER, with the scheme's words next to it."""
    message = batch_of([claim(0)], OTHER.id)
    headers = [(SCHEME_HEADER, OTHER.encode())]
    stage.world.topics[FINGERPRINTS, 0].append(0, None, encode(message), headers, 0)


# topics


def test_topics_that_are_as_agreed_are_no_news(caplog: pytest.LogCaptureFixture) -> None:
    check_topics([])
    assert not caplog.records


def test_missing_topics_are_all_named_with_the_command_that_makes_them() -> None:
    also = Difference("dedup.index", MISSING, "8 partitions", None)
    with pytest.raises(Unavailable, match=r"dedup\.pages: missing; dedup\.index: missing\. .*topics create") as refusal:
        check_topics([GONE, also])
    assert refusal.value.exit_code == 3


@pytest.mark.parametrize(
    ("what", "wanted", "found"),
    [
        (PARTITIONS, "8", "4"),
        ("cleanup.policy", "compact", "delete"),
        ("cleanup.policy", "delete", "compact,delete"),
        ("message.timestamp.type", "LogAppendTime", "CreateTime"),
    ],
)
def test_what_could_make_a_verdict_wrong_is_refused(what: str, wanted: str, found: str) -> None:
    with pytest.raises(Refused, match=f"dedup.index: {what} should be {wanted}, is {found}") as refusal:
        check_topics([Difference("dedup.index", what, wanted, found)])
    assert refusal.value.exit_code == 4
    assert str(refusal.value).endswith("`python -m worker topics create --alter-config` sets what can be set")


def test_what_nothing_sets_is_told_once_with_its_own_next_move() -> None:
    both = [Difference(name, PARTITIONS, "8", "4", "Go back.") for name in ("dedup.index", "dedup.index-standby")]
    with pytest.raises(Refused, match=r"dedup\.index-standby: partitions should be 8, is 4\. [^`]*$") as refusal:
        check_topics(both)
    assert str(refusal.value).endswith("too early. Go back.")


@pytest.mark.parametrize("what", ["retention.ms", "retention.bytes", "max.message.bytes"])
def test_what_is_the_operators_own_is_only_told(what: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        check_topics([Difference("dedup.pages", what, "1", "2")])
    (record,) = caplog.records
    assert f"dedup.pages: {what} should be 1, is 2" in record.getMessage()
    assert "--alter-config" in record.getMessage()


def test_partitions_of_pages_that_the_setting_leaves_out_are_only_told_with_the_way_to_claim_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    more = Difference("dedup.pages", MORE_PARTITIONS, "8", "12", "Set it to 12.")
    check_topics([more])
    (record,) = caplog.records
    assert record.getMessage() == "dedup.pages: has 12 partitions, and topics.partitions is 8. Set it to 12."
    assert page_partitions(8, [more]) == range(12)
    assert page_partitions(8, []) == range(8)


@pytest.mark.parametrize(
    ("difference", "harmless"),
    [
        (Difference("dedup.fingerprints", PARTITIONS, "1", "2"), True),
        (Difference("dedup.index", PARTITIONS, "8", "12"), True),
        (Difference("dedup.index", PARTITIONS, "8", "4"), False),
        (Difference("dedup.index", "cleanup.policy", "compact", "delete"), False),
    ],
)
def test_an_index_is_copied_although_somebody_gave_it_or_the_logs_more_partitions(
    difference: Difference, harmless: bool
) -> None:
    assert harmless_to_copy(difference) is harmless


def test_a_missing_topic_comes_before_a_wrong_one() -> None:
    with pytest.raises(Unavailable):
        check_topics([Difference("dedup.index", PARTITIONS, "8", "4"), GONE])


# sizes


SPECS = {spec.topic: spec for spec in topic_specs(max_message_bytes=200_000)}


def smaller(topic: str, found: int) -> Difference:
    spec = SPECS[topic]
    return Difference(spec.name, MAX_BYTES_CONFIG, spec.config[MAX_BYTES_CONFIG], str(found))


@pytest.mark.parametrize(
    ("found", "logs", "outputs"),
    [
        ((), 200_000, 200_000 + OUTPUT_MARGIN_BYTES),
        ((smaller(PAGES, 140_000),), 200_000, 200_000 + OUTPUT_MARGIN_BYTES),
        ((smaller(INDEX, 140_000),), 140_000, 200_000 + OUTPUT_MARGIN_BYTES),
        ((smaller(DEDUPLICATED, 180_000), smaller(DEAD_LETTERS, 160_000)), 200_000, 160_000),
        ((smaller(DEDUPLICATED, 900_000),), 200_000, 200_000 + OUTPUT_MARGIN_BYTES),
    ],
)
def test_what_is_written_fits_into_topics_that_take_less_than_the_settings_say(
    found: tuple[Difference, ...], logs: int, outputs: int
) -> None:
    assert limits(list(SPECS.values()), found) == (logs, outputs)


def test_a_topic_that_may_not_take_a_verdict_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"dedup\.verdicts takes records of at most 120000 bytes \(max\.message\.bytes\).*--alter"
    ):
        limits(list(SPECS.values()), [smaller(VERDICTS, 120_000)])


# scheme


def test_empty_logs_have_no_scheme() -> None:
    check(Stage())


def test_a_log_that_begins_with_what_is_to_be_forgotten_has_its_scheme() -> None:
    said = [(Stage().policy.scheme, b""), (OTHER.id, OTHER.encode())]
    for scheme, words in said:
        stage = Stage()
        value = encode(Forget(scheme=scheme, writer=b"w", condition=ForgetCondition(kind="before", number=1)))
        stage.world.topics[FINGERPRINTS, 0].append(0, None, value, [(SCHEME_HEADER, words)], 0)
        if words:
            with pytest.raises(Refused, match=r"near\.k"):
                check(stage)
        else:
            check(stage)


def test_logs_of_the_same_scheme_are_taken() -> None:
    check(Stage().play(Page("http://a/"), COMMIT, FLUSH))


def test_a_log_of_another_scheme_is_refused_with_the_setting_that_differs() -> None:
    stage = Stage()
    written_by_another(stage)
    with pytest.raises(Refused, match=r"near\.k is 1 here and 2 there") as refusal:
        check(stage)
    assert refusal.value.exit_code == 4


def test_without_words_beside_it_the_ids_are_named() -> None:
    stage = Stage()
    write(stage.world, batch(claim(0), scheme=OTHER.id))
    with pytest.raises(Refused, match=f"{OTHER.id.hex()} instead of {SCHEME.hex()}"):
        check(stage)


def test_the_first_batch_decides() -> None:
    stage = Stage().play(Page("http://a/"), COMMIT)
    written_by_another(stage)
    check(stage)


def test_foreign_records_before_the_first_batch_are_passed_over() -> None:
    stage = Stage()
    write(stage.world, b"foreign", FINGERPRINTS)
    stage.world.topics[FINGERPRINTS, 0].append(0, None, None, (), 0)
    check(stage)
    written_by_another(stage)
    with pytest.raises(Refused):
        check(stage)


def test_after_retention_the_index_blocks_decide() -> None:
    stage = Stage().play(Page("http://a/"), COMMIT, FLUSH)
    log = stage.world.topics[FINGERPRINTS, 0]
    log.forget(log.end)
    check(stage)
    with pytest.raises(Refused, match=INDEX):
        check(stage, policy(scheme=OTHER.id, scheme_text=OTHER.encode()))
