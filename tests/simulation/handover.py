"""An index is copied while its workers work; the workers of the next generation stand by, and take over at one record.

The copy comes at any time, is slow or quick, and may be killed at any write. At every moment, both generations together
have written every page to the outputs once.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import partial

from crawler_plugin.wire.errors import Refused, Stop
from crawler_plugin.wire.messages import Block, decode
from crawler_plugin.wire.topics import FINGERPRINTS, INDEX, VERDICTS
from tests.guarantees import Violation
from tests.oracle import Known, verdicts
from tests.simulation.checks import check, check_claims, check_written, everything, recorded
from tests.simulation.memory_log import MemoryLog
from tests.simulation.mutations.mutation import replaced
from tests.simulation.place import BrokeOff, TwinPlace
from tests.simulation.scale import SMALL, Scale
from tests.simulation.schedule import Schedule
from tests.simulation.succession import NEW, OLD, SCHEME_OF_NEW, told
from worker.index.blocks import unpack
from worker.operations import copy_index
from worker.operations.copy_index import refuse_used
from worker.operations.live_copy import LiveCopy
from worker.stream.policy import SUCCESSOR_HEADER
from worker.stream.preflight import check_scheme
from worker.verdict.decide import home_shard

ROUNDS = 400


class Handover:
    """``run`` plays it to its end; the seed decides everything."""

    def __init__(self, seed: int, scale: Scale = SMALL) -> None:
        self.seed = seed
        self.scale = scale
        self.chance = random.Random(seed)
        self.old = Schedule(seed, scale)
        self.told: Counter[str] = Counter()
        self.forgotten = frozenset(f"http://{number}.example/" for number in range(self.chance.choice((0, 0, 2))))
        self.new = self._another()

    def run(self) -> Handover:
        """Play it; ``check`` checks every promise afterwards.

        Raises:
            Violation: a worker or command refuses to go on although nothing is wrong, or goes on although something is
                wrong.
        """
        old, chance = self.old, self.chance
        old.begin()
        for _ in range(chance.randint(1, 6)):
            old.publish()
        old.go_on(chance.randint(0, 300))
        while not self._copy():
            self.new.leave()
            self._see_that_it_has_not_begun()
            self.new = self._another()
        new = self.new
        old.leave()
        if chance.random() < 0.5 and old.refuses() is None:
            raise Violation("J9: workers of the old generation go on with the outputs that were given away")
        new.go_on(chance.randint(50, 300))
        new.heal()
        return self

    def check(self) -> None:
        """Raises ``Violation`` for the first broken promise."""
        for generation in (self.old, self.new):
            check(generation)
            check_claims(generation)
            check_written(generation)

    def _another(self) -> Schedule:
        """The next generation, with empty topics, and the same rules except for the number of shards."""
        new, old = Schedule(self.chance.getrandbits(32), self.scale, beside=self.old), self.old
        new.near, new.ttl, new.standing_by = old.near, old.ttl, True
        new.policy = replace(new.policy, scheme=SCHEME_OF_NEW, near=old.near, ttl=old.ttl)
        return new

    def _copy(self) -> bool:
        """Whether the copy came to its end; otherwise it was killed."""
        old, new, chance = self.old, self.new, self.chance
        patience = chance.choice((None, None, chance.randint(0, 30)))
        source = TwinPlace(old.world, chance.choice((None, None, None, 0, 1)))
        target = TwinPlace(new.world, patience)
        copying = LiveCopy(
            source,
            target,
            (OLD, NEW),
            replace(old.policy, writer=b"copy"),
            replace(new.policy, writer=b"copy"),
            partial(chance.randbytes, 16),
            range(old.world.partitions),
            self.forgotten,
        )
        try:
            with replaced(copy_index, "ALIKE_MS", chance.choice((0, 5, 20, copy_index.ALIKE_MS))):
                self._play(copying, target)
            return True
        except BrokeOff:
            self.told["broken off"] += 1
            if old.world.barrier is not None:
                self.told["broken off behind the end"] += 1
            return False
        finally:
            old.read_besides.clear()
            self._find_the_end()

    def _play(self, copying: LiveCopy, target: TwinPlace) -> None:
        old, new, chance = self.old, self.new, self.chance
        refuse_used(target, NEW, new.policy)
        copying.begin()
        old.read_besides.append(copying.follower)
        comes = chance.randint(0, 6)
        for number in range(ROUNDS):
            self._old_goes_on(chance.randint(0, 12))
            if number == comes:
                self._see_that_scheme_is_right()
                new.begin()
            new.go_on(chance.randint(0, 12))
            self._see_that_it_has_not_begun()
            copying.follow()
            if chance.random() < 0.3:
                chance.choice((copying.call_over, lambda: target.write(copying.copied.cut())))()
            if not copying.awaited() and chance.random() < 0.3:
                break
        else:
            self._stand_by(copying)
        self.told["stood by"] += 1
        copying.hand_over()
        self._find_the_end()
        while not self._end(copying):
            self.told["not yet"] += 1
            self._see_that_it_has_not_begun()
            new.go_on(chance.randint(0, 12))
            self._old_goes_on(chance.randint(0, 40))
            if chance.random() < 0.2:
                old.end_transactions()
                if not self._given:
                    old.begin()
                    old.come_to_rest()
                old.leave()
        self._inherit()

    @property
    def _given(self) -> bool:
        """Whether the old generation knows its successor: its workers refuse from then on."""
        return any(" >" in made.metadata for made in self.old.world.committed.values())

    def _old_goes_on(self, steps: int) -> None:
        if self._given:
            self.old.leave()
        else:
            self.old.go_on(steps)

    def _end(self, copying: LiveCopy) -> bool:
        ended = copying.end()
        if ended and TwinPlace(self.old.world).workers():
            raise Violation("J9: the new generation begins while workers of the old one run")
        return ended

    def _stand_by(self, copying: LiveCopy) -> None:
        """Let nothing go wrong any more: every shard is loaded, and says so."""
        for _ in range(60):
            self.new.world.chance = self.old.world.chance = None
            self.new.rebalance(INDEX)
            self.new.deaf.clear()
            if not self.new.workers:
                self.new.start()
            self.new.work_healthily([Schedule.poll, lambda _, worker: worker.take_up(), Schedule.work])
            self.new.world.settle_down()
            copying.follow()
            if not copying.awaited():
                return
        raise Violation(f"J9: shards {copying.awaited()} are not loaded")

    def _find_the_end(self) -> None:
        """Find the end of the old generation, if it ends."""
        world = self.old.world
        log = world.topics[FINGERPRINTS, 0]
        ends = [r.offset for r in log.history + log.records if SUCCESSOR_HEADER in dict(r.headers)]
        world.barrier = min(ends, default=None)

    def _see_that_scheme_is_right(self) -> None:
        try:
            check_scheme(MemoryLog(self.new.world, "outside"), self.new.policy)
        except Stop as refusal:
            raise Violation(f"J9: workers that would stand by refuse: {refusal}") from refusal
        try:
            check_scheme(MemoryLog(self.new.world, "outside"), replace(self.new.policy, scheme=b"another1"))
        except Refused:
            return
        raise Violation("J9: workers of other settings may stand by")

    def _see_that_it_has_not_begun(self) -> None:
        if self.new.world.committed or everything(self.new.world, VERDICTS):
            raise Violation("J9: the new generation begins before the old one has ended")

    def _inherit(self) -> None:
        """Check that the copied index equals the old generation's: its live survivors, in their order, with their
        clocks; the last blocks have the claimed offsets and the watermark.
        """
        old, new = self.old, self.new
        known = Known()
        verdicts(recorded(old.world), old.near, scheme=old.policy.scheme, ttl=old.ttl, known=known)
        wanted = [(order, kept) for order, kept in known.live(old.ttl) if kept.url not in self.forgotten]
        blocks = [
            decode(Block, record.value)
            for number in range(new.world.shards)
            for record in new.world.topics[INDEX, number].records
        ]
        copied = sorted((entry.order, entry) for block in blocks for entry in unpack(block))
        expired = len(copied) - len(wanted)
        if list(map(told, copied[expired:])) != list(map(told, wanted)):
            raise Violation(f"J9: {list(map(told, wanted))} are copied as {list(map(told, copied))}")
        if expired and old.ttl is None:
            raise Violation(f"J9: {list(map(told, copied[:expired]))} are copied, too")
        for block in blocks:
            if any(home_shard(entry, new.policy.shards) != block.shard for entry in unpack(block)):
                raise Violation(f"J9: shard {block.shard} holds what lives elsewhere")
        last = dict(clock for block in blocks for clock in block.clocks)
        for (marker, _), (order, _) in zip([order for order, _ in copied[expired:]], wanted, strict=True):
            if last[marker] < known.watermark_after[order[0]]:
                raise Violation(f"J9: marker {marker} expires at {last[marker]}, before what it holds")
        old.share.ends = new.share.begins = {n: made.offset for n, made in old.world.committed.items()}
        new.share.known = Known(list(copied), last, dict(known.claimed_up_to), known.watermark)
        self.told["copied survivors"] += len(copied)
