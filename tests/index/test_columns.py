"""Columns of entries, compared with lists of entries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.index.worlds import columns_of, random
from worker.index.columns import LEFT_OUT, PLACES, Columns
from worker.index.entries import COLUMNS, OPTIONAL, Entries
from worker.index.kernels.plan import COLUMN_ADDRESS, COLUMN_STEP, SKETCH


def filled(chance: np.random.Generator, count: int, *, scoped: bool) -> Entries:
    plain = columns_of(random(chance, count), a_batch=5, tokens=chance.choice([3, 70_000], count).astype(np.uint32))
    columns = {name: plain.column(name) for name in COLUMNS}
    columns["bare"] = chance.random(count) < 0.5
    columns["fetched"] = chance.integers(-(2**62), 2**62, count)
    return Entries(
        **columns,
        urls=plain.urls,
        scope=random(chance, count) if scoped else None,
        site=chance.integers(0, 2**32, count, np.uint32) if scoped else None,
        title=chance.choice([2**32 - 1, 2**32 - 3], count).astype(np.uint32) if scoped else None,
        title_words=random(chance, count) if scoped else None,
        doubt=chance.integers(0, 3, count, np.uint8) if scoped else None,
        sketch=chance.integers(0, 2**64, (count, 4), np.uint64),
    )


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32),
    first=st.sampled_from([0, 3, 2**31 - 40]),
    portions=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    dropped=st.floats(0, 1),
    scoped=st.booleans(),
)
def test_columns_give_back_what_they_took_whether_sealed_or_not(
    seed: int, first: int, portions: list[int], dropped: float, scoped: bool
) -> None:
    chance = np.random.default_rng(seed)
    entries = filled(chance, sum(portions), scoped=scoped)
    columns = Columns(4, first, sketched=True)
    done = 0
    for portion in portions:
        columns.append(entries[done : done + portion])
        done += portion
    begin = int(dropped * done)
    columns.drop(first + begin)
    assert (columns.first, columns.end, len(columns)) == (first + begin, first + done, done - begin)
    for name in COLUMNS:
        kept = entries.column(name)[begin:]
        assert columns.between(name, first + begin, first + done).tolist() == kept.tolist()
        assert columns.between(name, first + begin, first + done).dtype == COLUMNS[name]
    for name in LEFT_OUT:
        kept = columns.between(name, first + begin, first + done)
        assert (kept.tolist(), kept.dtype) == (entries.filled(name)[begin:].tolist(), OPTIONAL[name])
        assert (name in columns.present) is scoped
    assert entries.sketch is not None
    assert columns.sketches_between(first + begin, first + done).tolist() == entries.sketch[begin:].tolist()


@pytest.mark.parametrize("sketched", [False, True])
@pytest.mark.parametrize("named", [("site",), ("title", "title_words"), ("scope", "doubt"), ("site", "doubt")])
def test_what_only_later_entries_have_is_zero_of_earlier_ones(sketched: bool, named: tuple[str, ...]) -> None:
    entries = filled(np.random.default_rng(4), 40, scoped=True)
    absent: dict[str, Any] = dict.fromkeys(LEFT_OUT)
    none, some = replace(entries, **absent), {name: entries.optional(name) for name in named}
    columns = Columns(4, 0, sketched=sketched)
    columns.append(none[:5])
    before = columns.between("fingerprint", 0, 5)
    columns.append(replace(entries, **absent | some)[5:9])
    columns.append(none[9:40])
    assert before.tolist() == entries.fingerprint[:5].tolist()
    for name in COLUMNS:
        assert columns.between(name, 0, 40).tolist() == entries.column(name).tolist()
    for name in LEFT_OUT:
        kept = entries.filled(name).tolist() if name in named else [0] * 40
        assert columns.between(name, 0, 40).tolist() == [0] * 5 + kept[5:9] + [0] * 31
    if sketched:
        assert columns.sketches_between(0, 40).tolist() == entries.filled("sketch").tolist()


def test_what_a_look_up_reads_of_a_page_with_title_and_sketch_is_one_cache_line() -> None:
    columns = Columns(4, 0, sketched=True)
    columns.append(filled(np.random.default_rng(4), 20, scoped=True))
    places = [PLACES[name] for name in ("fingerprint", "text_hash", "site", "title", "title_words")]
    for chunk in range(2):
        lines = {int(columns.words[chunk, place, COLUMN_ADDRESS]) // 64 for place in (*places, SKETCH)}
        steps = {int(columns.words[chunk, place, COLUMN_STEP]) for place in (*places, SKETCH)}
        assert (len(lines), steps) == (1, {64})


@pytest.mark.parametrize("batch", range(-1, 9))
def test_the_first_slot_after_a_batch_is_found_across_chunks(batch: int) -> None:
    columns = Columns(3, 10, sketched=False)
    columns.append(columns_of(np.arange(40, dtype=np.uint64), a_batch=5))
    assert columns.first_after(batch) == 10 + min(40, 5 * (batch + 1))
    columns.drop(23)
    assert columns.first_after(batch) == max(23, 10 + min(40, 5 * (batch + 1)))


def test_a_full_chunk_takes_no_more_bytes_than_its_values_need() -> None:
    columns = Columns(10, 0, sketched=False)
    columns.append(columns_of(np.arange(1024, dtype=np.uint64), a_batch=1024))
    # Fingerprint, hashes of text and URL: 8 bytes each; place and time of fetching 2 each; the others are all alike.
    assert columns.nbytes == 1024 * (3 * 8 + 2 * 2)


@pytest.mark.parametrize(("doubted", "more"), [(False, 16), (True, 17)])
def test_site_title_and_its_words_take_sixteen_bytes_and_the_doubt_one_where_there_is_any(
    doubted: bool, more: int
) -> None:
    chance = np.random.default_rng(1)
    plain = columns_of(np.arange(1024, dtype=np.uint64), a_batch=1024)
    entries = replace(
        plain,
        site=chance.integers(0, 2**32, 1024, np.uint32),
        title=chance.integers(0, 2**32, 1024, np.uint32),
        title_words=random(chance, 1024),
        doubt=chance.integers(0, 2 if doubted else 1, 1024, np.uint8),
    )
    one, other = Columns(10, 0, sketched=False), Columns(10, 0, sketched=False)
    one.append(plain)
    other.append(entries)
    assert other.nbytes - one.nbytes == 1024 * more


def test_memory_goes_back_by_whole_chunks() -> None:
    columns = Columns(4, 0, sketched=False)
    columns.append(columns_of(np.arange(64, dtype=np.uint64)))
    whole = columns.nbytes
    columns.drop(15)
    assert columns.nbytes == whole
    columns.drop(16)
    assert columns.nbytes < whole
    for _ in columns.dismantle():
        pass
    assert columns.nbytes == 0
