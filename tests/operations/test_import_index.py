"""An export becomes the beginning of a generation, at whatever step the command is killed."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from crawler_plugin.wire.errors import Refused
from crawler_plugin.wire.messages import Block, decode
from crawler_plugin.wire.topics import FINGERPRINTS, INDEX
from tests.operations.generations import Beside
from tests.operations.test_copy_index import A, another, entries, grown, survivors
from tests.simulation.place import BrokeOff, TwinPlace
from tests.stream.script import COMMIT
from worker.index.blocks import cover
from worker.operations.copy_index import Copied, drained
from worker.operations.import_index import Export, import_index
from worker.operations.inspect import read_shard

OLD = grown(7)


def export(old: Beside, digest: bytes = b"1") -> Export:
    """Everything that an old generation holds."""
    found = drained(TwinPlace(old.world), old.name, old.policy, range(old.world.partitions)).survivors
    (first, *_) = entries(old)
    return Export(digest, found.state.watermark, {first.order}, found.rows)


def new(**changes: int) -> Beside:
    """Unused topics, over the same pages."""
    return another(OLD, shards=3, partitions=2, **{"flush_entries": 8, **changes})


def go(stage: Beside, patience: int | None = None, digest: bytes = b"1") -> Copied:
    """Run the command, which is killed after ``patience`` writes."""
    return import_index(TwinPlace(stage.world, patience), stage.name, export(OLD, digest), stage.policy, range(2))


def records(stage: Beside) -> list[tuple[str, int, bytes | None, bytes | None]]:
    """All records that the command has written."""
    where = [(FINGERPRINTS, 0), *((INDEX, shard) for shard in range(stage.policy.shards))]
    return [(*at, record.key, record.value) for at in where for record in stage.world.topics[at].records]


def test_survivors_keep_their_order_and_their_marks() -> None:
    stage = new()
    assert go(stage).entries == len(survivors(OLD)) > 50
    assert survivors(stage) == survivors(OLD)
    covers = [cover(read_shard(TwinPlace(stage.world), shard).blocks) for shard in range(3)]
    assert [order for each in covers for order in each.suspects] == [(0, 0)]
    stage.back(A, COMMIT)
    assert "http://a.example/ unique" in stage.verdicts()
    assert "http://0-0.example/ refetch http://0-0.example/" in stage.verdicts()


def test_killed_after_any_write_it_goes_on_and_writes_the_same() -> None:
    whole = new()
    go(whole)
    for patience in count():
        stage = new()
        try:
            go(stage, patience)
        except BrokeOff:
            there = len(records(stage))
            go(stage, patience=len(records(whole)) - there + 1)  # + 1 for the consumed offsets
            assert records(stage) == records(whole)
            assert stage.world.committed == whole.world.committed
            continue
        assert records(stage) == records(whole)
        break
    assert patience > 20


def test_one_that_is_through_is_through_when_it_is_run_again() -> None:
    stage = new()
    go(stage)
    before = records(stage)
    assert go(stage, patience=1).entries == len(survivors(OLD))
    assert records(stage) == before


def test_another_export_and_other_settings_do_not_go_on_with_it() -> None:
    stage = new()
    with pytest.raises(BrokeOff):
        go(stage, patience=9)
    with pytest.raises(Refused, match="not empty: take another name"):
        go(stage, digest=b"2")
    stage.policy = replace(stage.policy, flush_entries=9)
    with pytest.raises(Refused, match="not empty: take another name"):
        go(stage)


def test_where_workers_run_or_have_judged_it_is_refused() -> None:
    stage = new()
    go(stage)
    stage.back(A, COMMIT)
    with pytest.raises(Refused, match=r"(is|are) running \("):
        go(stage)
    stage.away()
    with pytest.raises(Refused, match="not empty: take another name"):
        go(stage)


def test_a_foreign_record_is_not_gone_on_with() -> None:
    stage = new()
    with pytest.raises(BrokeOff):
        go(stage, patience=9)
    block = next(value for topic, _, _, value in records(stage) if topic == INDEX)
    assert decode(Block, block).writer != stage.policy.writer
    stage.world.topics[INDEX, 1].append(1, b"foreign", b"no block", (), 0)
    with pytest.raises(Refused, match="not empty: take another name"):
        go(stage)
