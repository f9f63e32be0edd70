"""How large the world of a schedule may be."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Scale:
    """How large the world of a schedule may be. ``real_index``: the compiled shard in place of the plain one.

    ``accurate``: pages have sketches, bands and scopes, and are near by all of them. ``machines``: the number of
    machines on which the workers run; each may have a folder for snapshots. ``replicas``: how many holders a shard may
    have, drawn once. ``titled``: pages have sites and titles, most of templates. ``flagged``: some are pardoned, or not
    to be stored.
    """

    workers: int = 3
    shards: int = 3
    partitions: int = 3
    pages: int = 42
    bits: int = 12
    radius: int = 2
    flush_entries: int = 2
    claims_a_batch: int = 4
    steps: int = 450
    real_index: bool = False
    accurate: bool = False
    machines: int = 2
    replicas: tuple[int, ...] = (1, 2)
    titled: bool = False
    flagged: bool = False


SMALL = Scale()
HOLDERS = replace(SMALL, replicas=(2,))
ACCURATE = replace(SMALL, accurate=True)
TITLED = replace(ACCURATE, titled=True)
REAL = Scale(workers=4, shards=8, partitions=8, pages=600, bits=64, radius=3, flush_entries=40, claims_a_batch=32,
             steps=1500, real_index=True)  # fmt: skip
