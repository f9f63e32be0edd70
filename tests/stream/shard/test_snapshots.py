"""Restarts with a snapshot on disk give the same shard as restarts without, whatever happened to file, topic and
log."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, Self

import pytest

from crawler_plugin.wire.messages import Block, decode, encode
from crawler_plugin.wire.topics import FINGERPRINTS, INDEX
from tests.operations.test_repair import everybody_dies, repair
from tests.simulation.memory_log import MemoryLog
from tests.simulation.schedule import SCHEME
from tests.stream.script import (
    ANSWER,
    CLAIM,
    COMMIT,
    COMPACT,
    CRASH,
    FLUSH,
    LOSE_BLOCKS,
    TAKE_OVER,
    Event,
    Page,
    Stage,
    policy,
)
from worker.index.blocks import Header, pack
from worker.index.entries import Entries
from worker.index.shard import Shard
from worker.stream.resources import WorkerResources, at_once
from worker.stream.shard.live import Standing
from worker.stream.shard.restore import Restoration
from worker.stream.shard.snapshot_file import Abandoned, SnapshotFile
from worker.stream.shard.snapshots import SnapshotFolder, landed, mark_of

PAGES: Final = [Page(f"http://{n}/", fingerprint=0b111 << 3 * (n % 9), fetched=10 * n) for n in range(12)]
P, Q, R, S, T, U = PAGES[:6]


class Later:
    """A background that does its work when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Callable[[], Any], Future[Any]]] = []

    def __call__(self, work: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        self.waiting.append((work, future))
        return future

    def do_it(self) -> None:
        while self.waiting:
            work, future = self.waiting.pop(0)
            future.set_result(work())


class KeepingStage(Stage):
    """Workers of one machine with a folder for snapshots; ``kept`` takes a snapshot of every shard."""

    def __init__(self, folder: Path, background: Any = at_once, **changes: Any) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = SnapshotFolder(folder, "test.")
        self.resources = WorkerResources(background=background, snapshots=self.folder)
        super().__init__(**{"shards": 1, "track_changes": True, **changes})

    def new_index(self) -> Any:
        return Shard(k=1, by_url=True)

    def keep(self) -> Self:
        self.worker.flush(keep=True)
        for _ in range(2 * self.world.shards):
            self.land(INDEX)
            self.worker.flush()
        return self

    def flushed(self) -> bool:
        """Whether everything is written, snapshots too; evaluated at each call."""
        return self.worker.flushed

    def standing(self) -> Standing:
        """The data of the live shard apart from its survivors."""
        live = self.worker.shards[0].live
        assert live is not None
        return live.standing

    def rebuilding(self, **changes: Any) -> Restoration:
        log = MemoryLog(self.world, "again")
        return Restoration(0, log, policy(shards=1, ttl=self.ttl, **changes), self.observer, self.local())

    def rebuilt(self) -> tuple[int, int, list[Any]]:
        """A shard that is restored now: the number of blocks read, the last batch, its entries."""
        restoration = self.rebuilding()
        while not restoration.step() or (restored := restoration.finish(self.new_index)) is None:
            pass
        _, _, blocks, _ = self.observer.told["restored"][-1]
        shard = restored.shard
        return blocks, shard.standing.to, list(shard.index.entries(shard.standing.expired_up_to(self.ttl)))

    def without_snapshot(self) -> tuple[int, int, list[Any]]:
        kept = self.folder.file(0).rename(self.folder.folder / "aside")
        try:
            return self.rebuilt()
        finally:
            kept.rename(self.folder.file(0))


SCRIPTS: Final[list[tuple[Page | Event | str, ...]]] = [
    (P, ANSWER, "keep", CRASH, Q, COMMIT),
    (P, COMMIT, "keep", Q, ANSWER, FLUSH, CRASH, R, COMMIT, FLUSH, CRASH, S),
    (P, COMMIT, "keep", Q, ANSWER, CRASH, R, COMMIT, "keep", CRASH, S),
    (P, COMMIT, "keep", Q, COMMIT, LOSE_BLOCKS, R, COMMIT, "keep", CRASH, S),
    (P, COMMIT, "keep", TAKE_OVER, Q, COMMIT, FLUSH, R, COMMIT, "keep", COMPACT, CRASH, S, COMMIT, FLUSH),
    (P, CLAIM, "keep", FLUSH, CRASH, Q, ANSWER, "keep", COMPACT, CRASH, R, COMMIT),
    tuple(item for page in PAGES for item in (page, COMMIT, "keep", COMPACT, CRASH)),
    (*(item for page in PAGES for item in (page, COMMIT, FLUSH, COMPACT)), "keep", *PAGES[:3], COMMIT, CRASH),
    tuple(item for page in PAGES for item in (page, COMMIT, "keep", LOSE_BLOCKS)),
]


@pytest.mark.parametrize("ttl", [None, 15, 45])
@pytest.mark.parametrize("script", SCRIPTS, ids=range(len(SCRIPTS)))
def test_a_shard_restored_from_a_snapshot_is_the_one_that_lived_through_it_all(
    script: tuple[Page | Event | str, ...], ttl: int | None, tmp_path: Path
) -> None:
    stage = KeepingStage(tmp_path, ttl=ttl, shards=2)
    for item in (*script, COMMIT):
        if isinstance(item, str):
            stage.keep()
        else:
            stage.play(item)
    stage.check()


def test_only_what_came_after_the_snapshot_is_read(tmp_path: Path) -> None:
    stage = KeepingStage(tmp_path).play(P, COMMIT, FLUSH, Q, COMMIT, FLUSH).keep().play(R, COMMIT, FLUSH)
    blocks, to, entries = stage.rebuilt()
    blocks_without, to_without, entries_without = stage.without_snapshot()
    assert (blocks, blocks_without) == (1, 3)
    assert to == to_without == 2
    assert entries == entries_without
    assert [entry.url for entry in entries] == ["http://0/", "http://1/", "http://2/"]


def left(stage: KeepingStage) -> list[int]:
    """The last batch of each block on the topic once all tombstones have had their effect."""
    stage.play(FLUSH, FLUSH, COMPACT)
    return [decode(Block, record.value).to for record in stage.world.topics[INDEX, 0].records if record.value]


def test_what_another_owner_has_buried_is_known_no_more(tmp_path: Path) -> None:
    stage = KeepingStage(tmp_path, ttl=15).play(P, COMMIT, FLUSH).keep().play(TAKE_OVER)
    stage.play(PAGES[9], COMMIT, FLUSH, FLUSH).keep()
    head = SnapshotFile(stage.folder.file(0)).head
    records = [record for record in stage.world.topics[INDEX, 0].records if record.offset < head.position]
    buried = {record.key for record in records if record.value is None}
    assert buried
    assert {key for key, _ in head.block_keys} == {record.key for record in records} - buried


def test_a_shard_that_is_lost_while_the_topic_is_read_for_its_snapshot_leaves_the_one_before(tmp_path: Path) -> None:
    stage = KeepingStage(tmp_path).play(P, COMMIT, FLUSH)
    log = MemoryLog(stage.world, "again")
    with pytest.raises(Abandoned):
        landed(log, 0, 0, log.bounds(INDEX, 0).end, {}, lambda: True)


def test_a_record_that_is_no_block_keeps_no_snapshot_from_being_written(tmp_path: Path) -> None:
    stage = KeepingStage(tmp_path).play(P, COMMIT, FLUSH)
    stage.world.topics[INDEX, 0].append(0, b"key", b"junk", (), 0)
    stage.play(Q, COMMIT).keep()
    assert len(SnapshotFile(stage.folder.file(0)).head.block_keys) == 2


def test_a_snapshot_tells_of_no_floor_that_is_not_on_the_topic(tmp_path: Path) -> None:
    """A repair's bridge has a watermark that expires more than the blocks' floors say."""
    stage = KeepingStage(tmp_path, ttl=15).play(P, COMMIT, FLUSH, PAGES[9], COMMIT)
    after = stage.standing()
    header = Header(
        SCHEME, b"repair", 0, 0, after.to, after.answers_offset, after.watermark, after.claimed_up_to, -1, ()
    )
    stage.world.topics[INDEX, 0].append(0, b"bridge", encode(pack(Entries.empty(), header)), (), 0)
    stage.play(CRASH, COMMIT)
    stage.worker.tidy()
    assert stage.standing().floor == 0
    stage.keep()
    head = SnapshotFile(stage.folder.file(0)).head
    assert (head.block.to, head.block.floor) == (1, -1)
    stage.play(CRASH, COMMIT).keep().play(COMPACT)
    stage.folder.file(0).unlink()
    assert stage.rebuilt()[1] == 1, "the cover still has its beginning"


def test_the_next_shard_is_not_taken_before_the_last_one_is_written(tmp_path: Path) -> None:
    later = Later()
    stage = KeepingStage(tmp_path, background=later, shards=2).play(P, CLAIM)
    later.do_it()
    stage.play(Q, R, S, ANSWER, FLUSH).keep()
    for expected in ([0], [0, 1]):
        assert len(later.waiting) == 1
        assert not stage.flushed()
        later.do_it()
        assert [number for number in range(2) if stage.folder.file(number).exists()] == expected
        for _ in range(3):
            stage.worker.flush()
            stage.land(INDEX)
    assert later.waiting == []
    assert stage.flushed()


def test_nothing_is_written_before_the_last_block_is_acknowledged(tmp_path: Path) -> None:
    stage = KeepingStage(tmp_path).play(P, ANSWER)
    stage.worker.flush(keep=True)
    stage.worker.flush()
    assert not stage.folder.file(0).exists()
    assert not stage.flushed()
    stage.land(INDEX)
    stage.worker.flush()
    assert SnapshotFile(stage.folder.file(0)).head.block.to == 0
    assert stage.flushed()


def test_a_block_that_lands_after_a_snapshot_was_taken_is_read_although_it_was_not_written_yet(tmp_path: Path) -> None:
    stage = KeepingStage(tmp_path).play(P, ANSWER)
    stage.worker.flush(keep=True)
    (send,) = stage.on_their_way(INDEX)
    stage.world.topics[INDEX, 0].append(0, b"by another owner", send.value, (), 0)
    stage.land(INDEX)
    stage.worker.flush()
    assert SnapshotFile(stage.folder.file(0)).head.position == 0


def test_a_snapshot_holds_what_was_decided_when_it_was_taken_and_not_what_came_while_it_was_written(
    tmp_path: Path,
) -> None:
    later = Later()
    stage = KeepingStage(tmp_path, background=later)
    stage.play(P, CLAIM)
    later.do_it()
    stage.play(ANSWER).keep().play(Q, ANSWER, FLUSH)
    assert not stage.flushed()
    later.do_it()
    assert stage.flushed()
    (entries,) = SnapshotFile(stage.folder.file(0)).entries()
    assert list(entries.urls) == ["http://0/"]
    block = SnapshotFile(stage.folder.file(0)).head.block
    assert (block.to, block.answers_offset, block.watermark) == (0, 1, 0)
    assert (block.claimed_up_to, block.clocks) == (((0, 0),), ())


def test_a_shard_that_was_lost_while_its_snapshot_was_written_leaves_the_one_before(tmp_path: Path) -> None:
    later = Later()
    stage = KeepingStage(tmp_path, background=later).play(P, CLAIM)
    later.do_it()
    stage.play(ANSWER).keep()
    stage.worker.close()
    later.do_it()
    assert list(tmp_path.iterdir()) == []


def test_nothing_new_is_taken_while_one_is_being_written(tmp_path: Path) -> None:
    later = Later()
    stage = KeepingStage(tmp_path, background=later).play(P, CLAIM)
    later.do_it()
    stage.play(ANSWER).keep().play(Q, ANSWER).keep()
    assert len(later.waiting) == 1


def test_an_index_that_is_loaded_in_the_background_answers_when_it_is_there(tmp_path: Path) -> None:
    later = Later()
    stage = KeepingStage(tmp_path, background=later).play(P, CLAIM, CLAIM)
    assert stage.worker.shards[0].live is None
    later.do_it()
    stage.play(Q, COMMIT)
    assert stage.verdicts() == ["http://0/ unique", "http://1/ unique"]


# refused


def reasons(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "is not used" in record.getMessage()]


def kept(folder: Path) -> KeepingStage:
    """Two blocks; the snapshot holds both."""
    return KeepingStage(folder).play(P, COMMIT, FLUSH, Q, COMMIT, FLUSH).keep()


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 0.6, 0.99])
@pytest.mark.parametrize("damage", ["torn", "changed"])
def test_a_damaged_snapshot_is_left_aside_and_the_topic_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str, share: float
) -> None:
    stage = kept(tmp_path)
    file = stage.folder.file(0)
    good = file.read_bytes()
    place = int(share * len(good))
    file.write_bytes(good[:place] if damage == "torn" else good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
    assert stage.rebuilt() == stage.without_snapshot()
    assert len(reasons(caplog)) == 1
    assert str(file) in reasons(caplog)[0]


def test_a_snapshot_of_another_scheme_is_left_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stage = kept(tmp_path)
    assert stage.rebuilding(scheme=b"another!").snapshot is None
    assert "it has scheme" in reasons(caplog)[0]


def test_a_snapshot_of_another_shard_is_left_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stage = KeepingStage(tmp_path, shards=2).play(P, Q, R, COMMIT).keep()
    stage.folder.file(1).replace(stage.folder.file(0))
    assert stage.folder.find(0, MemoryLog(stage.world, "again"), stage.policy) is None
    assert "it is of shard 1, not 0" in reasons(caplog)[0]


def test_a_snapshot_of_topics_that_were_made_anew_is_left_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept(tmp_path)
    fresh = KeepingStage(tmp_path).play(R, COMMIT, FLUSH)
    assert fresh.rebuilt()[1:] == (0, fresh.without_snapshot()[2])
    assert "ends at 0: the topic was made anew" in reasons(caplog)[0]


def test_a_snapshot_of_another_log_is_left_aside_although_its_offsets_are_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept(tmp_path / "a")
    other = KeepingStage(tmp_path / "b").play(R, COMMIT, FLUSH, S, COMMIT, FLUSH, T, COMMIT, FLUSH).keep()
    (tmp_path / "a" / other.folder.file(0).name).replace(other.folder.file(0))
    assert [entry.url for entry in other.rebuilt()[2]] == ["http://2/", "http://3/", "http://4/"]
    assert "batch 1, where it ends, is missing or different in fingerprints" in reasons(caplog)[0]


def repaired(folder: Path) -> KeepingStage:
    """The snapshot holds p, q and r. The block and the batch of q are lost: a repair has given them up."""
    stage = kept(folder).play(R, COMMIT, FLUSH).keep().play(S, COMMIT, FLUSH)
    del stage.world.topics[INDEX, 0].records[1]
    stage.world.topics[FINGERPRINTS, 0].forget(2)
    everybody_dies(stage.world, stage.workers)
    (bridge,) = repair(stage).bridges
    assert bridge.holes == ((0, 1),)
    stage.take_over()
    return stage


def test_a_snapshot_that_holds_what_a_repair_has_given_up_is_left_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stage = repaired(tmp_path)
    assert [entry.url for entry in stage.rebuilt()[2]] == ["http://0/", "http://2/", "http://3/"]
    assert stage.rebuilt() == stage.without_snapshot()
    assert "a repair has given up its entries of the batches up to 1" in reasons(caplog)[0]


def test_a_snapshot_that_was_taken_after_a_repair_is_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stage = repaired(tmp_path)
    stage.play(T, COMMIT, FLUSH)
    stage.keep()
    caplog.clear()
    blocks, to, entries = stage.rebuilt()
    assert (blocks, to, reasons(caplog)) == (0, 4, [])
    assert [entry.url for entry in entries] == ["http://0/", "http://2/", "http://3/", "http://4/"]


def test_a_snapshot_that_is_older_than_the_log_is_left_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stage = kept(tmp_path).play(R, COMMIT, FLUSH)
    stage.world.topics[FINGERPRINTS, 0].forget(2)
    assert stage.rebuilt()[1] == 2
    assert len(reasons(caplog)) == 1


def test_a_log_without_the_batch_has_no_mark(tmp_path: Path) -> None:
    stage = kept(tmp_path)
    log = MemoryLog(stage.world, "again")
    assert mark_of(log, 1) != mark_of(log, 0)
    stage.world.topics[FINGERPRINTS, 0].forget(1)
    assert mark_of(log, 0) is None


def test_a_folder_that_cannot_be_written_costs_the_snapshot_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stage = KeepingStage(tmp_path / "not yet")
    (tmp_path / "not yet").rmdir()
    stage.play(P, COMMIT).keep().play(CRASH, Q, COMMIT).check()
    (said,) = (record for record in caplog.records if record.levelno == logging.WARNING)
    assert "Look at the setting index.state_dir" in said.getMessage()


# Who may read them


def mode_of(path: Path) -> str:
    return oct(stat.S_IMODE(path.stat().st_mode))


@pytest.fixture
def no_mask() -> Iterator[None]:
    """A umask that removes no permission."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("no_mask")
def test_a_folder_for_snapshots_is_made_for_its_user_alone(tmp_path: Path) -> None:
    folder = SnapshotFolder(tmp_path / "var" / "state", "test.")
    for _ in range(2):
        folder.make()
        assert mode_of(folder.folder) == "0o700"


@pytest.mark.usefixtures("no_mask")
def test_snapshots_of_before_and_their_folder_are_closed_to_others(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    folder = SnapshotFolder(state, "test.")
    left = state / f"{folder.file(1).name}.0123456789abcdef.tmp"
    for file in (folder.file(0), left):
        file.write_bytes(b"")
        assert mode_of(file) == "0o666"
    folder.make()
    assert [mode_of(path) for path in (state, folder.file(0), left)] == ["0o700", "0o600", "0o600"]


@pytest.mark.usefixtures("no_mask")
def test_a_folder_that_holds_what_is_not_ours_keeps_its_rights_and_so_does_that(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    state.chmod(0o1777)
    folder = SnapshotFolder(state, "test.")
    theirs, link = state / "theirs.txt", state / "link.snapshot"
    for file in (folder.file(0), theirs):
        file.write_bytes(b"")
    link.symlink_to(theirs)
    folder.make()
    assert [mode_of(path) for path in (state, folder.file(0), theirs)] == ["0o1777", "0o600", "0o666"]
