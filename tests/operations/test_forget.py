"""WrittenForget while workers run: a record between the batches, and every shard passes it."""

from __future__ import annotations

from contextlib import closing
from typing import Final

import pytest

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.forgetting import Forget, ForgetCondition
from crawler_plugin.wire.messages import Batch, Block, OtherVersion, decode, encode, forgotten_of
from crawler_plugin.wire.topics import FINGERPRINTS, INDEX
from tests.operations.test_repair import A2, B2, A, Away, B, C, D, pages, repair
from tests.simulation.place import TwinPlace
from tests.stream.script import ANSWER, CLAIM, COMMIT, CRASH, FLUSH, REBALANCE, Stage, policy
from worker.index.forgetting import MOST_BYTES
from worker.operations.forget import WrittenForget, preview

OF_A: Final = ForgetCondition(kind="host", text="a.example")
UNIQUE_AGAIN: Final = "http://a2.example/ unique"


def forget(stage: Stage, condition: ForgetCondition = OF_A) -> WrittenForget:
    return WrittenForget(TwinPlace(stage.world), condition, stage.policy)


def passed(stage: Stage, forgetting: WrittenForget) -> bool:
    """Whether all shards have passed it, once their workers have done all their work."""
    for _ in range(30):  # blocks, one after the other
        stage.play(ANSWER, COMMIT)
        forgetting.look(0.0)
        if not forgetting.waits_for:
            break
    return not forgetting.waits_for


def test_what_is_forgotten_is_no_original_and_nothing_else_is_lost() -> None:
    stage = Stage().play(A, B, COMMIT)
    with closing(forget(stage)) as forgetting:
        assert forgetting.waits_for == [0, 1]
        assert passed(stage, forgetting)
    stage.play(A2, B2, COMMIT)
    assert stage.verdicts()[-2:] == [UNIQUE_AGAIN, "http://b2.example/ duplicate http://b.example/"]
    stage.check()


@pytest.mark.parametrize("event", [CRASH, REBALANCE])
def test_who_restores_the_shards_afterwards_forgets_the_same(event: object) -> None:
    stage = Stage().play(A, B, COMMIT, FLUSH)
    with closing(forget(stage)) as forgetting:
        assert passed(stage, forgetting)
    stage.play(event, A2, COMMIT, FLUSH, event, B2, COMMIT)  # type: ignore[arg-type]
    assert stage.verdicts()[-2:] == [UNIQUE_AGAIN, "http://b2.example/ duplicate http://b.example/"]
    stage.check()


def test_batches_before_the_record_are_compared_with_what_it_forgets() -> None:
    stage = Stage().play(A, COMMIT, A2, CLAIM)
    with closing(forget(stage)) as forgetting:
        assert passed(stage, forgetting)
    assert stage.verdicts()[-1] == "http://a2.example/ duplicate http://a.example/"


def test_a_block_ends_at_the_record_and_only_blocks_from_there_on_have_another_format() -> None:
    stage = Stage(shards=1).play(A, COMMIT, FLUSH)
    with closing(forget(stage)) as forgetting:
        assert passed(stage, forgetting)
        offset = forgetting.offset
    stage.play(B, COMMIT, FLUSH)
    records = stage.world.topics[INDEX, 0].records
    assert [(record.value or b"")[2] for record in records] == [3, 131, 131]
    blocks = [decode(Block, record.value) for record in records]
    assert blocks[1].to == offset and blocks[1].count == 0
    named = [[(each.condition, each.at) for each in forgotten_of(block)] for block in blocks]
    assert named == [[], [(OF_A, offset)], [(OF_A, offset)]]


def test_a_program_that_does_not_know_the_record_ends_before_it() -> None:
    value = encode(Forget(scheme=b"scheme-8", writer=b"w", condition=OF_A))
    with pytest.raises(OtherVersion, match="upgrade this worker"):
        decode(Batch, value)


