"""Records that workers need are gone, and a repair goes on behind them: it loses the pages that it lists, and nothing
else."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from crawler_plugin.wire.errors import Refused, Unavailable
from crawler_plugin.wire.messages import Block, decode
from crawler_plugin.wire.topics import ANSWERS, FINGERPRINTS, INDEX, PAGES
from tests.guarantees import Source, Violation
from tests.oracle import Expected, Known, forgets_of, is_forgotten, verdicts
from tests.simulation.checks import check_rebuilt, live_entries, recorded
from tests.simulation.memory_log import World
from tests.simulation.mishaps import surviving
from tests.simulation.place import BrokeOff, TwinPlace, committed
from tests.simulation.scale import SMALL
from tests.simulation.schedule import Schedule
from worker.index.blocks import NO_BATCH
from worker.index.entries import Survivor
from worker.operations import repair
from worker.operations.repair import Plan, Survey
from worker.verdict.decide import home_shard

LOGS = (FINGERPRINTS, ANSWERS)


@dataclass
class Truth:
    """The facts before the accident: verdicts by source, the watermark after each batch, and the committed pages."""

    expected: dict[Source, Expected]
    known: Known
    committed: set[Source]


class Gap:
    """``run`` plays a schedule, lets an accident happen, repairs and goes on; the seed decides everything."""

    def __init__(self, seed: int, kind: type[Schedule] = Schedule) -> None:
        self.schedule = kind(seed, SMALL)
        self.schedule.share.exact = False
        self.chance = random.Random(seed)
        self.plans: list[Plan] = []

    def run(self) -> Gap:
        """Play the schedule; ``check`` checks the result afterwards.

        Raises:
            Violation: workers refuse to go on after the repair, or the repair leaves something to repair.
        """
        schedule, chance = self.schedule, self.chance
        schedule.begin()
        schedule.go_on(chance.randint(20, 400))
        schedule.leave()
        schedule.world.limbo.clear()
        schedule.world.chance = None
        while schedule.world.transactions:
            with suppress(Unavailable):
                self._survey()
            schedule.end_transactions()
        self._remember()
        lost = accident(schedule.world, chance)
        for _ in range(chance.randint(0, 6)):
            schedule.publish()
        self._repair()
        self._forget_disks(lost)
        schedule.begin()
        schedule.go_on(chance.randint(0, 150))
        schedule.heal()
        return self

    def check(self) -> None:
        """Raises ``Violation`` for the first broken promise."""
        self._check_accounts()
        check_rebuilt(self.schedule)
        self._check_kept()
        check_survivors(self.schedule)

    def _survey(self) -> Survey:
        world = self.schedule.world
        try:
            return repair.survey(TwinPlace(world), self.schedule.policy, range(world.partitions))
        except Refused as error:
            raise Violation(f"J10: what blocks tell cannot be repaired: {error}") from error

    def _plan(self) -> Plan:
        try:
            return repair.plan(self._survey(), self.schedule.policy)
        except Refused as error:
            raise Violation(f"J10: nothing can be planned: {error}") from error

    def _remember(self) -> None:
        world, known = self.schedule.world, Known()
        expected = verdicts(
            recorded(world),
            self.schedule.near,
            scheme=self.schedule.policy.scheme,
            ttl=self.schedule.ttl,
            known=known,
        )
        self.truth = Truth(expected, known, set(committed(world)))

    def _repair(self) -> None:
        """Repair, perhaps in two steps, and check that nothing is left to repair."""
        world, policy = self.schedule.world, self.schedule.policy
        self.surveyed = self._survey()
        self._check_reach(self._plan())
        for patience in (self.chance.choice((None, 0, 1, 2)), None):
            planned = self._plan()
            self.plans.append(planned)
            try:
                repair.carry_out(TwinPlace(world, patience), planned, policy, partial(self.chance.randbytes, 16))
            except BrokeOff:
                continue
        left = self._plan()
        if not left.empty:
            raise Violation(f"J10: after the repair there is this to repair: {left}")

    def _forget_disks(self, lost: set[int]) -> None:
        """Remove snapshots with the lost blocks: where the logs still hold the content of lost blocks, no repair
        updates the snapshots."""
        bridged = {bridge.shard for planned in self.plans for bridge in planned.bridges}
        for machine in self.schedule.machines:
            for number in lost - bridged:
                machine.snapshots.file(number).unlink(missing_ok=True)

    def _check_reach(self, planned: Plan) -> None:
        """No bridge goes beyond the first state from which the logs can still be read."""
        world = self.schedule.world
        begins = {topic: world.topics[topic, 0].begin for topic in LOGS}
        readable = [
            block.to
            for number in range(world.shards)
            for record in surviving(world.topics[INDEX, number].records)
            if (block := decode(Block, record.value)).to + 1 >= begins[FINGERPRINTS]
            and (block.answers_offset >= begins[ANSWERS] or block.to + 1 == world.topics[FINGERPRINTS, 0].end)
        ]
        if not any(begins.values()):
            readable.append(NO_BATCH)
        ends = [bridge.blocks[-1].to for bridge in planned.bridges]
        if readable and any(end > min(readable) for end in ends):
            raise Violation(f"J10: batches after {min(readable)} can be read, bridges go to {ends}")

    def _check_accounts(self) -> None:
        """Each page is committed once, or left out and listed."""
        now = committed(self.schedule.world)
        if twice := [source for source, count in now.items() if count > 1]:
            raise Violation(f"J10: committed more than once: {twice}")
        if gone := self.truth.committed - set(now):
            raise Violation(f"J10: not committed any more: {gone}")
        listed = {
            (move.partition, offset) for planned in self.plans for move in planned.moves for offset in move.skipped
        }
        for place in self.surveyed.partitions:
            begin = place.pages.begin if place.offset == place.pages.begin else 0  # nothing is known of earlier pages
            end = self.schedule.world.topics[PAGES, place.partition].end
            left_out = {(place.partition, offset) for offset in range(begin, end)} - set(now)
            of_this = {source for source in listed - self.truth.committed if source[0] == place.partition}
            if left_out != of_this:
                raise Violation(f"J10: left out are {left_out}, listed {of_this}")

    def _check_kept(self) -> None:
        """A survivor that no list names is in its shard."""
        schedule, truth = self.schedule, self.truth
        shards = {
            owned.number: owned.live
            for worker in schedule.workers.values()
            for owned in worker.shards.values()
            if owned.live is not None
        }
        forgets = forgets_of(recorded(schedule.world), schedule.policy.scheme)
        held = {number: {entry[0] for entry in live_entries(live)} for number, live in shards.items()}
        for (batch, place), kept in truth.known.survivors:
            home = home_shard(kept, schedule.policy.shards)
            if home not in shards or self._lost(home, batch) or self._undecided(batch):
                continue
            watermark = shards[home].standing.watermark
            if schedule.ttl is not None and truth.known.watermark_after[batch] < watermark - schedule.ttl:
                continue
            if any(batch < offset and is_forgotten(condition, kept) for offset, condition in forgets):
                continue
            if (batch, place) not in held[home]:
                raise Violation(f"J10: {kept.url} ({batch}, {place}) is in shard {home} no more, and in no list")

    def _lost(self, shard: int, batch: int) -> bool:
        bridges = (bridge for planned in self.plans for bridge in planned.bridges if bridge.shard == shard)
        holes = (hole for bridge in bridges for hole in bridge.holes)
        annulled = any(batch in planned.annulled for planned in self.plans)
        return annulled or any(after < batch <= to for after, to in holes)

    def _undecided(self, batch: int) -> bool:
        """Whether the batch was decided only after the accident, from the remaining records."""
        return batch > self.decided

    @property
    def decided(self) -> int:
        """The last batch that the oracle and the committed pages agree on."""
        known = self.truth.committed & self.truth.expected.keys()
        return max((self.truth.expected[source].order[0] for source in known), default=NO_BATCH)


def idle(world: World) -> Iterator[int]:
    """The answers offset of the shards whose blocks hold all batches."""
    for number in range(world.shards):
        for record in surviving(world.topics[INDEX, number].records):
            block = decode(Block, record.value)
            if block.to + 1 >= world.topics[FINGERPRINTS, 0].end:
                yield block.answers_offset


def accident(world: World, chance: random.Random) -> set[int]:
    """Let some of these happen: logs and pages pass their retention, blocks vanish, the broker forgets the group.

    Returns the shards that have lost blocks.

    The first answer that a shard with nothing to read still names is kept, if repeated answers lie behind it: otherwise
    the shard would be refused from the next batch until its next block.
    """
    for topic in LOGS:
        if chance.random() < 0.7:
            partition = world.topics[topic, 0]
            end = partition.end if topic == FINGERPRINTS else min([partition.end, *idle(world)])
            partition.forget(chance.choice((end, chance.randint(min(partition.begin, end), end))))
    for number in range(world.partitions):
        if chance.random() < 0.2:
            pages = world.topics[PAGES, number]
            pages.forget(chance.randint(pages.begin, pages.end))
        if chance.random() < 0.2:
            world.committed.pop(number, None)
    lost = set()
    for number in range(world.shards):
        index = world.topics[INDEX, number]
        if chance.random() < 0.3:
            kept = [record for record in index.records if record.value is None or chance.random() < 0.7]
            if len(kept) < len(index.records):
                lost.add(number)
            index.records = kept
    return lost


def check_survivors(schedule: Schedule) -> None:
    """J1 and J11 over the content of the shards: no two live survivors of different URLs are near, and no record that
    is still there has made one of them forgotten.
    """
    entries = [
        Survivor(*entry)
        for worker in schedule.workers.values()
        for owned in worker.shards.values()
        if owned.live is not None
        for entry in live_entries(owned.live)
    ]
    still_there = [
        record for record in recorded(schedule.world) if record[0] >= schedule.world.topics[FINGERPRINTS, 0].begin
    ]
    for offset, condition in forgets_of(still_there, schedule.policy.scheme):
        if kept := [one.url for one in entries if one.order[0] < offset and is_forgotten(condition, one)]:
            raise Violation(f"J11: {kept} were forgotten by record {offset}, and are there")
    for i, one in enumerate(entries):
        for other in entries[:i]:
            if one.url != other.url and schedule.near(one, other):
                raise Violation(f"J1: {one.url} {one.order} survives beside {other.url} {other.order}")
