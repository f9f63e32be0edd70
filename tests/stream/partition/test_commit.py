"""The outputs of a committed page, and the one transaction in flight."""

from __future__ import annotations

from typing import Final

import msgspec
import pytest

from crawler_plugin.wire.messages import Hit
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.page_headers import PageMeta, text_headers
from crawler_plugin.wire.topics import DEAD_LETTERS, DEDUPLICATED, PAGES, VERDICTS
from tests.simulation.memory_log import in_memory
from tests.simulation.schedule import SCHEME
from tests.stream.script import (
    ANSWER,
    COMMIT,
    CRASH,
    Page,
    Stage,
    claim,
    policy,
)
from worker.stream.log import Output, Record
from worker.stream.partition.commit import OVERSIZE, outputs_of
from worker.stream.policy import MAX_URL_BYTES
from worker.stream.states import PartitionState
from worker.verdict.decide import Decision

META: Final = PageMeta(url="http://a/#top", status=200, fetched=1234, spider="news", job="7")
RECORD: Final = Record(3, 17, b"http://a/", b"<html>", META.to_headers(), 5678)
CLAIM: Final = claim(17, 0xAB, partition=3, url="http://a/", language="en", tokens=300)
FIRST: Final = Hit(place=1, order=(4, 2), url="http://first/", distance=2, reason="hamming")
ITSELF: Final = Hit(place=1, order=(4, 2), url="http://a/", distance=0, reason="exact-text")
UNIQUE: Final = Decision((7, 1), CLAIM, "unique", "first")
DUPLICATE: Final = Decision((7, 1), CLAIM, "duplicate", "hamming", FIRST)
REFETCH: Final = Decision((7, 1), CLAIM, "refetch", "same-url", ITSELF)
DEAD: Final = Decision((7, 1), CLAIM, "dead", "parser-raised: RecursionError: too deep")


def outputs(decision: Decision, record: Record = RECORD, **changes: object) -> dict[str, Output]:
    """The outputs by topic; there is at most one on each."""
    written = outputs_of(record, decision, policy(**changes))
    assert len({output.topic for output in written}) == len(written)
    return {output.topic: output for output in written}


def verdict_headers(output: Output) -> dict[str, str]:
    return {name: value for name, value in text_headers(output.headers).items() if name.startswith("dedup-")}


# outputs


@pytest.mark.parametrize(
    ("decision", "headers"),
    [
        (UNIQUE, {"dedup-verdict": "unique", "dedup-reason": "first"}),
        (
            DUPLICATE,
            {
                "dedup-verdict": "duplicate",
                "dedup-duplicate-of": "http://first/",
                "dedup-distance": "2",
                "dedup-reason": "hamming",
            },
        ),
        (
            REFETCH,
            {
                "dedup-verdict": "refetch",
                "dedup-duplicate-of": "http://a/",
                "dedup-distance": "0",
                "dedup-reason": "same-url",
            },
        ),
    ],
    ids=["unique", "duplicate", "refetch"],
)
def test_a_page_passes_on_as_it_came_with_its_verdict_in_the_headers(
    decision: Decision, headers: dict[str, str]
) -> None:
    passed = outputs(decision)[DEDUPLICATED]
    assert (passed.partition, passed.key, passed.value) == (3, b"http://a/", b"<html>")
    assert verdict_headers(passed) == headers
    assert PageMeta.from_headers(passed.headers) == META


WITH_PASSWORD: Final = META.at("http://user:secret@a/#top").to_headers()


