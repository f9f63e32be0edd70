"""Entries with bands and sketches, pages like them, and the readable definition of nearness by a sketch."""

from __future__ import annotations

import numpy as np

from tests.index.worlds import columns_of, random
from worker.fingerprint.near import Ratio
from worker.index.engine import SketchRule
from worker.index.entries import COLUMNS, Entries
from worker.index.queries import Queries


def sketched_of(chance: np.random.Generator, count: int, common: float) -> Entries:
    """Entries of which the share ``common`` has the same key in one band and similar sketches."""
    bands = chance.integers(0, 2**32, (count, 8), np.uint32)
    sketch = chance.integers(0, 2**64, (count, 4), np.uint64)
    hot = chance.random(count) < common
    bands[hot, 3] = 0xABCD_0001
    sketch[hot, :2] = 0x0123_4567_89AB_CDEF
    alike = chance.random(count) < 0.2
    sketch[alike] = sketch[0] ^ (np.uint64(1) << chance.integers(0, 64, (int(alike.sum()), 4), np.uint64))
    sketch[:, 3] &= np.uint64(2**62 - 1)  # slot 127 says that the sketches have slots
    bands[alike, 5] = bands[0, 5]
    tokens = chance.choice([30, 38, 40, 41, 100], count).astype(np.uint32)
    plain = columns_of(random(chance, count), a_batch=20, tokens=tokens)
    columns = {name: plain.column(name) for name in COLUMNS} | {"bare": chance.random(count) < 0.1}
    return Entries(**columns, urls=plain.urls, bands=bands, sketch=sketch)


def pages_like(chance: np.random.Generator, entries: Entries, count: int) -> Queries:
    """Pages like some of the entries: other fingerprints, a band or more in common, sketches around the limit."""
    assert entries.bands is not None and entries.sketch is not None
    picked = chance.integers(0, len(entries), count)
    bands, sketch = entries.bands[picked].copy(), entries.sketch[picked].copy()
    prints = entries.fingerprint[picked].copy()
    for number in range(count):
        slots = chance.choice(127, int(chance.choice([0, 37, 38, 39, 57, 58, 127])), replace=False)
        for slot in slots.tolist():
            sketch[number, slot // 32] ^= np.uint64(1 << (2 * (slot % 32) + int(chance.integers(0, 2))))
        spoiled = chance.choice(8, int(chance.integers(0, 9)), replace=False)
        bands[number, spoiled] ^= np.uint32(1 << int(chance.integers(0, 32)))
        if chance.random() < 0.7:
            prints[number] ^= np.uint64(int(chance.integers(1, 2**63)))
    tokens = chance.choice([30, 38, 40, 41, 53, 54], count).astype(np.uint32)
    bare = chance.random(count) < 0.1
    texts = np.where(chance.random(count) < 0.5, prints, ~prints)
    return Queries(prints, bare, texts, tokens, bands, sketch)


def first_and_reason(entries: Entries, asked: Queries, rule: SketchRule) -> tuple[list[int], list[str | None]]:
    """First near entry and reason of each query, entry by entry."""
    assert entries.bands is not None and entries.sketch is not None
    assert asked.tokens is not None and asked.bands is not None and asked.sketch is not None
    firsts: list[int] = []
    reasons: list[str | None] = []
    for query in range(len(asked)):
        first, why = -1, None
        for index in range(len(entries)):
            why = _why_near(entries, index, asked, query, rule)
            if why:
                first = index
                break
        firsts.append(first)
        reasons.append(why)
    return firsts, reasons


def _why_near(entries: Entries, index: int, asked: Queries, query: int, rule: SketchRule) -> str | None:
    assert entries.bands is not None and entries.sketch is not None
    assert asked.tokens is not None and asked.bands is not None and asked.sketch is not None
    same_text = entries.text_hash[index] == asked.text_hash[query]
    one, other = int(entries.tokens[index]), int(asked.tokens[query])
    if entries.bare[index] and asked.bare[query] and same_text:
        return "exact-text"
    distance = (int(entries.fingerprint[index]) ^ int(asked.fingerprint[query])).bit_count()
    close = not entries.bare[index] and not asked.bare[query] and distance <= 3 and Ratio(3, 5).allows(one, other)
    shared = bool((entries.bands[index] == asked.bands[query]).any())
    if not close and not shared:
        return None
    equal = sum(
        (int(a) >> 2 * slot & 3) == (int(b) >> 2 * slot & 3)
        for a, b in zip(entries.sketch[index], asked.sketch[query], strict=True)
        for slot in range(32)
    )
    if close and (same_text or equal >= rule.hamming_threshold):
        return "exact-text" if same_text and distance == 0 else "hamming"
    return "sketch" if shared and equal >= rule.threshold and Ratio(*rule.ratio).allows(one, other) else None
