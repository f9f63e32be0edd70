"""One generation follows another: its index is copied, or its outputs pass to a generation that has counted alongside
it.

Commands come at any time, and may break off. Both generations together write every page to the outputs once.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import partial

from crawler_plugin.wire.errors import Refused, Stop
from crawler_plugin.wire.messages import Block, Claim, Order, decode
from crawler_plugin.wire.topics import INDEX, VERDICTS
from tests.guarantees import Violation
from tests.oracle import Known, verdicts
from tests.simulation.checks import check, check_claims, check_written, everything, recorded
from tests.simulation.growth import Growing
from tests.simulation.memory_log import MemoryLog
from tests.simulation.mishaps import forge
from tests.simulation.mutations.mutation import replaced
from tests.simulation.place import BrokeOff, TwinPlace
from tests.simulation.scale import SMALL, Scale
from tests.simulation.schedule import Schedule
from worker.index.blocks import unpack
from worker.index.entries import Survivor
from worker.operations import copy_index, switch
from worker.operations.switch import Generation
from worker.stream.preflight import check_scheme
from worker.verdict.decide import home_shard

OLD, NEW = "", "b"
SCHEME_OF_NEW = b"simulat2"
ATTEMPTS = 8
"""How often workers are started again because their index cannot be copied yet."""


def told(survivor: tuple[Order, Claim | Survivor]) -> tuple[str | int, ...]:
    """The values that a copy must keep."""
    _, kept = survivor
    return kept.url, kept.site, kept.title, kept.doubt


class Succession:
    """``run`` plays one of the two kinds to its end; the seed decides everything."""

    def __init__(self, seed: int, scale: Scale = SMALL, kind: type[Schedule] = Schedule) -> None:
        self.seed = seed
        self.scale = scale
        self.chance = random.Random(seed)
        self.old = kind(seed, scale)
        self.new = self._another()
        self.copied = self.chance.random() < 0.5
        self.forger = random.Random(f"forger {seed}")
        self.told: Counter[str] = Counter()
        self.why = ""

    def run(self) -> Succession:
        """Play it; ``check`` checks every promise afterwards.

        Raises:
            Violation: a worker or command refuses to go on although nothing is wrong, or goes on although something is
                wrong.
        """
        self.old.begin()
        self.told["copied" if self.copied else "switched"] += 1
        if self.copied:
            self._copy()
        else:
            self._switch()
        if self.chance.random() < 0.5 and self.old.refuses() is None:
            raise Violation("J9: workers of the old generation go on with the outputs that were given away")
        self.new.begin()
        self.new.go_on(self.chance.randint(50, 300))
        self.new.heal()
        return self

    def check(self) -> None:
        """Raises ``Violation`` for the first broken promise."""
        for generation in (self.old, self.new):
            check(generation)
            check_claims(generation)
            check_written(generation)

    def _another(self) -> Schedule:
        """The next generation, with empty topics."""
        new = Schedule(self.chance.getrandbits(32), self.scale, beside=self.old)
        new.policy = replace(new.policy, scheme=SCHEME_OF_NEW)
        if isinstance(self.old, Growing):
            self.old.next = new
        return new

    def _claim_all(self) -> None:
        """Let workers that start from now on claim every partition: a switch waits for that, and so does a claimed
        page."""
        for generation in (self.old, self.new):
            generation.setting = generation.world.outputs = generation.world.partitions

    def _borders(self) -> dict[int, int]:
        return {number: committed.offset for number, committed in self.old.world.committed.items()}

    # a copy

    def _copy(self) -> None:
        old, chance = self.old, self.chance
        for _ in range(chance.randint(1, 6)):
            old.publish()
        old.go_on(chance.randint(60, 300))
        if self.forger.random() < 0.3 and recorded(old.world):
            self._forge()
        forgotten = frozenset(f"http://{number}.example/" for number in range(chance.choice((0, 0, 2))))
        if chance.random() < 0.3 and TwinPlace(old.world).workers() and self._drained() is not None:
            raise Violation("J9: an index is copied while workers run")
        if chance.random() < 0.5:
            old.come_to_rest()
        old.leave()
        if chance.random() < 0.5:
            old.end_transactions()
        for _ in range(ATTEMPTS):
            if isinstance(old, Growing):
                old.grow()
                old.publish()
            if (found := self._drained()) is not None:
                break
            old.end_transactions()
            self._claim_all()
            old.begin()
            old.come_to_rest()
            old.leave()
        else:
            raise Violation(f"J9: an index that is at rest is not copied: {self.why}")
        self._same_rules()
        while not self._copy_once(found, forgotten):
            self.new = self._another()  # its topics are deleted
            self._same_rules()
        self._inherit(forgotten)

    def _forge(self) -> None:
        """Forge a record, at which the old generation cannot go on: its index is copied from there."""
        forge(self.old, self.forger)
        self.told["forged"] += 1
        self.old.go_on(self.forger.randint(0, 200))
        self.old.leave()
        if self.forger.random() < 0.5 and self._drained() is not None:
            self.told["copied at once"] += 1
        self.old.begin()
        self.old.go_on(self.forger.randint(0, 60))

    def _same_rules(self) -> None:
        """The rules that a copy keeps: all except the number of shards."""
        new, old = self.new, self.old
        new.near, new.ttl = old.near, old.ttl
        new.policy = replace(new.policy, near=old.near, ttl=old.ttl)

    def _drained(self) -> copy_index.Drained | None:
        """None where the copy was refused."""
        try:
            return copy_index.drained(TwinPlace(self.old.world), OLD, self.old.policy, range(self.old.world.partitions))
        except Stop as refusal:
            self.why = str(refusal)
            self.told["refused"] += 1
            return None

    def _copy_once(self, found: copy_index.Drained, forgotten: frozenset[str]) -> bool:
        """Whether the copy came to its end."""
        new, chance = self.new, self.chance
        patience = chance.choice((None, chance.randint(0, 12)))
        source, target = TwinPlace(self.old.world, chance.choice((None, None, None, 0))), TwinPlace(new.world, patience)
        alike = chance.choice((0, 5, 20, copy_index.ALIKE_MS))
        policy = replace(new.policy, writer=b"copy")
        new_key = partial(chance.randbytes, 16)
        try:
            with replaced(copy_index, "ALIKE_MS", alike):
                copy_index.refuse_used(target, NEW, policy)
                copy_index.copy(source, target, (OLD, NEW), found, policy, new_key, forgotten)
            return True
        except BrokeOff:
            self.told["broken off"] += 1
            if not target.writes:
                return self._copy_once(found, forgotten)
        if chance.random() < 0.5:
            self._work_on_half_a_copy(torn=target.torn)
            return False
        try:
            with replaced(copy_index, "ALIKE_MS", alike):
                whole = TwinPlace(new.world)
                copy_index.refuse_used(whole, NEW, policy)
                copy_index.copy(TwinPlace(self.old.world), whole, (OLD, NEW), found, policy, new_key, forgotten)
        except Refused:
            return False
        return True

    def _work_on_half_a_copy(self, *, torn: bool) -> None:
        """Check that workers of the new generation do not begin on half a copy; those that ran there before the copy do
        not get far."""
        new = self.new
        try:
            check_scheme(MemoryLog(new.world, "outside"), new.policy)
        except Refused:
            pass
        else:
            raise Violation("J9: a copy that broke off is taken for a whole one")
        published = sum(new.world.topics["pages", number].end for number in range(new.world.partitions))
        if published and torn and new.refuses() is None and everything(new.world, VERDICTS):
            raise Violation("J9: pages are judged by a part of the index")

    def _inherit(self, forgotten: frozenset[str]) -> None:
        """Check that the copied index equals the old generation's: its live survivors, in their order, with their
        clocks, the claimed offsets and the watermark.
        """
        old, new = self.old, self.new
        known = Known()
        verdicts(recorded(old.world), old.near, scheme=old.policy.scheme, ttl=old.ttl, known=known)
        wanted = [(order, kept) for order, kept in known.live(old.ttl) if kept.url not in forgotten]
        blocks = [
            decode(Block, record.value)
            for number in range(new.world.shards)
            for record in new.world.topics[INDEX, number].records
        ]
        copied = sorted((entry.order, entry) for block in blocks for entry in unpack(block))
        if (found := list(map(told, copied))) != (expected := list(map(told, wanted))):
            raise Violation(f"J9: {expected} are copied as {found}")
        for block in blocks:
            if (block.watermark, dict(block.claimed_up_to)) != (known.watermark, known.claimed_up_to):
                raise Violation(f"J9: {known.watermark} and {known.claimed_up_to} are copied as {block}")
            if any(home_shard(entry, new.policy.shards) != block.shard for entry in unpack(block)):
                raise Violation(f"J9: shard {block.shard} holds what lives elsewhere")
        last: dict[int, int] = {}
        for ((marker, _), _), (order, _) in zip(copied, wanted, strict=True):
            last[marker] = max(last.get(marker, known.watermark_after[order[0]]), known.watermark_after[order[0]])
        if any(clock != last[marker] for block in blocks for marker, clock in block.clocks):
            raise Violation(f"J9: markers expire at {last}, their blocks say {[block.clocks for block in blocks]}")
        old.share.ends = new.share.begins = self._borders()
        new.share.known = Known(list(copied), last, known.claimed_up_to, known.watermark)

    # a switch

    def _switch(self) -> None:
        old, new, chance = self.old, self.new, self.chance
        written = new.policy.output
        new.policy = replace(new.policy, output="count")
        new.begin()
        for _ in range(chance.randint(5, 40)):
            chance.choice((old, new)).go_on(8)
            running = [name for generation in (old, new) for name in TwinPlace(generation.world).workers()]
            if chance.random() < 0.02 and running and self._planned() is not None:
                raise Violation("J9: the outputs pass while workers run")
        for generation in (old, new):
            generation.leave()
        while (passings := self._planned()) is None:
            self._claim_all()
            for generation in chance.choice(((old,), (old, new))):
                generation.end_transactions()
                generation.begin()
                generation.come_to_rest()
                generation.leave()
            new.end_transactions()
            if any(number not in new.world.committed for number in range(new.world.partitions)):
                new.begin()
                new.come_to_rest()
                new.leave()
        borders = self._borders()
        if chance.random() < 0.4:
            self._switch_halfway(passings)
            passings = self._planned() or passings
        switch.switch(self._generation(OLD), self._generation(NEW), passings)
        old.share.ends = new.share.counted = borders
        new.policy = replace(new.policy, output=written)

    def _generation(self, name: str, patience: int | None = None) -> Generation:
        world = self.old.world if name == OLD else self.new.world
        return Generation(name, TwinPlace(world, patience))

    def _planned(self) -> list[switch.Passing] | None:
        """None where the switch was refused."""
        try:
            return switch.plan_switch(self._generation(OLD), self._generation(NEW), range(self.old.world.partitions))
        except Stop:
            self.told["refused"] += 1
            return None

    def _switch_halfway(self, passings: list[switch.Passing]) -> None:
        """Break off the switch before the new generation knows of it: then neither generation writes."""
        try:
            switch.switch(self._generation(OLD), self._generation(NEW, 0), passings)
        except BrokeOff:
            if self.old.refuses() is None:
                raise Violation("J9: the old generation goes on with outputs that were given away") from None
