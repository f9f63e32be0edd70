"""An index becomes records, and these the beginning of another one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from crawler_plugin.wire.errors import Refused, UsageError
from tests.local.test_same_verdicts import SAME, Workers
from tests.operations.test_copy_index import entries, grown
from tests.operations.test_seed import NEW, NOW, OLD, SETTINGS, seeded, without_workers
from tests.simulation.place import TwinPlace
from worker.compose import parts
from worker.config import Settings
from worker.index.blocks import cover
from worker.local import Deduplicator
from worker.operations.copy_index import covered
from worker.operations.inspect import read_shard
from worker.places import Folder
from worker.scan import exporting
from worker.scan.exporting import Exported, export
from worker.scan.judging import fill_state, record_files

READING = parts.reading(SETTINGS, parts.recipe(SETTINGS))


def test_verdicts_of_workers_that_begin_with_it_are_those_of_one_order(tmp_path: Path) -> None:
    before = Workers(SETTINGS, claims_a_batch=16)
    verdicts = before.verdicts_on([page.record(number, NOW) for number, page in enumerate(OLD)])
    before.flush()
    found = [covered(TwinPlace(before.world), 0, before.policy)]
    exported = export(found, "x.index", Folder(str(tmp_path / "records")), READING)
    assert exported.survivors == Counter(row["verdict"] for row in verdicts)["unique"] > 20

    fill_state(record_files([str(tmp_path / "records")]), SETTINGS, tmp_path / "state", tmp_path / "work")
    after = without_workers()
    assert seeded(tmp_path / "state", after).entries == exported.survivors
    after.take_over()
    theirs = after.verdicts_on([page.record(number, NOW) for number, page in enumerate(NEW)])
    with Deduplicator(config=SETTINGS, clock=lambda: NOW / 1000) as local:
        ours = [verdict.row(SAME) for _, verdict in local.judge_all([*OLD, *NEW])]
    assert theirs == ours[len(OLD) :]
    kinds = Counter(each["verdict"] for each in theirs)
    assert min(kinds["unique"], kinds["duplicate"], kinds["refetch"], kinds["dead"]) > 2


@pytest.mark.parametrize("seed", range(3))
def test_survivors_of_all_shards_stand_in_their_order_up_to_where_all_are_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    stage = grown(seed)
    shards = [read_shard(TwinPlace(stage.world), shard).blocks for shard in range(stage.policy.shards)]
    last = max(shards[1], key=lambda block: block.to)
    covers = [cover(shards[0]), cover([block for block in shards[1] if block is not last])]
    up_to = covers[1].end
    assert 0 <= up_to < covers[0].end
    expected = [survivor for survivor in entries(stage) if survivor.order[0] <= up_to]
    assert {survivor.order[0] for survivor in expected} != {survivor.order[0] for survivor in entries(stage)}
    monkeypatch.setattr(exporting, "_FILE_ROWS", 5)
    folder = Folder(str(tmp_path))
    assert export(covers, "x.index", folder, READING) == Exported(len(expected), up_to)
    files = [pq.read_table(tmp_path / name) for name in sorted(folder.names(".parquet"))]
    assert len(files) > 2
    records = [row for file in files for row in file.to_pylist()]
    assert [row["url"] for row in records] == [survivor.url for survivor in expected]
    assert [row["offset"] for row in records] == [*range(len(expected))]
    assert [row["fetched"] for row in records] == [survivor.fetched for survivor in expected]
    with pytest.raises(UsageError, match="holds records: name a folder"):
        export(covers, "x.index", folder, READING)


def test_records_of_an_index_without_sketches_are_not_judged_by_sketches(tmp_path: Path) -> None:
    stage = grown(1)
    found = [cover(read_shard(TwinPlace(stage.world), shard).blocks) for shard in range(stage.policy.shards)]
    accurate = Settings.model_validate({"near": {"predicate": "accurate"}})
    export(found, "x.index", Folder(str(tmp_path / "r")), parts.reading(accurate, parts.recipe(accurate)))
    with pytest.raises(Refused, match="can only be judged by that predicate"):
        fill_state(record_files([str(tmp_path / "r")]), accurate, tmp_path / "state", tmp_path / "work")
