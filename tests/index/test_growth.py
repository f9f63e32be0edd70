"""Everything that changes the shape of an index, at sizes so small that each path is taken often."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.index.worlds import ENGINES, TINY, columns_of, first_near, flipped
from worker.fingerprint.near import Ratio
from worker.index.engine import Engine, SketchRule, TableSizes
from worker.index.entries import COLUMNS, Entries
from worker.index.layout import Layout
from worker.index.shard import Queries, Shard
from worker.messages import MAX_U64

every_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)

WRAPPING = TableSizes(**TINY.__dict__ | {"first_slot": 2**32 - 700})
"""Slot numbers, modulo 2^32, begin again in the middle of a test."""


def random(chance: np.random.Generator, count: int) -> NDArray[np.uint64]:
    return chance.integers(0, 2**64, count, np.uint64)


def hot(chance: np.random.Generator, count: int) -> NDArray[np.uint64]:
    values = random(chance, count)
    values[chance.random(count) < 0.7] &= np.uint64(0xFFFF_FFFF_FFFF_0000)
    return values


def hot_twice(chance: np.random.Generator, count: int) -> NDArray[np.uint64]:
    """Most agree in a whole block and in a group of twelve bits beside it, so that what was split splits again."""
    values = random(chance, count)
    values[chance.random(count) < 0.8] &= np.uint64(0xFFFF_FFFF_F000_0000)
    return values


def far_apart(chance: np.random.Generator, count: int) -> NDArray[np.uint64]:
    """Words of a code with distance 4 and more, that agree in a block: the fullest bucket that survivors can make."""
    bits = chance.integers(0, 2**46, count, np.uint64)
    parity = np.bitwise_count(bits).astype(np.uint64) & np.uint64(1)
    place = np.zeros(count, np.uint64)
    for bit in range(46):
        place ^= np.where(bits >> np.uint64(bit) & np.uint64(1), np.uint64(bit + 1), np.uint64(0))
    return (bits << np.uint64(16)) ^ (place << np.uint64(2)) ^ (parity << np.uint64(1))


def clustered(chance: np.random.Generator, count: int) -> NDArray[np.uint64]:
    values = random(chance, 12)[chance.integers(0, 12, count)]
    for _ in range(3):
        values ^= np.uint64(1) << chance.integers(0, 64, count, np.uint64)
    return values


def few_values(chance: np.random.Generator, count: int) -> NDArray[np.uint64]:
    return np.array([0, MAX_U64, 5, 0xFFFF << 16], np.uint64)[chance.integers(0, 4, count)]


KINDS = [random, hot, hot_twice, far_apart, clustered, few_values]


@every_engine
@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("sizes", [TINY, WRAPPING], ids=["tiny", "wrapping"])
@settings(max_examples=5, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    kind=st.sampled_from(KINDS),
    portions=st.lists(st.sampled_from([1, 2, 7, 40, 250]), min_size=4, max_size=14),
    expiring=st.sampled_from([0.0, 0.3, 0.8]),
    k=st.integers(0, 3),
    ratio=st.sampled_from([(0, 1), (3, 5)]),
)
def test_an_index_that_grows_splits_sweeps_and_wraps_finds_what_a_plain_search_finds(
    engine: Engine | None,
    layout: Layout,
    sizes: TableSizes,
    seed: int,
    kind: object,
    portions: list[int],
    expiring: float,
    k: int,
    ratio: tuple[int, int],
) -> None:
    assert callable(kind)
    chance = np.random.default_rng(seed)
    values = kind(chance, sum(portions))
    tokens = chance.choice([3, 5, 6, 10, 70_000], len(values)).astype(np.uint32)
    entries = columns_of(values, a_batch=20, tokens=tokens)
    shard = Shard(k=k, layout=layout, engine=engine, ratio=ratio, sizes=sizes)
    begin = end = 0
    for portion in portions:
        shard.store(entries[end : end + portion])
        end += portion
        if chance.random() < expiring:
            up_to = int(chance.integers(begin // 20 - 1, end // 20 + 1))
            assert shard.expire(up_to) == max(0, min(end, (up_to + 1) * 20) - begin)
            begin = max(begin, min(end, (up_to + 1) * 20))
        if chance.random() < 0.3:
            shard.tidy()
        asked, asked_tokens = _asked_for(chance, values[:end])
        hidden = int(chance.integers(-1, end // 20 + 1))
        lower = max(begin, min(end, (hidden + 1) * 20))
        found = shard.earliest_near(Queries(asked, np.zeros(len(asked), np.bool_), asked, asked_tokens), hidden)
        wanted = first_near(values[lower:end], tokens[lower:end], asked, asked_tokens, k, Ratio(*ratio))
        assert found.batches.tolist() == [-1 if index < 0 else (lower + index) // 20 for index in wanted]
        assert found.places.tolist() == [-1 if index < 0 else (lower + index) % 20 for index in wanted]
        first = first_near(values[begin:end], tokens[begin:end], asked, asked_tokens, k, Ratio(*ratio))
        alone = [shard.earliest_slot(int(value), int(count)) for value, count in zip(asked, asked_tokens, strict=True)]
        assert alone == [-1 if index < 0 else sizes.first_slot + begin + index for index in first]
    kept = shard.entries()
    for name in COLUMNS:
        assert kept.column(name).tolist() == entries[begin:end].column(name).tolist()
    while shard.tidy():
        pass


def _asked_for(
    chance: np.random.Generator, values: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """Some that are there, at every distance from 0 to 4, and some that are not."""
    asked = values[chance.integers(0, len(values), 15)].copy()
    for number in range(10):
        for bit in chance.choice(64, number % 5, replace=False).tolist():
            asked[number] ^= np.uint64(1 << bit)
    asked[12:] = random(chance, 3)
    return asked, chance.choice([3, 5, 6, 10, 70_000], 15).astype(np.uint32)


def test_what_slabs_leave_behind_is_used_again_while_entries_come() -> None:
    count = 100_000
    entries = columns_of(random(np.random.default_rng(1), count))
    sizes = TableSizes(least_region=1 << 10, most_region=1 << 14, entries_a_row=100)
    grown, at_once = Shard(sizes=sizes), Shard(sizes=sizes)
    at_once.store(entries)
    for begin in range(0, count, 500):
        grown.store(entries[begin : begin + 500])
    assert grown.nbytes < 1.1 * at_once.nbytes
    while grown.tidy():
        pass
    assert grown.nbytes < 1.1 * at_once.nbytes


def test_a_hot_block_is_split_and_a_look_up_of_it_reads_few_entries() -> None:
    chance = np.random.default_rng(4)
    values = far_apart(chance, 20_000)
    shard = Shard(sizes=TableSizes(split_from=64, entries_a_row=2))
    shard.load(columns_of(values))
    assert shard.splits >= 1
    assert shard.largest_bucket < 1000
    before = shard.candidates
    asked = values[:500]
    found = shard.earliest_near(Queries(asked, np.zeros(500, np.bool_), asked))
    assert found.slots.tolist() == first_near(values, None, asked, None, 3, Ratio(0, 1))
    assert (shard.candidates - before) / 500 < 500


def test_equal_fingerprints_are_found_though_no_split_can_part_them() -> None:
    values = np.full(3000, 0x0123_4567_89AB_CDEF, np.uint64)
    values[::3] = np.arange(1000, dtype=np.uint64) << np.uint64(20)
    shard = Shard(sizes=TINY)
    shard.load(columns_of(values))
    asked = np.array([flipped(0x0123_4567_89AB_CDEF, (1, 30, 60)), 999 << 20], np.uint64)
    found = shard.earliest_near(Queries(asked, np.zeros(2, np.bool_), asked))
    assert found.slots.tolist() == first_near(values, None, asked, None, 3, Ratio(0, 1))


@every_engine
@pytest.mark.parametrize("sizes", [TINY, WRAPPING], ids=["tiny", "wrapping"])
@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    portions=st.lists(st.sampled_from([1, 3, 30, 200]), min_size=3, max_size=10),
    common=st.sampled_from([0.0, 0.5, 0.95]),
    expiring=st.sampled_from([0.0, 0.5]),
)
def test_pages_are_found_by_bands_and_sketches_too(
    engine: Engine | None, sizes: TableSizes, seed: int, portions: list[int], common: float, expiring: float
) -> None:
    chance = np.random.default_rng(seed)
    count = sum(portions)
    entries = _sketched(chance, count, common)
    rule = SketchRule(threshold=90, ratio=(3, 4))
    shard = Shard(engine=engine, ratio=(3, 5), sketch=rule, sizes=sizes)
    begin = end = 0
    for portion in portions:
        shard.store(entries[end : end + portion])
        end += portion
        if chance.random() < expiring:
            up_to = int(chance.integers(-1, end // 20 + 1))
            shard.expire(up_to)
            begin = max(begin, min(end, (up_to + 1) * 20))
        asked = _changed(chance, entries[0:end], 12)
        found = shard.earliest_near(asked)
        wanted, reasons = _by_definition(entries[begin:end], asked, rule)
        assert found.slots.tolist() == [-1 if index < 0 else sizes.first_slot + begin + index for index in wanted]
        assert [found.reason(query) for query in found.hits()] == [reason for reason in reasons if reason]
    kept = shard.entries()
    expected = entries[begin:end]
    assert kept.sketch is not None and expected.sketch is not None
    assert kept.bands is not None and expected.bands is not None
    assert kept.sketch.tolist() == expected.sketch.tolist()
    assert kept.bands.tolist() == expected.bands.tolist()


@every_engine
@pytest.mark.parametrize("sizes", [TINY, WRAPPING], ids=["tiny", "wrapping"])
@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    before=st.sampled_from([0, 0, 90, 400]),
    parts=st.lists(st.sampled_from([0, 1, 30, 200]), min_size=1, max_size=8),
    common=st.sampled_from([0.0, 0.5, 0.95]),
    expired=st.sampled_from([-1, 0, 3]),
    at_once=st.sampled_from([70, 130, 10_000]),
    share=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
)
def test_whatever_is_loaded_in_parts_is_found_however_much_was_expected(
    engine: Engine | None, sizes: TableSizes, seed: int, before: int, parts: list[int], common: float, expired: int,
    at_once: int, share: float,
) -> None:  # fmt: skip
    chance = np.random.default_rng(seed)
    entries = _sketched(chance, before + sum(parts) + 1, common)
    hot_block = chance.random(len(entries)) < common
    entries.fingerprint[hot_block] &= np.uint64(0xFFFF_FFFF_FFFF_0000)
    rule = SketchRule(threshold=90, ratio=(3, 4))
    shard = Shard(engine=engine, ratio=(3, 5), sketch=rule, sizes=sizes)
    shard.store(entries[:before])
    begin = shard.expire(expired)

    ends = np.cumsum([before, *parts, 1]).tolist()
    with pytest.MonkeyPatch.context() as smaller:
        smaller.setattr("worker.index.shard._AT_ONCE", at_once)
        shard.load((entries[low:high] for low, high in pairwise(ends)), int(share * (ends[-1] - before)))

    asked = _changed(chance, entries, 40)
    found = shard.earliest_near(asked)
    wanted, reasons = _by_definition(entries[begin:], asked, rule)
    assert found.slots.tolist() == [-1 if index < 0 else sizes.first_slot + begin + index for index in wanted]
    assert [found.reason(query) for query in found.hits()] == [reason for reason in reasons if reason]
    kept = shard.entries()
    assert list(kept) == list(entries[begin:])


@every_engine
def test_a_part_that_cannot_be_stored_ends_the_loading_and_those_before_it_are_found(engine: Engine | None) -> None:
    values = random(np.random.default_rng(8), 600)
    entries = columns_of(values)
    shard = Shard(engine=engine, sizes=TINY)
    with pytest.raises(ValueError, match="do not ascend"):
        shard.load([entries[:200], entries[200:400], entries[100:200], entries[400:]], 600)
    asked = Queries(values, np.zeros(600, np.bool_), values)
    assert shard.earliest_near(asked).slots.tolist() == [*range(400), *[-1] * 200]
    shard.load([entries[400:]])
    assert shard.earliest_near(asked).slots.tolist() == list(range(600))


def _sketched(chance: np.random.Generator, count: int, common: float) -> Entries:
    """Entries of which a share has the same key in one band and, in its sketch, much in common."""
    bands = chance.integers(0, 2**32, (count, 8), np.uint32)
    sketch = chance.integers(0, 2**64, (count, 4), np.uint64)
    hot = chance.random(count) < common
    bands[hot, 3] = 0xABCD_0001
    sketch[hot, :2] = 0x0123_4567_89AB_CDEF
    alike = chance.random(count) < 0.2
    sketch[alike] = sketch[0] ^ (np.uint64(1) << chance.integers(0, 64, (int(alike.sum()), 4), np.uint64))
    sketch[:, 3] &= np.uint64(2**62 - 1)  # slot 127 says that they have slots
    bands[alike, 5] = bands[0, 5]
    tokens = chance.choice([30, 38, 40, 41, 100], count).astype(np.uint32)
    plain = columns_of(random(chance, count), a_batch=20, tokens=tokens)
    columns = {name: plain.column(name) for name in COLUMNS} | {"bare": chance.random(count) < 0.1}
    return Entries(**columns, urls=plain.urls, bands=bands, sketch=sketch)


def _changed(chance: np.random.Generator, entries: Entries, count: int) -> Queries:
    """Pages like some of the entries: other fingerprints, a band or more in common, sketches at about the limit."""
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


def _by_definition(entries: Entries, asked: Queries, rule: SketchRule) -> tuple[list[int], list[str | None]]:
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
    equal = sum(
        (int(a) >> 2 * slot & 3) == (int(b) >> 2 * slot & 3)
        for a, b in zip(entries.sketch[index], asked.sketch[query], strict=True)
        for slot in range(32)
    )
    distance = (int(entries.fingerprint[index]) ^ int(asked.fingerprint[query])).bit_count()
    close = not entries.bare[index] and not asked.bare[query] and distance <= 3 and Ratio(3, 5).allows(one, other)
    if close and (same_text or equal >= rule.hamming_threshold):
        return "exact-text" if same_text and distance == 0 else "hamming"
    shared = bool((entries.bands[index] == asked.bands[query]).any())
    return "sketch" if shared and equal >= rule.threshold and Ratio(*rule.ratio).allows(one, other) else None


@pytest.mark.parametrize("slots", [89, 90])
@every_engine
def test_one_slot_more_makes_two_sketches_near(engine: Engine | None, slots: int) -> None:
    chance = np.random.default_rng(slots)
    entries = _sketched(chance, 1, 0.0)
    assert entries.bands is not None and entries.sketch is not None
    shard = Shard(engine=engine, sketch=SketchRule())
    plain = Entries(
        **{name: entries.column(name) for name in COLUMNS} | {"bare": np.zeros(1, np.bool_)},
        urls=entries.urls,
        bands=entries.bands,
        sketch=entries.sketch,
    )
    shard.store(plain)
    sketch = entries.sketch.copy()
    for slot in chance.choice(127, 128 - slots, replace=False).tolist():
        sketch[0, slot // 32] ^= np.uint64(3 << 2 * (slot % 32))
    other = ~entries.fingerprint
    asked = Queries(other, np.zeros(1, np.bool_), other, entries.tokens, entries.bands, sketch)
    assert shard.earliest_near(asked).hits() == ([0] if slots == 90 else [])


def test_what_the_rules_need_must_be_given() -> None:
    value = np.zeros(1, np.uint64)
    plain = Queries(value, np.zeros(1, np.bool_), value)
    entries = columns_of(value)
    for shard in (Shard(ratio=(3, 5)), Shard(sketch=SketchRule())):
        shard.store(entries)
        with pytest.raises(ValueError, match="token counts"):
            shard.earliest_near(plain)
    with pytest.raises(ValueError, match="ratio of token counts"):
        Shard(ratio=(5, 3))


def test_shards_of_several_threads_work_side_by_side_and_one_shard_under_a_lock() -> None:
    chance = np.random.default_rng(8)
    values = [random(chance, 6000) for _ in range(3)]
    shared, lock = Shard(sizes=TINY), threading.Lock()
    wrong: list[str] = []
    stored = 0

    def write(own: int) -> None:
        nonlocal stored
        shard = Shard(sizes=TINY)
        for begin in range(0, 6000, 100):
            shard.store(columns_of(values[own])[begin : begin + 100])
            if own == 0:
                with lock:
                    shared.store(columns_of(values[0])[begin : begin + 100])
                    stored = begin + 100
        _check(shard, values[own], 6000, wrong)

    def read() -> None:
        while stored < 6000 and not wrong:
            with lock:
                _check(shared, values[0], stored, wrong)

    threads = [threading.Thread(target=write, args=(own,)) for own in range(3)] + [threading.Thread(target=read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def _check(shard: Shard, values: NDArray[np.uint64], stored: int, wrong: list[str]) -> None:
    asked = values[::30]
    found = shard.earliest_near(Queries(asked, np.zeros(len(asked), np.bool_), asked)).slots.tolist()
    wanted: Sequence[int] = [index if index < stored else -1 for index in range(0, len(values), 30)]
    if found != wanted:
        wrong.append(f"of {stored} entries {found} were found")


def test_after_a_fork_each_process_has_a_shard_of_its_own() -> None:
    shard = Shard(sizes=TINY)
    values = random(np.random.default_rng(6), 900)
    entries = columns_of(values)
    shard.store(entries[:500])
    child = os.fork()
    if child == 0:
        shard.store(entries[500:])
        found = shard.earliest_slot(int(values[899]))
        os._exit(0 if (found, len(shard)) == (899, 900) else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert len(shard) == 500
    assert shard.earliest_slot(int(values[899])) == -1
    assert shard.earliest_slot(int(values[499])) == 499
