"""When a shard's snapshot is written and whether a snapshot that is found may be used."""

from __future__ import annotations

import logging
import re
import stat
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import xxhash

from crawler_plugin.wire.errors import Refused, Unavailable, UnreadableRecord
from crawler_plugin.wire.messages import Block, decode
from crawler_plugin.wire.topics import FINGERPRINTS, INDEX, topic_name
from worker.stream.log import Log, read_to_end
from worker.stream.policy import Policy
from worker.stream.shard import snapshot_file
from worker.stream.shard.block_writer import BlockWriter
from worker.stream.shard.live import Frozen, LiveShard
from worker.stream.shard.snapshot_file import Abandoned, Snapshot, SnapshotDamaged, SnapshotFile

_TRIES: Final = 10
"""How often, for up to a second each time, the worker looks for a record that should be there."""

_FOLDER_MODE: Final = 0o700
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_OURS: Final = re.compile(r".*\.snapshot(\.(.*\.)?tmp)?", re.DOTALL)
"""Names of snapshots, and of what a process that was killed while writing left of them."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SnapshotFolder:
    """The snapshots of this crawl on this machine, one file a shard; several workers may share it.

    ``prefix`` and ``generation`` are those of the topics: two crawls on one machine do not overwrite each other's.
    """

    folder: Path
    prefix: str
    generation: str = ""

    def make(self) -> None:
        """Make the folder for this user alone; close older snapshots in it to others, too.

        They hold every URL of the crawl. A folder that existed before and also holds other files keeps its permissions,
        since it may be meant for others; the snapshots in it do not keep theirs.

        Raises:
            OSError: the folder cannot be made.
        """
        self.folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        there = list(self.folder.iterdir())
        ours = [file for file in there if file.is_file() and not file.is_symlink() and _OURS.fullmatch(file.name)]
        for file in ours if len(ours) < len(there) else [self.folder, *ours]:
            try:
                mode = stat.S_IMODE(file.stat().st_mode)
                if mode & _OTHERS:
                    file.chmod(mode & ~_OTHERS)
            except FileNotFoundError:
                pass  # another worker has just put a newer one in its place
            except OSError as error:
                _log.warning("other users may read %s (%s): let only its owner read it", file, error.strerror)

    def file(self, shard: int) -> Path:
        return self.folder / f"{topic_name(self.prefix, INDEX, self.generation)}-{shard}.snapshot"

    def find(self, shard: int, log: Log, policy: Policy) -> SnapshotFile | None:
        """The shard's snapshot, if it is of this log, scheme and shard; otherwise the log says why it is not used."""
        file = self.file(shard)
        try:
            found = SnapshotFile(file)
            why = _why_not(found.head, shard, log, policy)
        except FileNotFoundError:
            return None
        except (SnapshotDamaged, OSError) as error:
            found, why = None, str(error)
        if why is not None:
            refuse(file, why)
            return None
        return found


def refuse(file: Path, why: str) -> None:
    """Log why a snapshot is not used; the next one will take its place."""
    _log.warning("snapshot %s is not used, the index topic is read from its beginning: %s", file, why)


def _why_not(head: Snapshot, shard: int, log: Log, policy: Policy) -> str | None:
    """The reason why a snapshot cannot be used, or None."""
    block = head.block
    if block.scheme != policy.scheme:
        return f"it has scheme {block.scheme.hex()}, this worker has {policy.scheme.hex()}"
    if block.shard != shard:
        return f"it is of shard {block.shard}, not {shard}"
    end = log.bounds(INDEX, shard).end
    if head.position > end:
        return f"it goes on at offset {head.position} of {INDEX}, which ends at {end}: the topic was made anew"
    if head.mark != mark_of(log, block.to):
        return f"batch {block.to}, where it ends, is missing or different in {FINGERPRINTS}"
    return None


def mark_of(log: Log, batch: int) -> bytes | None:
    """The hash of the record of a batch: 16 bytes; None if the log does not have it."""
    reader = log.reader(FINGERPRINTS, 0, batch)
    try:
        for _ in range(_TRIES):
            for record in reader.read(1.0):
                return xxhash.xxh3_128_digest(record.value or b"") if record.offset == batch else None
            if reader.position > batch:
                return None
    except Refused:  # older than the log
        return None
    finally:
        reader.close()
    return None


