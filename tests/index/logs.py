"""A decided log as one shard keeps it, and blocks of any stretch of it, as owners of the shard write them."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from crawler_plugin.wire.messages import Block
from tests.index.worlds import page
from worker.index.blocks import Header, pack
from worker.index.entries import Entries, Survivor

TTL = 50
SCHEME = b"scheme-8"


@dataclass(frozen=True)
class DecidedLog:
    """``survivors[b]`` and ``clocks[b]`` (the clock of batch b's only claim) of the batches 0, 1, …"""

    survivors: tuple[int, ...]
    clocks: tuple[int, ...]

    @property
    def last(self) -> int:
        """The last decided batch."""
        return len(self.clocks) - 1

    def watermark(self, batch: int) -> int:
        """W just after a batch."""
        return max(self.clocks[: batch + 1])

    def floor(self, batch: int) -> int:
        """The largest batch whose survivors are expired just after ``batch``."""
        expired = [a for a in range(batch + 1) if self.watermark(a) < self.watermark(batch) - TTL]
        return max(expired, default=-1)

    def rows(self, after: int, to: int) -> list[Survivor]:
        """The survivors decided in batches (after, to]."""
        return [
            page(None if batch % 5 == 4 else batch << 8 | place, order=(batch, place), text_hash=batch)
            for batch in range(after + 1, to + 1)
            for place in range(self.survivors[batch])
        ]

    def block(self, after: int, to: int, writer: bytes = b"w", floor_read: int = -1) -> Block:
        """The block (after, to] of an owner that may have read a larger floor than it could compute."""
        floor = max(self.floor(to), floor_read)
        rows = self.rows(max(after, floor), to)
        return pack(
            Entries.from_rows(rows),
            Header(
                scheme=SCHEME,
                writer=writer,
                shard=3,
                after=after,
                to=to,
                answers_offset=3 * to + 2,
                watermark=self.watermark(to),
                claimed_up_to={0: 10 * to, 7: to},
                floor=floor,
                clocks=[(batch, self.watermark(batch)) for batch in sorted({row.order[0] for row in rows})],
            ),
        )


def plain_log(batches: int = 20) -> DecidedLog:
    """Two survivors per batch, and nothing ever expires."""
    return DecidedLog((2,) * batches, (0,) * batches)


decided_logs = st.integers(1, 14).flatmap(
    lambda count: st.builds(
        DecidedLog,
        st.tuples(*[st.integers(0, 3)] * count),
        st.tuples(*[st.integers(0, 200)] * count),
    )
)
