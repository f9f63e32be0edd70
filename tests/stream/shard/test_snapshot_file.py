"""The file of a snapshot: only the written content is read again."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec
import numpy as np
import pytest

from crawler_plugin.wire.forgetting import ForgetCondition, Forgotten
from crawler_plugin.wire.messages import Block, forgotten_of
from tests.index.logs import SCHEME, DecidedLog, plain_log
from tests.stream.script import policy
from worker.index.entries import Entries
from worker.index.urls import Group, UrlRun, pack_group, pack_urls
from worker.stream.shard import snapshot_file
from worker.stream.shard.expiry_clocks import Clocks
from worker.stream.shard.live import Frozen, Standing
from worker.stream.shard.snapshot_file import Abandoned, Snapshot, SnapshotDamaged, SnapshotFile

LOG: DecidedLog = plain_log(3)


def head(entries: Entries, to: int = 2) -> Snapshot:
    clocks = Clocks((batch, 0) for batch in np.unique(entries.batch).tolist())
    frozen = Frozen(Standing(to=to, answers_offset=9, watermark=5, claimed_up_to={1: 7}, clocks=clocks), entries)
    block: Block = frozen.as_block(3, policy(scheme=SCHEME), floor=-1)
    return Snapshot(block=block, mark=b"mark", position=11, block_keys=((b"key", 2),), entries=len(entries))


def written(folder: Path, entries: Entries) -> Path:
    file = folder / "a.snapshot"
    snapshot_file.write(file, "me", head(entries), entries, lambda: False)
    return file


def rows(file: Path) -> list[object]:
    return [entry for portion in SnapshotFile(file).entries() for entry in portion]


def test_what_was_written_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_file, "_PIECE", 4)
    entries = Entries.from_rows(LOG.rows(-1, 2))
    file = written(tmp_path, entries)
    assert SnapshotFile(file).head == head(entries)
    assert [len(portion) for portion in SnapshotFile(file).entries()] == [4, 2]
    assert rows(file) == list(entries)
    assert [each.name for each in tmp_path.iterdir()] == ["a.snapshot"]


def test_one_that_names_what_was_forgotten_is_of_a_kind_that_earlier_programs_do_not_read(tmp_path: Path) -> None:
    entries = Entries.from_rows(LOG.rows(-1, 2))
    assert written(tmp_path, entries).read_bytes().startswith(b"DEDUPSN1")
    forgotten = (Forgotten(ForgetCondition(kind="host", text="a.example"), 1, 0),)
    plain = head(entries)
    naming = msgspec.structs.replace(plain, block=plain.block.naming(forgotten))
    file = tmp_path / "b.snapshot"
    snapshot_file.write(file, "me", naming, entries, lambda: False)
    assert file.read_bytes().startswith(b"DEDUPSN2")
    assert forgotten_of(SnapshotFile(file).head.block) == forgotten
    assert rows(file) == list(entries)


@pytest.mark.parametrize("mask", [0, 0o022, 0o777])
def test_no_other_user_reads_a_snapshot(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        file = written(tmp_path, Entries.from_rows(LOG.rows(-1, 2)))
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 & ~mask


def test_compressed_urls_are_written_as_they_are(tmp_path: Path) -> None:
    plain = Entries.from_rows(LOG.rows(-1, 2))
    packed = UrlRun.from_packed(pack_urls(plain.urls), len(plain))
    columns = {name: plain.column(name) for name in vars(plain) if name not in ("urls", "bands", "sketch")}
    file = written(tmp_path, Entries(**columns, urls=packed)[1:5])
    assert rows(file) == list(plain)[1:5]


def test_bands_and_sketches_are_kept_where_there_are_such(tmp_path: Path) -> None:
    plain = Entries.from_rows(LOG.rows(-1, 2))
    columns = {name: getattr(plain, name) for name in vars(plain)}
    bands = np.arange(8 * len(plain), dtype=np.uint32).reshape(-1, 8)
    sketch = np.arange(4 * len(plain), dtype=np.uint64).reshape(-1, 4)
    file = written(tmp_path, Entries(**columns | {"bands": bands, "sketch": sketch})[2:])
    (found,) = SnapshotFile(file).entries()
    assert found.bands is not None and found.sketch is not None
    assert (found.bands == bands[2:]).all()
    assert (found.sketch == sketch[2:]).all()


def test_no_entries_are_no_difficulty(tmp_path: Path) -> None:
    assert rows(written(tmp_path, Entries.empty())) == []


def test_a_file_is_refused_wherever_it_is_torn_or_changed(tmp_path: Path) -> None:
    file = written(tmp_path, Entries.from_rows(LOG.rows(-1, 2)))
    good = file.read_bytes()
    for place in range(len(good)):
        for bad in (good[:place], good[:place] + bytes([good[place] ^ 0x10]) + good[place + 1 :]):
            file.write_bytes(bad)
            with pytest.raises(SnapshotDamaged):
                rows(file)
    file.write_bytes(good + b"\0")
    with pytest.raises(SnapshotDamaged, match="goes on after its 6 entries"):
        rows(file)


def test_pieces_in_another_order_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_file, "_PIECE", 3)
    entries = Entries.from_rows(LOG.rows(-1, 2))
    turned = Entries.concatenate([entries[3:], entries[:3]])
    with pytest.raises(SnapshotDamaged, match="do not ascend"):
        rows(written(tmp_path, turned))


@pytest.mark.parametrize("skip", [-1, 1])
def test_urls_that_a_group_does_not_hold_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skip: int
) -> None:
    entries = Entries.from_rows(LOG.rows(-1, 2))
    monkeypatch.setattr(snapshot_file, "groups_of", lambda urls: [Group(pack_group(urls), len(urls), skip, len(urls))])
    with pytest.raises(SnapshotDamaged, match=f"has no {len(entries)} URLs after the first {skip}"):
        rows(written(tmp_path, entries))


def test_other_columns_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, Entries.empty())
    monkeypatch.setattr(snapshot_file, "_COLUMNS", (("batch", "<i4"),))
    with pytest.raises(SnapshotDamaged, match="it has the columns"):
        SnapshotFile(file)


def test_one_that_is_abandoned_leaves_the_one_before(tmp_path: Path) -> None:
    file = written(tmp_path, Entries.from_rows(LOG.rows(-1, 1)))
    before = file.read_bytes()
    more = Entries.from_rows(LOG.rows(-1, 2))
    with pytest.raises(Abandoned):
        snapshot_file.write(file, "me", head(more), more, lambda: True)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]
