"""Makes workers forget survivors while they run: writes a record between the batches that every shard has to pass.

A shard seals a block where it has forgotten something (``LiveShard.on_forget``). Once a block that ends at the record
or after it is on ``index``, everyone who restores that shard forgets the same, and the shard answers without the
forgotten entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from crawler_plugin.wire.errors import Refused, Unavailable, UnreadableRecord
from crawler_plugin.wire.forgetting import Forget, ForgetCondition
from crawler_plugin.wire.messages import Block, decode, encode, forgotten_of
from crawler_plugin.wire.topics import FINGERPRINTS, INDEX
from worker.index.forgetting import met
from worker.operations.copy_index import covered
from worker.operations.repair import Place
from worker.stream.log import Reader, Record, read_to_end
from worker.stream.policy import SCHEME_HEADER, Policy

SHOWN: Final = 5
"""URLs of a preview."""


@dataclass
class Preview:
    """The entries in blocks that would be forgotten: how many, and some of their URLs."""

    entries: int = 0
    urls: list[str] = field(default_factory=list)


def preview(place: Place, condition: ForgetCondition, policy: Policy) -> Preview:
    """Read all blocks, a shard after the other; changes nothing.

    Raises:
        Refused: a block is damaged, or of other settings.
    """
    found = Preview()
    for shard in range(policy.shards):
        for piece in covered(place, shard, policy).pieces:
            entries = piece.entries()
            rows = np.flatnonzero(met(condition, entries, len(entries)))
            found.entries += len(rows)
            found.urls += [entries.urls[row] for row in rows[: SHOWN - len(found.urls)].tolist()]
    return found


class WrittenForget:
    """A record that was written, at ``offset``, and how far the shards have come.

    Raises:
        Unavailable: the broker did not accept the record.
    """

    def __init__(self, place: Place, condition: ForgetCondition, policy: Policy) -> None:
        self._condition: Final = condition
        self._readers: Final[dict[int, Reader]] = {
            shard: place.reader(INDEX, shard, place.bounds(INDEX, shard).end) for shard in range(policy.shards)
        }
        value = encode(Forget(scheme=policy.scheme, writer=policy.writer, condition=condition))
        begin = place.bounds(FINGERPRINTS, 0).end
        place.write([(FINGERPRINTS, 0, b"", value, [(SCHEME_HEADER, policy.scheme_text)])])
        log = read_to_end(place.reader(FINGERPRINTS, 0, begin), place.bounds(FINGERPRINTS, 0).end)
        self.offset: Final = _offset_of(log, value)

    @property
    def waits_for(self) -> Sequence[int]:
        """The shards that have not passed the record yet, as far as was read."""
        return sorted(self._readers)

    def look(self, wait: float) -> None:
        """Read on in ``index``, for this many seconds at most for each shard that has not passed.

        Raises:
            Refused: the record is void: so many conditions came before it that blocks cannot name more.
        """
        for shard, reader in list(self._readers.items()):
            if any(self._passed(record) for record in reader.read(wait)):
                self._readers.pop(shard).close()

    def close(self) -> None:
        """Stop reading."""
        for reader in self._readers.values():
            reader.close()

    def _passed(self, record: Record) -> bool:
        try:
            block = decode(Block, record.value)
        except UnreadableRecord:  # a tombstone, for one
            return False
        if block.to < self.offset:
            return False
        if not any(each.condition == self._condition and each.at >= self.offset for each in forgotten_of(block)):
            raise Refused(
                f"record {self.offset} of {FINGERPRINTS} is void, and nothing was forgotten: blocks can name no more "
                "requests to forget than they do. Copy the index to a new topics.generation (`python -m worker index "
                "copy`), which erases all that was forgotten, and forget this there"
            )
        return True


def _offset_of(log: Iterator[Record], value: bytes) -> int:
    for record in log:
        if record.value == value:
            return record.offset
    raise Unavailable(f"the record is not in {FINGERPRINTS}, although the broker took it: look at the broker")
