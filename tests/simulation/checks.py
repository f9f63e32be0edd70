"""The checks at the end of a schedule: the guarantees, and

J6 a shard rebuilt from its blocks equals the live one, and so does one rebuilt from a snapshot; where everything
decided has been written, the blocks leave no hole; J7 the owner of a shard knows every block that is to be buried one
day; J8 a claim carries the flags of its page, and its time, within what the broker's time allows; a dead letter has a
reason, and a page that is too large is not passed on; J11 survivors that a record of the log makes workers forget are
not found again, and nothing else is missing: it follows from J1, J2 and J5 where everything is decided, and after a
repair from the content of the shards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from crawler_plugin.wire.errors import Stop, UnreadableRecord
from crawler_plugin.wire.forgetting import Forget, Forgotten
from crawler_plugin.wire.messages import Batch, Block, Claim, decode, decode_claims, forgotten_of
from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.page_headers import text_headers
from crawler_plugin.wire.topics import DAY_MS, DEAD_LETTERS, DEDUPLICATED, FINGERPRINTS, INDEX, PAGES, VERDICTS
from tests.columns import claimed
from tests.guarantees import Source, Traces, Violation, check_guarantees
from tests.simulation.crawl import Shown
from tests.simulation.memory_log import MemoryLog, World
from tests.simulation.mishaps import surviving
from tests.simulation.schedule import Schedule
from worker.fingerprint.hashing import hash_bytes
from worker.index.blocks import cover as honest_cover
from worker.index.queries import Queries
from worker.stream.barrier import Ends
from worker.stream.log import Record, Role
from worker.stream.log_follower import Follower
from worker.stream.observer import Observer
from worker.stream.policy import BEING_COPIED
from worker.stream.resources import WorkerResources
from worker.stream.shard.live import LiveShard
from worker.stream.shard.restore import Restoration
from worker.stream.shard.snapshots import SnapshotFolder
from worker.stream.states import ShardState


def check(schedule: Schedule) -> None:
    """Raises ``Violation`` for the first broken promise."""
    check_guarantees(traces_of(schedule))
    check_dead_letters(schedule)
    check_rebuilt(schedule)
    check_headers(schedule)


def traces_of(schedule: Schedule) -> Traces:
    """Everything on the world's topics that belongs to the generation's share."""
    world, share = schedule.world, schedule.share
    pages = {source for record in everything(world, PAGES) if share.holds(source := (record.partition, record.offset))}
    return Traces(
        log=recorded(world),
        pages=pages,
        verdicts=[Verdict.decode(record.value) for record in everything(world, VERDICTS)],
        dead=[source for source, _ in dead_letters(world)],
        passed=Counter((record.partition, record.key) for record in everything(world, DEDUPLICATED)),
        scheme=schedule.policy.scheme,
        near=schedule.near,
        ttl=schedule.ttl,
        output=schedule.policy.output,
        known=share.known,
        counted=frozenset(filter(share.counts, pages)),
    )


def recorded(world: World) -> list[tuple[int, Batch | Forget]]:
    """The ``fingerprints`` log as it was written, up to a record that no worker may decide."""
    partition = world.topics[FINGERPRINTS, 0]
    end = partition.end if world.barrier is None else world.barrier
    log = []
    for record in partition.history + partition.records:
        with suppress(UnreadableRecord):  # forged records are passed over
            if record.offset < end:
                log.append((record.offset, decode_claims(record.value)))
    return log


def everything(world: World, topic: str) -> list[Record]:
    """The records of all partitions of a topic."""
    return [r for number in range(world.partitions) for r in world.topics[topic, number].records]


def dead_letters(world: World) -> Iterator[tuple[Source, Record]]:
    """Each dead letter with the source of its page."""
    for record in everything(world, DEAD_LETTERS):
        partition, _, offset = text_headers(record.headers)["dedup-source"].partition(":")
        yield (int(partition), int(offset)), record


def check_dead_letters(schedule: Schedule) -> None:
    """Each dead letter has the reason of its first claim, and holds the page as it came, unless it was too large."""
    pages = {(record.partition, record.offset): record for record in everything(schedule.world, PAGES)}
    first: dict[Source, Claim] = {}
    for claim in claimed(recorded(schedule.world), schedule.policy.scheme):
        first.setdefault((claim.partition, claim.offset), claim)
    for source, record in dead_letters(schedule.world):
        reason, _, detail = (first[source].dead or "").partition(": ")
        told = text_headers(record.headers)
        if (told["dedup-reason"], told["dedup-detail"]) != (reason, detail):
            raise Violation(f"J8: the dead letter of {source} says {told}, its claim {first[source].dead}")
        body = None if reason == "oversize" else pages[source].value
        if record.value != body:
            raise Violation(f"J8: the dead letter of {source} holds {record.value!r} instead of {body!r}")


def check_claims(schedule: Schedule) -> None:
    """Each claim carries the flags of its page, however often the page is claimed. Neither a page from the future nor a
    page without a time moves the log's clock beyond the broker's time.
    """
    ahead = DAY_MS if schedule.ttl is None else min(DAY_MS, schedule.ttl // 10)
    pages = {(record.partition, record.offset): record for record in everything(schedule.world, PAGES)}
    for claim in claimed(recorded(schedule.world), schedule.policy.scheme):
        page = pages[claim.partition, claim.offset]
        fetched, flags = Shown.of(page).fetched, Shown.of(page).flags
        if claim.flags != flags:
            raise Violation(f"J8: a page with the flags {flags} is claimed with {claim.flags}")
        if claim.clock != (page.timestamp if fetched is None else min(fetched, page.timestamp + ahead)):
            raise Violation(f"J8: a page of {fetched}, which came at {page.timestamp}, claims {claim.clock}")


def rebuilt(
    schedule: Schedule, number: int, snapshots: SnapshotFolder | None = None
) -> tuple[LiveShard, dict[bytes, int]]:
    """A shard as a new owner would rebuild it now, perhaps with a snapshot; the blocks that this owner knows."""
    observer = Observer()
    log = MemoryLog(schedule.world, "observer")
    restoration = Restoration(number, log, schedule.policy, observer, WorkerResources(snapshots=snapshots))
    while not restoration.step() or (restored := restoration.finish(schedule.new_index)) is None:
        pass
    shard = restored.shard
    check_standing(schedule, shard)
    follower = Follower(log, schedule.policy, shard.replay_point, observer, Ends(log.all_bounds, log.has_partition))
    follower.join(shard)
    follower.read()
    follower.decide()
    return shard, restored.block_keys


def check_headers(schedule: Schedule) -> None:
    """J6: the data in a block apart from its survivors follows from the log up to its last batch, whichever worker
    wrote it."""
    share, world = schedule.share, schedule.world
    blocks = [decode(Block, r.value) for n in range(world.shards) for r in surviving(world.topics[INDEX, n].records)]
    blocks = [block for block in blocks if block.answers_offset != BEING_COPIED]
    batches = iter([*recorded(world), (world.topics[FINGERPRINTS, 0].end, None)])
    watermark, up_to = share.known.watermark, dict(share.known.claimed_up_to)
    offset, batch = next(batches)
    forgotten: list[Forgotten] = []
    for block in sorted(blocks, key=lambda block: block.to) if share.exact else ():
        while offset <= block.to and batch is not None:
            for claim in claimed([(offset, batch)], schedule.policy.scheme):
                watermark = max(watermark, claim.clock)
                up_to[claim.partition] = max(up_to.get(claim.partition, -1), claim.offset)
            if isinstance(batch, Forget) and batch.scheme == schedule.policy.scheme:
                forgotten = [known for known in forgotten if known.condition != batch.condition]
                forgotten.append(Forgotten(batch.condition, offset, watermark))
            offset, batch = next(batches)
        named = [known for known in forgotten if schedule.ttl is None or known.clock >= watermark - schedule.ttl]
        found = block.watermark, dict(block.claimed_up_to), list(forgotten_of(block))
        wanted = watermark, up_to, named
        if found != wanted:
            raise Violation(f"J6: a block of shard {block.shard} ends at {block.to} with {found}, not {wanted}")


def check_standing(schedule: Schedule, shard: LiveShard) -> None:
    """The watermark and the claimed offsets are those just after the batch at which the shard stands, not those after a
    later one.
    """
    known = schedule.share.known
    watermark, up_to = known.watermark, dict(known.claimed_up_to)
    before = ((offset, batch) for offset, batch in recorded(schedule.world) if offset <= shard.standing.to)
    for claim in claimed(before, schedule.policy.scheme):
        watermark = max(watermark, claim.clock)
        up_to[claim.partition] = max(up_to.get(claim.partition, -1), claim.offset)
    found, wanted = (shard.standing.watermark, shard.standing.claimed_up_to), (watermark, up_to)
    if schedule.share.exact and found != wanted:
        raise Violation(f"J6: shard {shard.number} begins after batch {shard.standing.to} with {found}, not {wanted}")


def live_entries(shard: LiveShard) -> list[tuple[Any, ...]]:
    return [tuple(entry) for entry in shard.index.entries(shard.standing.expired_up_to(shard.policy.ttl))]


def last_fetches(shard: LiveShard) -> list[tuple[int, int]]:
    """The shard's answer for each survivor's URL, if it is fetched now: the order of its latest survivor."""
    expired = shard.standing.expired_up_to(shard.policy.ttl)
    survivors = list(shard.index.entries(expired))
    hashes = np.array([hash_bytes(one.url.encode()) for one in survivors], np.uint64)
    found = shard.index.latest_of(lambda query: survivors[query].url, hashes, Queries.of(survivors), expired)
    return [found.order(query) for query in found.hits()]


def check_rebuilt(schedule: Schedule) -> None:
    """J6 and J7, for each shard that answers, and each snapshot of it."""
    folders = [None, *(machine.snapshots for machine in schedule.machines)]
    for worker in schedule.workers.values():
        for owned in worker.shards.values():
            if owned.state is not ShardState.ANSWERING or owned.live is None or owned.block_writer is None:
                continue
            check_known(schedule, owned.number, owned.block_writer.block_keys, owned.block_writer.block_keys_before)
            for folder in folders:
                if folder is None or folder.file(owned.number).exists():
                    check_same(schedule, owned.live, folder)


def check_same(schedule: Schedule, live: LiveShard, snapshots: SnapshotFolder | None) -> None:
    """A rebuilt shard has the same survivors, watermark, claimed offsets and answers offset as the live one."""
    how = "rebuilt" if snapshots is None else "rebuilt with a snapshot"
    try:
        again, known = rebuilt(schedule, live.number, snapshots)
    except Stop as error:
        raise Violation(f"J6: shard {live.number} cannot be {how}: {error}") from error
    for name in ("to", "answers_offset", "watermark", "claimed_up_to"):
        if getattr(live.standing, name) != getattr(again.standing, name):
            raise Violation(f"J6: shard {live.number}: {name} of the one {how} differs")
    if live_entries(live) != live_entries(again):
        raise Violation(f"J6: shard {live.number}: {live_entries(live)} {how} as {live_entries(again)}")
    if live.policy.track_changes and last_fetches(live) != last_fetches(again):
        raise Violation(f"J6: shard {live.number} {how} answers otherwise of earlier fetches of a URL")
    check_known(schedule, live.number, known, schedule.world.topics[INDEX, live.number].end)


def check_written(schedule: Schedule) -> None:
    """J6: everything that an active holder and its predecessors have decided is in blocks, and the other holder knows
    it."""
    for worker in schedule.workers.values():
        for owned in worker.shards.values():
            if owned.live is None:
                continue
            if owned.live.sealed or owned.live.unflushed:
                raise Violation(f"J6: {owned.role} of shard {owned.number} keeps for writing what is written")
            if owned.role is not Role.ACTIVE:
                continue
            blocks = [decode(Block, r.value) for r in surviving(schedule.world.topics[INDEX, owned.number].records)]
            found = honest_cover(blocks)
            if found.end != owned.live.standing.to or found.damaged:
                raise Violation(
                    f"J6: shard {owned.number} has decided up to {owned.live.standing.to}, its blocks go to {found.end}"
                )


def check_known(schedule: Schedule, number: int, known: dict[bytes, int], before: int) -> None:
    """J7: the owner knows every block on the topic before an offset."""
    for record in surviving(schedule.world.topics[INDEX, number].records):
        if record.offset < before and known.get(record.key or b"") != decode(Block, record.value).to:
            raise Violation(f"J7: the block at offset {record.offset} of shard {number} would never be buried")