def test_before_anything_was_judged_a_record_is_passed_as_well() -> None:
    stage = Stage()
    with closing(forget(stage)) as forgetting:
        assert passed(stage, forgetting)
    stage.play(A, COMMIT, CRASH, A2, COMMIT)
    assert stage.verdicts() == ["http://a.example/ unique", "http://a2.example/ duplicate http://a.example/"]
    stage.check()


def test_a_shard_that_nobody_holds_is_waited_for() -> None:
    stage = Away().play(A, COMMIT, FLUSH).away()
    with closing(forget(stage)) as forgetting:
        forgetting.look(0.0)
        assert forgetting.waits_for == [0, 1]
        assert stage.back(A2)[-1] == UNIQUE_AGAIN
        assert passed(stage, forgetting)


def test_records_are_void_once_blocks_could_not_name_more() -> None:
    stage = Stage(shards=1).play(A, COMMIT)
    for number in range(17):
        value = encode(Forget(scheme=stage.policy.scheme, writer=b"f", condition=long(number)))
        stage.world.topics[FINGERPRINTS, 0].append(0, None, value, (), 0)
    with (
        closing(forget(stage, long(99))) as forgetting,
        pytest.raises(Refused, match=r"nothing was forgotten.*index copy"),
    ):
        passed(stage, forgetting)
    stage.play(A2, COMMIT, FLUSH, CRASH, B, COMMIT)
    assert "http://a2.example/ duplicate http://a.example/" in stage.verdicts()
    told = [given for observer in stage.observers.values() for given in observer.told.get("forgotten", [])]
    assert {given[3] is None for given in told} == {True, False}
    last = decode(Block, stage.world.topics[INDEX, 0].records[-1].value)
    assert 0 < sum(each.condition.nbytes for each in forgotten_of(last)) <= MOST_BYTES


def long(number: int) -> ForgetCondition:
    return ForgetCondition(kind="url-prefix", text=f"http://{number}.example/{'x' * 1000}")


@pytest.mark.parametrize(
    "value",
    [
        encode(Forget(scheme=b"another1", writer=b"w", condition=OF_A)),
        encode(Forget(scheme=policy().scheme, writer=b"w", condition=OF_A))[:-1],
        encode(Forget(scheme=policy().scheme, writer=b"w", condition=OF_A)) + b"\0",
    ],
    ids=["of another scheme", "torn", "too long"],
)
def test_what_is_not_of_these_workers_is_passed_over(value: bytes) -> None:
    stage = Stage().play(A, COMMIT)
    stage.world.topics[FINGERPRINTS, 0].append(0, None, value, (), 0)
    stage.play(A2, COMMIT)
    assert stage.verdicts()[-1] == "http://a2.example/ duplicate http://a.example/"


def test_a_preview_counts_what_blocks_hold_and_changes_nothing() -> None:
    stage = Stage().play(A, B, COMMIT, FLUSH, C, COMMIT)
    before = {key: len(partition.records) for key, partition in stage.world.topics.items()}
    found = preview(TwinPlace(stage.world), ForgetCondition(kind="url-prefix", text="http://"), stage.policy)
    assert (found.entries, sorted(found.urls)) == (2, ["http://a.example/", "http://b.example/"])
    assert {key: len(partition.records) for key, partition in stage.world.topics.items()} == before
    with closing(forget(stage)) as forgetting:
        assert passed(stage, forgetting)
    assert preview(TwinPlace(stage.world), OF_A, stage.policy).entries == 0


def test_a_repair_that_gives_up_all_that_is_not_in_blocks_still_forgets_what_records_say() -> None:
    """Blocks end before the record, and the logs cannot be read from there."""
    stage = Away().play(A, B, COMMIT, FLUSH).play(*pages("c", "d"), COMMIT).away()
    offset = forget(stage).offset
    stage.forget(offset)
    assert len(repair(stage).annulled)
    assert stage.back(A2)[-1] == UNIQUE_AGAIN
    assert D.url in " ".join(stage.verdicts())
