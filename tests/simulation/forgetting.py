"""Pages are forgotten while workers run: records between the batches say which pages."""

from __future__ import annotations

import random
from collections.abc import Callable

from crawler_plugin.wire.forgetting import Forget, ForgetCondition
from crawler_plugin.wire.messages import encode
from crawler_plugin.wire.topics import FINGERPRINTS, INDEX
from tests.simulation.mishaps import OTHER, crash
from tests.simulation.scale import SMALL, Scale
from tests.simulation.schedule import Schedule


class Forgetful(Schedule):
    """A schedule with records of forgetting of all kinds, some of them repeated, and some of other schemes.

    After some records one worker or all are killed, so that shards are restored from blocks that hold forgotten
    survivors.
    """

    def __init__(self, seed: int, scale: Scale = SMALL) -> None:
        super().__init__(seed, scale)
        self.operator = random.Random(f"forgets {seed}")
        self.said: list[bytes] = []
        self.hosts = sorted({key.decode().split("/")[2] for key, _ in self.crawl})

    def moves(self) -> list[tuple[float, Callable[[], None]]]:
        return [*super().moves(), (2, self.forget), (1, self._restart)]

    def forget(self) -> None:
        """A record lands, as may happen at any moment, and perhaps workers end at once or soon."""
        operator = self.operator
        again = operator.random() < 0.2 and self.said
        value = operator.choice(self.said) if again else self._record()
        self.said.append(value)
        self.world.topics[FINGERPRINTS, 0].append(0, None, value, (), self.world.clock)
        if operator.random() < 0.3:
            self._round()
            self._round()
        if operator.random() < 0.3:
            for _ in self.workers.copy() if operator.random() < 0.5 else [None]:
                self._restart()
            self.rebalance(INDEX)

    def _record(self) -> bytes:
        operator = self.operator
        host = operator.choice(self.hosts)
        condition = operator.choice(
            (
                ForgetCondition(kind="host", text=host),
                ForgetCondition(kind="site", text=host, site=operator.choice((0, 1, 2))),
                ForgetCondition(kind="url-prefix", text=f"http://{operator.randrange(10)}"),
                ForgetCondition(kind="before", number=4 * operator.randrange(self.scale.pages)),
                ForgetCondition(kind="scope", number=operator.randrange(2)),
            )
        )
        if condition.site and sum(f"http://{condition.text}/".encode()) % 5 % 3 != condition.site:
            condition = ForgetCondition(kind="site", text=condition.text)
        of_others = operator.random() < 0.1 and self.world.topics[FINGERPRINTS, 0].end
        scheme = OTHER if of_others else self.policy.scheme
        value = encode(Forget(scheme=scheme, writer=b"operator", condition=condition))
        return value[:-1] if operator.random() < 0.05 else value  # torn: no worker knows its meaning

    def _restart(self) -> None:
        crash(self)
        self.start()