def landed(
    log: Log, shard: int, begin: int, end: int, block_keys: Mapping[bytes, int], abandoned: Callable[[], bool]
) -> dict[bytes, int | None]:
    """The blocks that have landed on a shard's partition of ``index`` in [begin, end) and are not in ``block_keys``.

    The result has the last batch of each block by its key, and None for a key that was buried.

    Raises:
        Abandoned: it said so.
    """

    def go_on() -> None:
        if abandoned():
            raise Abandoned

    found: dict[bytes, int | None] = {}
    reader = log.reader(INDEX, shard, max(begin, log.bounds(INDEX, shard).begin))
    for record in read_to_end(reader, end, before_each_read=go_on):
        key = record.key or b""
        if record.value is not None and key in block_keys and key not in found:
            continue
        try:
            found[key] = None if record.value is None else decode(Block, record.value).to
        except UnreadableRecord:  # readers of the whole topic count it; it is no block to be buried
            found[key] = None
    return found


@dataclass(eq=False)
class SnapshotWriter:
    """Writes the snapshots of one shard in the background.

    1. ``capture``: where everything that was decided is in sealed blocks, take the state and the end of the topic.
       Blocks before that end that are not in the state are other owners', and no one waits for them.
    2. ``step``: once the last of these blocks is acknowledged, write the state. It must not be written before: an owner
       that goes on from it writes only later blocks, so if an earlier block got lost, that would leave a hole on the
       topic.
    3. A user of the snapshot does not read the part of the topic before that end. So before the snapshot is written,
       the writer learns the keys of other owners' blocks that have landed there: the owner of the shard buries these
       when they expire.
    """

    folder: SnapshotFolder
    log: Log
    background: Callable[[Callable[[], Any]], Future[Any]]

    def __post_init__(self) -> None:
        self.due = False
        """Whether ``capture`` is still to be called: it copies the state, so one shard is captured at a time."""
        self._captured: tuple[Frozen, int] | None = None
        self._writing: Future[tuple[dict[bytes, int | None], int] | None] | None = None
        self._abandoned = False

    @property
    def holds(self) -> bool:
        """Whether it holds a state that is not written yet: a copy of all columns of a shard."""
        return self._captured is not None or (self._writing is not None and not self._writing.done())

    @property
    def idle(self) -> bool:
        """Whether no state is being written, waits to be written or is still to be taken."""
        return not self.due and not self.holds

    def capture(self, shard: LiveShard) -> None:
        """Take the state as of now, unless one is being written or survivors are in no block yet."""
        self.due = False
        if not self.idle or (frozen := shard.frozen()) is None:
            return
        with suppress(Unavailable):  # then the next time
            self._captured = frozen, self.log.bounds(INDEX, shard.number).end

    def step(self, shard: LiveShard, block_writer: BlockWriter) -> None:
        """Write the captured state when all its blocks are on the topic; take in the keys learnt with the last
        snapshot."""
        if self._writing is not None and self._writing.done() and (learnt := self._writing.result()) is not None:
            self._writing = None
            block_writer.learn(*learnt)
        if self._captured is None or block_writer.replay_point.batch <= self._captured[0].standing.to:
            return
        frozen, position = self._captured
        self._captured = None
        keys = dict(block_writer.block_keys)
        self._writing = self.background(
            partial(self._write, shard, frozen, position, block_writer.floor, keys, block_writer.block_keys_before)
        )

    def let_go(self) -> None:
        """Take no state, and drop a captured state that is not being written yet."""
        self.due, self._captured = False, None

    def abandon(self) -> None:
        """Stop writing: no one waits for it any more."""
        self.let_go()
        self._abandoned = True

    def _write(
        self,
        shard: LiveShard,
        frozen: Frozen,
        position: int,
        floor: int,
        block_keys: dict[bytes, int],
        block_keys_before: int,
    ) -> tuple[dict[bytes, int | None], int] | None:
        """Write in the background; errors are only logged. Returns what ``BlockWriter.learn`` takes."""
        file = self.folder.file(shard.number)
        learnt = None
        try:
            mark = mark_of(self.log, frozen.standing.to)
            if mark is None:
                return None  # older than the log: it could not be recognised
            found = landed(self.log, shard.number, block_keys_before, position, block_keys, lambda: self._abandoned)
            learnt = found, position
            on_topic = block_keys | found
            head = Snapshot(
                block=frozen.as_block(shard.number, shard.policy, floor),
                mark=mark,
                position=position,
                block_keys=tuple((key, to) for key, to in on_topic.items() if to is not None),
                entries=len(frozen.entries),
            )
            snapshot_file.write(file, shard.policy.writer.hex(), head, frozen.entries, lambda: self._abandoned)
        except Abandoned:
            pass
        except OSError as error:
            _log.warning("snapshot %s cannot be written: %s. Look at the setting index.state_dir", file, error)
        except Exception:
            _log.exception("snapshot %s was not written; the one before stays", file)
        else:
            _log.info("shard %d: snapshot of %d entries up to batch %d", shard.number, head.entries, frozen.standing.to)
        return learnt
