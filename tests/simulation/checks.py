"""What a schedule must have left behind: the guarantees, and

J6 a shard rebuilt from its blocks equals the live one.
"""

from __future__ import annotations

from collections import Counter

from tests.guarantees import Traces, Violation, check_guarantees
from tests.simulation.memory_log import MemoryLog, World
from tests.simulation.schedule import SCHEME, Schedule
from worker.errors import Stop
from worker.messages import Batch, VerdictRecord, decode, text_headers
from worker.stream.follower import Follower
from worker.stream.lives import ShardLife
from worker.stream.lookup import LiveShard
from worker.stream.observer import Observer
from worker.stream.restore import Restoration
from worker.topics import DEAD_LETTERS, DEDUPLICATED, FINGERPRINTS, PAGES, VERDICTS


def check(schedule: Schedule) -> None:
    """Raises ``Violation`` for the first promise that is broken."""
    check_guarantees(traces_of(schedule))
    check_rebuilt(schedule)


def traces_of(schedule: Schedule) -> Traces:
    """Everything that the world's topics hold."""
    world = schedule.world
    dead = [text_headers(record.headers)["dedup-source"].split(":") for record in everything(world, DEAD_LETTERS)]
    return Traces(
        log=recorded(world),
        pages={(record.partition, record.offset) for record in everything(world, PAGES)},
        verdicts=[VerdictRecord.decode(record.value) for record in everything(world, VERDICTS)],
        dead=[(int(partition), int(offset)) for partition, offset in dead],
        passed=Counter((record.partition, record.key) for record in everything(world, DEDUPLICATED)),
        scheme=SCHEME,
        near=schedule.near,
        ttl=schedule.ttl,
        drop=schedule.policy.output == "drop",
    )


def recorded(world: World) -> list[tuple[int, Batch]]:
    """The ``fingerprints`` log as it was written."""
    partition = world.topics[FINGERPRINTS, 0]
    return [(r.offset, decode(Batch, r.value)) for r in partition.history + partition.records]


def everything(world: World, topic: str) -> list:
    return [r for number in range(world.partitions) for r in world.topics[topic, number].records]


def rebuilt(schedule: Schedule, number: int) -> LiveShard:
    """A shard as a new owner would rebuild it now."""
    observer = Observer()
    log = MemoryLog(schedule.world, "observer")
    restoration = Restoration(number, log, schedule.policy, observer)
    while not restoration.step():
        pass
    shard, *_ = restoration.finish(schedule.new_index)
    follower = Follower(log, schedule.policy, shard.replay_point, observer)
    follower.join(shard)
    follower.read()
    follower.decide()
    return shard


def live_entries(shard: LiveShard) -> list:
    return [tuple(entry) for entry in shard.index.entries(shard.standing.expired_up_to(shard.policy.ttl))]


def check_rebuilt(schedule: Schedule) -> None:
    """J6: survivors, W, hw and Y of a rebuilt shard are those of the one that lived through it all."""
    for worker in schedule.workers.values():
        for owned in worker.shards.values():
            if owned.life is not ShardLife.ANSWERING or owned.live is None:
                continue
            try:
                live, again = owned.live, rebuilt(schedule, owned.number)
            except Stop as error:
                raise Violation(f"J6: shard {owned.number} cannot be rebuilt: {error}") from error
            for name in ("to", "candidate", "watermark", "claimed"):
                if getattr(live.standing, name) != getattr(again.standing, name):
                    raise Violation(f"J6: shard {owned.number}: {name} of the rebuilt one differs")
            if live_entries(live) != live_entries(again):
                raise Violation(f"J6: shard {owned.number}: {live_entries(live)} rebuilt as {live_entries(again)}")