@pytest.mark.parametrize("decision", [UNIQUE, DEAD], ids=["judged", "dead"])
@pytest.mark.parametrize("key", [b"http://user:secret@a/", b"http://user:secret@a:x/", b"\xffuser:secret@a", None])
def test_no_password_in_a_url_passes_on_whoever_published_the_page(decision: Decision, key: bytes | None) -> None:
    for output in outputs(decision, RECORD._replace(key=key, headers=WITH_PASSWORD)).values():
        assert b"secret" not in b"".join((output.key or b"", output.value or b"", *dict(output.headers).values()))
        assert dict(output.headers)["url"] == b"http://a/#top"


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        (b"http://A:80/?", b"http://a/"),
        (b"http://a/", b"http://a/"),
        (b"http://other/", b"http://other/"),
        (b"\xff", b"\xff"),
        (b"", b""),
        (None, None),
    ],
)
def test_a_key_that_a_spider_has_spelled_by_another_version_of_the_rule_becomes_ours_and_others_stay(
    given: bytes | None, passed: bytes | None
) -> None:
    assert outputs(UNIQUE, RECORD._replace(key=given))[DEDUPLICATED].key == passed


@pytest.mark.parametrize(("decision", "left"), [(UNIQUE, {VERDICTS}), (DUPLICATE, {VERDICTS}), (DEAD, set())])
def test_a_page_that_is_only_counted_leaves_its_verdict_and_nothing_of_itself(
    decision: Decision, left: set[str]
) -> None:
    assert {output.topic for output in outputs_of(RECORD, decision, policy(), counted=True)} == left


def test_the_verdict_record_says_all_that_is_known() -> None:
    written = outputs(DUPLICATE)[VERDICTS]
    assert (written.partition, written.key) == (3, b"http://a/")
    assert text_headers(written.headers) == {"url": "http://a/#top", "spider": "news", "job": "7"}
    assert Verdict.decode(written.value) == Verdict(
        url="http://a/",
        verdict="duplicate",
        duplicate_of="http://first/",
        distance=2,
        reason="hamming",
        fingerprint="00000000000000ab",
        order=(7, 1),
        source=(3, 17),
        fetched=1234,
        scheme=SCHEME.hex(),
        url_as_given="http://a/#top",
        spider="news",
        job="7",
        status=200,
        language="en",
        tokens=300,
    )


def test_a_page_of_too_few_features_has_no_fingerprint_and_no_distance() -> None:
    bare = claim(17, None, partition=3, url="http://a/")
    same_text = Hit(place=1, order=(4, 2), url="http://first/", distance=None, reason="exact-text")
    written = outputs(Decision((7, 1), bare, "duplicate", "exact-text", same_text))
    verdict = Verdict.decode(written[VERDICTS].value)
    assert (verdict.fingerprint, verdict.distance) == (None, None)
    assert "dedup-distance" not in verdict_headers(written[DEDUPLICATED])


@pytest.mark.parametrize(("decision", "passes"), [(UNIQUE, True), (DUPLICATE, False), (REFETCH, True)])
def test_drop_leaves_out_duplicates_only(decision: Decision, passes: bool) -> None:
    written = outputs(decision, output="drop")
    assert (DEDUPLICATED in written) is passes
    assert VERDICTS in written


@pytest.mark.parametrize("decision", [UNIQUE, DUPLICATE, REFETCH], ids=lambda decision: decision.outcome)
def test_where_verdicts_go_out_alone_no_page_is_copied(decision: Decision) -> None:
    written = outputs(decision, output="verdicts")
    assert list(written) == [VERDICTS]
    assert written[VERDICTS] == outputs(decision)[VERDICTS]


@pytest.mark.parametrize("output", ["tag", "drop", "verdicts"])
def test_a_dead_letter_is_the_page_with_its_reason_and_source_and_no_verdict(output: str) -> None:
    written = outputs(DEAD, output=output)
    assert list(written) == [DEAD_LETTERS]
    letter = written[DEAD_LETTERS]
    assert (letter.partition, letter.key, letter.value) == (3, b"http://a/", b"<html>")
    assert verdict_headers(letter) == {
        "dedup-reason": "parser-raised",
        "dedup-detail": "RecursionError: too deep",
        "dedup-source": "3:17",
    }
    assert PageMeta.from_headers(letter.headers) == META


