"""Records in, verdicts out: all that a scan, ``judge`` and ``index seed`` decide."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from crawler_plugin.wire.messages import Block
from worker.compose import parts
from worker.compose.kernels import compile_apart
from worker.compose.machine import memory_for_index
from worker.compose.step import policy
from worker.config import Settings
from worker.fingerprint.scheme import Scheme
from worker.index.blocks import cover
from worker.local.deduplicator import alone
from worker.local.single_shard import SingleShard
from worker.scan.judge.claims import claims_of
from worker.scan.judge.rows import verdict_rows
from worker.scan.judge.texts import IDS, Texts
from worker.verdict.decide import Decisions

_URLS: Final = "urls"
AT_ONCE: Final = 1 << 14
"""Records that are judged together, where it makes no difference: each batch has costs of its own."""


class Judge:
    """Judges pages in the order of their records.

    Args:
        folder: must exist. The names of the pages are in files there: of the pages in ``blocks``, and of new ones.
        blocks: of survivors that came before.
        now: dates pages without a fetch time, in milliseconds since 1970 UTC.
        keep: gets each block of survivors when it is full, the oldest first; None if they are not wanted.

    Raises:
        Refused: a block is damaged, or needs more memory than ``index.memory_mb``, or ids do not match.
    """

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        blocks: Sequence[Block],
        now: int,
        keep: Callable[[Block], None] | None = None,
    ) -> None:
        compile_apart()
        self.scheme: Final = state_scheme(settings)
        """All that these verdicts depend on."""
        settings = alone(settings)
        self.reading: Final = parts.reading(settings, parts.recipe(settings))
        """All that the records have to depend on."""
        self._policy: Final = policy(settings, self.scheme, secrets.token_bytes(8))
        self._shard: Final = SingleShard(
            self._policy, parts.new_index(settings), memory_for_index(settings), blocks, keeps=keep is not None
        )
        self._sketched: Final = settings.near.predicate == "accurate"
        self._ids: Final = Texts(folder, IDS, self._shard.judged)
        self._urls: Final = Texts(folder, _URLS, 0)
        for first, urls in _urls_of(blocks):
            self._urls.extend(pa.nulls(first - len(self._urls), pa.string()))
            self._urls.extend(pa.array(urls, pa.string()))
        self._urls.extend(pa.nulls(self._shard.judged - len(self._urls), pa.string()))
        self._now: Final = now
        self._keep: Final = keep

    @property
    def judged(self) -> int:
        """The number of judged pages, in all."""
        return self._shard.judged

    def verdicts(self, records: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The verdicts on pages, a row of ``rows.ROWS`` for each record, in their order; each record has a URL.

        Pages expire by batches: where they do, each batch has one page, so that the number is the same in each run.

        Raises:
            OverMemoryLimit: the index may not grow any more; pages from here on are not judged.
        """
        for together in self._batches(records):
            decisions = self._decided(together)
            is_suspect = self._shard.is_suspect if self._shard.knows_suspects else None
            yield verdict_rows(together, decisions, self._urls.at, self._ids.at, is_suspect)

    def take(self, records: pa.RecordBatch) -> None:
        """Judge pages whose verdicts are not wanted; as ``verdicts``."""
        for together in self._batches(records):
            self._decided(together)

    def _batches(self, records: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        most = AT_ONCE if self._policy.ttl is None else 1
        return (records.slice(begin, most) for begin in range(0, len(records), most))

    def _decided(self, records: pa.RecordBatch) -> Decisions:
        shard = self._shard
        self._ids.extend(records.column("id"))
        self._urls.extend(records.column("url"))
        decided = shard.decide(claims_of(records, shard.judged, self._now, sketched=self._sketched))
        shard.has_room_for(decided)
        shard.take(decided)
        self._hand_over()
        return decided.decisions

    def seal(self) -> None:
        """Hand over all that is in no block yet; when this returns, the ids are handed over, too."""
        if self._keep is not None:
            self._ids.sync()
            self._shard.seal()
            self._hand_over()

    def close(self) -> None:
        """Close the files."""
        self._ids.close()
        self._urls.close()

    def _hand_over(self) -> None:
        sealed = self._shard.sealed
        while self._keep is not None and sealed:
            self._keep(sealed.popleft())


def state_scheme(settings: Settings) -> Scheme:
    """The scheme of states and verdicts by these settings."""
    settings = alone(settings)
    return parts.scheme(settings, parts.recipe(settings))


def _urls_of(blocks: Sequence[Block]) -> Iterator[tuple[int, list[str]]]:
    """The URLs of survivors with consecutive numbers, after the number of the first; all in ascending order."""
    for piece in cover(blocks).pieces:
        entries = piece.entries()
        numbers, urls = entries.batch + entries.place, [*entries.urls]
        starts = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist(), len(numbers)]
        for begin, end in pairwise(starts):
            if begin < end:
                yield int(numbers[begin]), urls[begin:end]
