"""Mishaps between the steps of workers, each by itself and at any time: with the broker, groups, odd records."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from crawler_plugin.wire.messages import Block, Claim, Hit, decode, encode
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, INDEX, PAGES
from tests.columns import answer_of, batch_of
from tests.simulation.crawl import claim_of
from tests.simulation.memory_log import OnItsWay, in_memory
from worker.index.blocks import NO_BATCH, Header, pack
from worker.index.blocks import cover as honest_cover
from worker.index.entries import Entries, Survivor
from worker.stream.log import Held, Record, Role
from worker.stream.policy import Note, ReplayPoint
from worker.stream.shard import snapshot_file
from worker.stream.shard.snapshot_file import Snapshot

if TYPE_CHECKING:
    from tests.simulation.schedule import Schedule

OTHER: Final = b"another1"
"""The scheme of workers with other settings, which also began when the log was empty."""


def surviving(records: list[Record]) -> list[Record]:
    """The remaining records of a compacted partition: the last one of each key, unless it is a tombstone."""
    return [record for record in {record.key: record for record in records}.values() if record.value is not None]


# the broker and its groups


def lose_send(schedule: Schedule) -> None:
    if sends := schedule.world.landable():
        lost = schedule.chance.random() < 0.5
        schedule.world.land(schedule.chance.choice(sends), acknowledged=False, lost=lost)


def land_late(schedule: Schedule) -> None:
    if schedule.world.limbo:
        late: OnItsWay = schedule.chance.choice(schedule.world.limbo)
        schedule.world.land_late(late)


def fail_transaction(schedule: Schedule) -> None:
    if transaction := schedule.transaction():
        kind = schedule.chance.randrange(3)
        if kind == 0:
            schedule.world.give_up(transaction)
        else:
            schedule.world.advance(transaction, commit=kind == 1, acknowledged=False)


def evict(schedule: Schedule) -> None:
    if schedule.workers:
        name = schedule.chance.choice(sorted(schedule.workers))
        schedule.world.groups[schedule.chance.choice((PAGES, INDEX))].evict(name)


def notice(schedule: Schedule) -> None:
    for name, worker in schedule.workers.items():
        if name in schedule.world.groups[PAGES].evicted:
            in_memory(worker.log).pages().member.noticed = True


def turn_deaf(schedule: Schedule) -> None:
    """A worker acts without polling for a while, like a paused one: it may be out of its groups already."""
    if schedule.workers:
        name = schedule.chance.choice(sorted(schedule.workers))
        schedule.deaf.add(name)
        for topic in schedule.chance.choice(((), (PAGES,), (INDEX,), (PAGES, INDEX))):
            schedule.world.groups[topic].evict(name)
            schedule.rebalance(topic)
        notice(schedule)


def crash(schedule: Schedule) -> None:
    if schedule.workers:
        name = schedule.chance.choice(sorted(schedule.workers))
        schedule.retired.append(schedule.workers.pop(name))
        schedule.world.crash(name)
        del schedule.backgrounds[name]


def change_roles(schedule: Schedule) -> None:
    """An assignment of roles, which are given, taken and swapped at any moment; both roles go to different members,
    where there are two.

    Some roles are first taken, and given only by another assignment. In a healthy world every shard has its active
    holder.
    """
    chance, group = schedule.roles, schedule.world.shard_group
    healthy = schedule.world.chance is None
    if not (members := group.members):
        return
    kind = "sticky" if healthy else chance.choice(("sticky", "sticky", "sticky", "swap", "swap", "take", "anew"))
    owners: dict[Held, str] = {}
    for shard in range(schedule.world.shards):
        active, standby = (Held(shard, role) for role in Role)
        first, second = (None if kind == "anew" else group.owners.get(unit) for unit in (active, standby))
        if kind == "swap" and chance.random() < 0.7:
            first, second = second, first
        if first is None and chance.random() < 0.7:
            first = second
        first = first or chance.choice(members)
        others = [member for member in members if member != first]
        if second not in others:
            second = chance.choice(others) if others else None
        both = {active: first} if second is None else {active: first, standby: second}
        owners |= {unit: member for unit, member in both.items() if kind != "take" or chance.random() < 0.6}
    group.assign(owners)


def compact(schedule: Schedule) -> None:
    number = schedule.chance.randrange(schedule.world.shards)
    schedule.world.topics[INDEX, number].compact(bury=schedule.chance.random() < 0.5)


def retain(schedule: Schedule) -> None:
    """The logs forget the records before every written or used replay point, or a part of them."""
    world = schedule.world
    if schedule.standing_by and len(world.committed) < world.partitions:
        return  # a copy takes minutes, retention days
    restorations = (owned.restoration for worker in schedule.workers.values() for owned in worker.shards.values())
    if any(restoration is not None and restoration._read for restoration in restorations):
        return  # a loading shard reads on from the end of its blocks: that takes minutes, retention days
    points = [Note.from_metadata(committed.metadata, "simulation").point for committed in world.committed.values()]
    for number in range(world.shards):
        blocks = [decode(Block, r.value) for r in surviving(world.topics[INDEX, number].records)]
        last = honest_cover(blocks).last
        points.append(ReplayPoint(last.to + 1, last.answers_offset) if last else ReplayPoint(0, 0))
    for followers in (schedule.read_besides, *(worker.followers for worker in schedule.workers.values())):
        points.extend(follower.place for follower in followers)
        points.extend(ReplayPoint(f.fingerprints.position, f.answers_reader.position) for f in followers)
    share = schedule.forgets
    world.topics[FINGERPRINTS, 0].forget(int(share * min((point.batch for point in points), default=0)))
    world.topics[ANSWERS, 0].forget(int(share * min((point.answers_offset for point in points), default=0)))


# the work of others


def claim_by_another_scheme(schedule: Schedule) -> None:
    """A worker with other settings claims pages, perhaps some that no other worker has claimed yet."""
    world, chance = schedule.world, schedule.chance
    records = [record for number in range(world.partitions) for record in world.topics[PAGES, number].records]
    if not records or world.topics[FINGERPRINTS, 0].end == 0 or (schedule.standing_by and not world.committed):
        return  # the blocks of an index that is being copied refuse a worker with other settings
    claims = [
        claim_of(record, schedule.ttl) for record in chance.sample(records, min(len(records), chance.randint(1, 3)))
    ]
    later = [msgspec.structs.replace(claim, clock=claim.clock + chance.choice((0, 50))) for claim in claims]
    batch = batch_of(later, OTHER, b"other")
    world.topics[FINGERPRINTS, 0].append(0, None, encode(batch), (), world.clock)


def answer_by_another_scheme(schedule: Schedule) -> None:
    """That worker also answers: batches of its own, and batches of others before it has seen their scheme."""
    world, chance = schedule.world, schedule.chance
    if not (end := world.topics[FINGERPRINTS, 0].end):
        return
    batch = chance.randrange(max(0, end - 3), end + 1)
    hits = (Hit(place=0, order=(0, 0), url="http://other.example/", distance=0, reason="hamming"),)
    shard = chance.randrange(world.shards)
    answer = answer_of(chance.choice(((), hits)), scheme=OTHER, writer=b"other", batch=batch, shard=shard)
    world.topics[ANSWERS, 0].append(0, None, encode(answer), (), world.clock)


def forge(schedule: Schedule, chance: random.Random) -> None:
    """A foreign program writes an impossible record in the form of this scheme's workers: no worker may decide it."""
    world = schedule.world
    claim = Claim(partition=0, offset=1 << 62, clock=0, url="http://forged.example/")
    value = encode(batch_of([claim], schedule.policy.scheme, b"forger"))
    if chance.random() < 0.3:
        value = value[:2] + b"\x09" + value[3:]  # the version of a format to come
    world.barrier = world.topics[FINGERPRINTS, 0].append(0, None, value, (), world.clock)