def test_a_dead_letter_without_detail() -> None:
    letter = outputs(Decision((7, 1), CLAIM, "dead", "no-body"))[DEAD_LETTERS]
    assert verdict_headers(letter) == {"dedup-reason": "no-body", "dedup-detail": "", "dedup-source": "3:17"}


def test_a_page_that_is_too_large_leaves_a_reference_without_its_body() -> None:
    large = RECORD._replace(headers=[*RECORD.headers, ("theirs", b"x" * (2 << 20))])
    letter = outputs(Decision((7, 1), CLAIM, "dead", f"{OVERSIZE}: 9 MiB"), large)[DEAD_LETTERS]
    assert letter.value is None
    assert PageMeta.from_headers(letter.headers) == META
    assert "theirs" not in dict(letter.headers)
    assert verdict_headers(letter)["dedup-source"] == "3:17"


@pytest.mark.parametrize("decision", [UNIQUE, DUPLICATE, DEAD], ids=lambda decision: decision.outcome)
def test_a_page_fed_back_from_the_output_gets_our_headers_in_place_of_the_old_ones(decision: Decision) -> None:
    meta = [header for header in META.to_headers() if header[0] != "job"]
    old = [("dedup-verdict", b"duplicate"), ("dedup-distance", b"3"), ("dedup-source", b"9:9"), ("dedup-else", b"x")]
    fed_back = RECORD._replace(headers=[*old, *meta, ("job", b"8")])
    for topic, output in outputs(decision, fed_back).items():
        if topic != VERDICTS:
            names = [name for name, _ in output.headers]
            assert len(names) == len(set(names))
            assert verdict_headers(output) == verdict_headers(outputs(decision)[topic])
            assert ("job", b"8") in output.headers


@pytest.mark.parametrize("decision", [UNIQUE, DUPLICATE, DEAD], ids=lambda decision: decision.outcome)
def test_how_a_page_is_to_be_judged_passes_on_with_it_so_that_it_is_so_again(decision: Decision) -> None:
    said = [("dedup-store", b"no"), ("dedup-pardon", b"yes"), ("dedup-scope", b"shop-7")]
    written = outputs(decision, RECORD._replace(headers=[*said, *RECORD.headers]))
    for topic in written.keys() - {VERDICTS}:
        assert set(said) <= set(written[topic].headers)


def test_a_page_whose_headers_cannot_be_read_still_has_a_verdict() -> None:
    written = outputs(UNIQUE, RECORD._replace(headers=[("url", b"\xff")]))[VERDICTS]
    verdict = Verdict.decode(written.value)
    assert (verdict.fetched, verdict.url_as_given, verdict.job, written.headers) == (None, None, None, [])


def test_a_crawler_may_say_of_itself_as_much_as_it_wants() -> None:
    """The topic ``verdicts`` may take smaller records than ``pages``."""
    said = PageMeta(url="http://a/#" + "x" * (8 << 20), spider="s" * (4 << 20), job="j" * 1024)
    written = outputs(UNIQUE, RECORD._replace(headers=said.to_headers()))[VERDICTS]
    verdict = Verdict.decode(written.value)
    assert (verdict.spider, verdict.job) == (None, "j" * 1024)
    assert (verdict.url_as_given or "").encode() == said.url.encode()[:MAX_URL_BYTES]


# the transaction in flight

A: Final = Page("http://a/", 0b000)
B: Final = Page("http://b/", 0b111)


def output_ends(stage: Stage) -> list[int]:
    return [stage.world.topics[topic, 0].end for topic in (DEDUPLICATED, VERDICTS)]


def test_outputs_and_offsets_go_into_one_transaction() -> None:
    stage = Stage().play(A, B, ANSWER)
    assert stage.worker.commit()
    (transaction,) = stage.world.transactions
    assert [output.topic for output in transaction.outputs] == [VERDICTS, DEDUPLICATED] * 2
    assert transaction.offsets[0].offset == 2
    assert output_ends(stage) == [0, 0]
    stage.world.settle_down()
    assert output_ends(stage) == [2, 2]


