"""An index becomes records, and these become the beginning of another index."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from crawler_plugin.wire.errors import Refused, UsageError
from tests.local.test_same_verdicts import SAME, Workers
from tests.operations.generations import Beside
from tests.operations.test_copy_index import entries, grown, survivors
from tests.operations.test_seed import NEW, NOW, OLD, SETTINGS, seeded, without_workers
from tests.simulation.place import TwinPlace
from tests.stream.script import COMMIT, FLUSH, Page
from worker.compose import parts
from worker.config import Settings
from worker.index.blocks import Cover, cover
from worker.local import Deduplicator
from worker.local.deduplicator import alone
from worker.operations.copy_index import covered
from worker.operations.import_index import import_index
from worker.operations.inspect import read_shard
from worker.places import Folder
from worker.scan import exporting
from worker.scan.exporting import Exported, export
from worker.scan.judging import fill_state, record_files
from worker.scan.records.exported import MANIFEST, whole

READING = parts.reading(SETTINGS, parts.recipe(SETTINGS))
SCHEME = parts.scheme(alone(SETTINGS), parts.recipe(SETTINGS))


def covers(stage: Beside | Workers) -> list[Cover]:
    """The covers of all shards."""
    return [covered(TwinPlace(stage.world), shard, stage.policy) for shard in range(stage.policy.shards)]


def exported(stage: Beside | Workers, folder: Path) -> Exported:
    """Run the command."""
    return export(covers(stage), "x.index", Folder(str(folder)), READING, SCHEME)


@pytest.mark.parametrize("by", ["seed", "import"])
def test_verdicts_of_workers_that_begin_with_it_are_those_of_one_order(tmp_path: Path, by: str) -> None:
    before = Workers(SETTINGS, claims_a_batch=16)
    verdicts = before.verdicts_on([page.record(number, NOW) for number, page in enumerate(OLD)])
    before.flush()
    survivors = exported(before, tmp_path / "records").survivors
    assert survivors == Counter(row["verdict"] for row in verdicts)["unique"] > 20

    after = without_workers()
    if by == "seed":
        fill_state(record_files([str(tmp_path / "records")]), SETTINGS, tmp_path / "state", tmp_path / "work")
        assert seeded(tmp_path / "state", after).entries == survivors
    else:
        found = whole(Folder(str(tmp_path / "records")), SCHEME)
        assert import_index(TwinPlace(after.world), "", found, after.policy, range(1)).entries == survivors
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
    found = [cover(shards[0]), cover([block for block in shards[1] if block is not last])]
    up_to = found[1].end
    assert 0 <= up_to < found[0].end
    expected = [survivor for survivor in entries(stage) if survivor.order[0] <= up_to]
    assert {survivor.order[0] for survivor in expected} != {survivor.order[0] for survivor in entries(stage)}
    monkeypatch.setattr(exporting, "_FILE_ROWS", 5)
    folder = Folder(str(tmp_path))
    assert export(found, "x.index", folder, READING, SCHEME) == Exported(len(expected), up_to)
    files = [pq.read_table(tmp_path / name) for name in sorted(folder.names(".parquet"))]
    assert len(files) > 2
    records = [row for file in files for row in file.to_pylist()]
    assert [row["url"] for row in records] == [survivor.url for survivor in expected]
    assert [row["offset"] for row in records] == [*range(len(expected))]
    assert [row["fetched"] for row in records] == [survivor.fetched for survivor in expected]
    assert [(row["batch"], row["place"]) for row in records] == [survivor.order for survivor in expected]
    clocks = dict(found[0].clocks) | dict(found[1].clocks)
    assert [row["clock"] for row in records] == [clocks[row["batch"]] for row in records]
    with pytest.raises(UsageError, match="holds an export: name a folder"):
        export(found, "x.index", folder, READING, SCHEME)


@pytest.mark.parametrize("kept", range(4))
def test_an_export_that_broke_off_goes_on_and_takes_what_was_decided_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    stage = grown(4)
    monkeypatch.setattr(exporting, "_FILE_ROWS", 5)
    exported(stage, tmp_path)
    for number, name in enumerate(sorted(path.name for path in tmp_path.iterdir())):
        if number >= kept:
            (tmp_path / name).rename(tmp_path / f"{name}.tmp")  # as kill -9 leaves the last one
    before = {path.name: path.stat().st_ino for path in tmp_path.glob("*.parquet")}
    assert len(before) == kept
    expected = survivors(stage)
    stage.back(Page("http://later.example/", 0b1 << 63, text=999), COMMIT, FLUSH).away()
    result = exported(stage, tmp_path)
    assert result.before == sum(pq.read_metadata(tmp_path / name).num_rows for name in before)
    assert (result.survivors, result.before > 0) == (len(expected) + 1, kept > 0)
    assert {name: (tmp_path / name).stat().st_ino for name in before} == before
    files = [pq.read_table(path) for path in sorted(tmp_path.glob("*.parquet"))]
    rows = [row for file in files for row in file.to_pylist()]
    assert [row["url"] for row in rows] == [*expected, "http://later.example/"]
    assert [row["offset"] for row in rows] == [*range(len(rows))]
    assert [survivor.url for _, _, survivor in whole(Folder(str(tmp_path)), SCHEME).rows()] == survivors(stage)


def test_files_of_another_index_are_not_gone_on_with(tmp_path: Path) -> None:
    exported(grown(5), tmp_path)
    (tmp_path / MANIFEST).unlink()
    with pytest.raises(UsageError, match="records of another index"):
        exported(grown(6), tmp_path)
    (tmp_path / "00000.parquet").rename(tmp_path / "00001.parquet")
    with pytest.raises(UsageError, match="holds other records"):
        exported(grown(5), tmp_path)


def test_an_export_of_nothing_leaves_nothing(tmp_path: Path) -> None:
    assert exported(Beside("").away(), tmp_path) == Exported(0, -1)
    assert not any(tmp_path.iterdir())


def test_records_of_an_index_without_sketches_are_not_judged_by_sketches(tmp_path: Path) -> None:
    stage = grown(1)
    found = [cover(read_shard(TwinPlace(stage.world), shard).blocks) for shard in range(stage.policy.shards)]
    accurate = Settings.model_validate({"near": {"predicate": "accurate"}})
    export(found, "x.index", Folder(str(tmp_path / "r")), parts.reading(accurate, parts.recipe(accurate)), SCHEME)
    with pytest.raises(Refused, match="can only be judged by that predicate"):
        fill_state(record_files([str(tmp_path / "r")]), accurate, tmp_path / "state", tmp_path / "work")
