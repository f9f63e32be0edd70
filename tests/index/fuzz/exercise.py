"""A program that calls every operation of an index, at random, until its time is over.

    NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=somewhere python -m tests.index.fuzz.exercise SEED SECONDS

An access outside of an array then raises IndexError; an answer that a plain search does not give ends the program too.
The folder must be for checked code only: numba's cache does not tell it from unchecked code.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np

from tests.index.worlds import TINY, columns_of, first_near
from worker.fingerprint.near import Ratio
from worker.index.engine import SketchRule, TableSizes
from worker.index.entries import COLUMNS, Entries
from worker.index.layout import Layout
from worker.index.queries import Queries
from worker.index.shard import Shard


def one_life(chance: np.random.Generator) -> None:
    """A shard from its first entry to its last."""
    layout = list(Layout)[int(chance.integers(0, 3))]
    sizes = TableSizes(**TINY.__dict__ | {"first_slot": int(chance.choice([0, 2**32 - 300, 2**31 - 50]))})
    sketched = bool(chance.random() < 0.5)
    shard = Shard(layout=layout, sizes=sizes, sketch=SketchRule() if sketched else None)
    count = int(chance.integers(50, 1500))
    entries = _entries(chance, count)
    if sketched:
        entries = replace(
            entries,
            site=chance.integers(0, 3, count, np.uint32),
            title=chance.integers(1, 40, count, np.uint32),
            doubt=chance.integers(0, 3, count, np.uint8),
        )
    values = entries.fingerprint
    begin = end = 0
    while end < count:
        more = min(count - end, int(chance.choice([1, 2, 9, 60, 400])))
        shard.store(entries[end : end + more])
        end += more
        if chance.random() < 0.3:
            up_to = int(chance.integers(begin // 20 - 1, end // 20 + 1))
            shard.expire(up_to)
            begin = max(begin, min(end, (up_to + 1) * 20))
        picked = chance.integers(0, end, 20)
        asked = values[picked] ^ (np.uint64(1) << chance.integers(0, 64, 20, np.uint64))
        assert entries.bands is not None and entries.sketch is not None
        queries = Queries(
            asked,
            np.zeros(20, np.bool_),
            asked,
            entries.tokens[picked],
            entries.bands[picked],
            entries.sketch[picked],
            **{name: entries.filled(name)[picked] for name in ("site", "title", "doubt")},
        )
        found = shard.earliest_near(queries)
        if not sketched:
            wanted = first_near(values[begin:end], None, asked, None, 3, Ratio(0, 1))
            alone = [shard.earliest_slot(int(value)) for value in asked]
            if alone != [-1 if index < 0 else sizes.first_slot + begin + index for index in wanted]:
                raise AssertionError(f"{layout} {alone} {wanted}")
        elif (found.slots[picked >= begin] < 0).any():
            raise AssertionError("a page was not found that is there itself, but for one bit")
        shard.tidy()
    if len(shard.entries()) != end - begin or shard.largest_bucket > end - begin + count:
        raise AssertionError("entries were lost")


def _entries(chance: np.random.Generator, count: int) -> Entries:
    values = chance.integers(0, 2**64, count, np.uint64)
    values &= np.array([2**64 - 1, 0xFFFF_FFFF_FFFF_0000, 0xFFFF_0000_FFF0_0000, 3], np.uint64)[
        chance.choice(4, count, p=[0.4, 0.4, 0.15, 0.05])
    ]
    plain = columns_of(values, a_batch=20, tokens=chance.integers(1, 100, count).astype(np.uint32))
    bands = chance.integers(0, 2**32, (count, 8), np.uint32)
    bands[chance.random(count) < 0.5, int(chance.integers(0, 8))] = 77
    sketch = chance.integers(0, 2**64, (count, 4), np.uint64)  # some claim to hold more bigrams than fit
    sketch[:, 3] |= np.uint64(1 << 56)  # and none claims to hold no bigram
    return Entries(**{name: plain.column(name) for name in COLUMNS}, urls=plain.urls, bands=bands, sketch=sketch)


def main(seed: int, seconds: float) -> None:
    """Run lives of shards, one after the other."""
    chance = np.random.default_rng(seed)
    end = time.monotonic() + seconds
    lives = 0
    while lives < 300 or time.monotonic() < end:
        one_life(chance)
        lives += 1
    print(f"{lives} lives")


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