def test_at_most_one_transaction_is_in_flight() -> None:
    stage = Stage(commit_pages=1).play(A, B, ANSWER)
    assert stage.worker.commit()
    assert not stage.worker.commit()
    assert len(stage.world.transactions) == 1


def test_nothing_ruled_begins_nothing() -> None:
    stage = Stage().play(A)
    stage.claim()
    assert not stage.worker.commit()
    assert stage.world.transactions == []


def test_a_transaction_holds_pages_of_several_partitions_up_to_its_bound() -> None:
    pages = [Page(f"http://{n}/", 0b111 << 3 * n, partition=n % 3) for n in range(6)]
    stage = Stage(partitions=3, commit_pages=3).play(*pages, ANSWER)
    stage.worker.commit()
    (transaction,) = stage.world.transactions
    assert len([output for output in transaction.outputs if output.topic == VERDICTS]) == 3
    assert len(transaction.offsets) == 2


def test_an_evicted_member_commits_nothing() -> None:
    stage = Stage().play(A, ANSWER)
    stage.world.groups[PAGES].evict("w1")
    in_memory(stage.worker.log).pages().member.noticed = True
    assert not stage.worker.commit()
    assert stage.world.transactions == []
    assert stage.worker.committer.idle


def test_a_transaction_whose_end_is_open_is_waited_for() -> None:
    stage = Stage().play(A, ANSWER)
    transaction = stage.begin_settling()
    stage.world.give_up(transaction)
    for _ in range(3):
        stage.worker.commit()
        stage.worker.take_up()
    assert stage.worker.partitions[0].state is PartitionState.LOCATING
    stage.world.advance(transaction)
    stage.worker.take_up()
    assert stage.worker.partitions[0].committed_offset == 1
    stage.play(COMMIT)
    assert stage.verdicts() == ["http://a/ unique"]


# a quiet partition


def quiet_partition() -> Stage:
    """A stage where everything is committed, and then the logs go on without this partition."""
    stage = Stage(partitions=2).play(A, COMMIT)
    stage.play(B._replace(partition=1), COMMIT)
    return stage


def test_a_quiet_partition_commits_the_same_offset_with_a_newer_replay_point() -> None:
    stage = quiet_partition()
    assert stage.world.committed[0].metadata == "1 1 2"
    assert not stage.worker.commit()
    assert stage.worker.commit(refresh=True)
    stage.world.settle_down()
    assert stage.world.committed[0] == (1, "1 2 4")
    assert output_ends(stage) == [1, 1]
    assert stage.worker.commit(refresh=True) is False, "nothing is newer now"


def test_with_something_undecided_a_refresh_points_to_it() -> None:
    stage = quiet_partition()
    stage.play(Page("http://c/", 0b111000))
    stage.claim()
    assert stage.worker.commit(refresh=True)
    stage.world.settle_down()
    assert stage.world.committed[0] == (1, "1 2 4")
    stage.play(CRASH, COMMIT).check()


def test_a_drained_worker_begins_no_transaction_when_told_not_to() -> None:
    stage = Stage().play(A, ANSWER)
    assert not stage.worker.commit(begin=False)
    assert stage.world.transactions == []


def test_a_duplicate_of_a_suspect_is_marked_and_kept_where_others_are_dropped() -> None:
    hit = msgspec.structs.replace(FIRST, suspect=True)
    suspect = Decision((7, 1), CLAIM, "duplicate", "hamming", hit)
    for mode in ("tag", "drop"):
        written = outputs(suspect, output=mode)
        assert verdict_headers(written[DEDUPLICATED])["dedup-suspect"] == "true"
        assert Verdict.decode(written[VERDICTS].value).suspect
    assert outputs(suspect, output="verdicts").keys() == {VERDICTS}
    assert "dedup-suspect" not in verdict_headers(outputs(DUPLICATE)[DEDUPLICATED])
    refetch = Decision((7, 1), CLAIM, "refetch", "same-url", hit)
    assert not Verdict.decode(outputs(refetch)[VERDICTS].value).suspect