# the machines


def damage_snapshot(schedule: Schedule) -> None:
    """A file is torn, or a bit of it flips."""
    files = [file for machine in schedule.machines for file in machine.files()]
    if files:
        file = schedule.chance.choice(files)
        good = file.read_bytes() or b"\0"
        place = schedule.chance.randrange(len(good))
        torn = schedule.chance.random() < 0.3
        file.write_bytes(good[:place] if torn else good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])


def leave_snapshot_of_another_log(schedule: Schedule) -> None:
    """The disk of a machine still holds snapshots from before all topics were made anew."""
    chance, world = schedule.chance, schedule.world
    if not schedule.machines or not (end := world.topics[FINGERPRINTS, 0].end):
        return
    shard, to = chance.randrange(world.shards), chance.randrange(end)
    survivor = Survivor((to, 0), "http://old.example/", chance.getrandbits(schedule.scale.bits), 1, 9, 0)
    header = Header(
        schedule.policy.scheme, b"old", shard, NO_BATCH, to, world.topics[ANSWERS, 0].end, 0, {0: 9}, NO_BATCH, ()
    )
    block = msgspec.structs.replace(pack(Entries.empty(), header), clocks=((to, 0),))
    position = chance.randint(0, world.topics[INDEX, shard].end)
    head = Snapshot(block=block, mark=bytes(16), position=position, block_keys=((b"old", to),), entries=1)
    file = chance.choice(schedule.machines).snapshots.file(shard)
    snapshot_file.write(file, "old", head, Entries.from_rows([survivor]), lambda: False)


MISHAPS: Final[tuple[tuple[float, Callable[[Schedule], None]], ...]] = (
    (1.0, lose_send),
    (1.0, land_late),
    (0.7, fail_transaction),
    (0.7, evict),
    (0.7, notice),
    (1.0, crash),
    (1.5, turn_deaf),
    (0.3, claim_by_another_scheme),
    (0.3, answer_by_another_scheme),
    (0.2, damage_snapshot),
    (0.1, leave_snapshot_of_another_log),
)
"""Mishaps with their frequencies, in a schedule of the usual bad luck."""

UPKEEP: Final[tuple[tuple[float, Callable[[Schedule], None]], ...]] = ((1.5, compact), (3, retain))
"""Events that are not mishaps, and happen in every schedule."""
