"""The table of ``worker.verdict.titles_of_texts``, compiled.

A generation of it is ``heads``, a power of two of them, ``later`` and ``entries``: one entry for each key, in the order
in which they came, and the number of the one before it in its chain, which begins in ``heads``; numbers count from 1,
0 is for none. Which chain a key belongs to depends on the table's ``secret``; nothing else does. Texts come as rows, in
the words of ``EVIDENCE_BYTES``.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from worker.fingerprint.scoped import ANNOUNCED, TEMPLATE
from worker.fingerprint.sketch import BANDS
from worker.index.kernels.native import popcount
from worker.verdict.kernels.native import compiled

SEVERAL = 2
"""Titles other than its own from which on a text is a template's. One page may have two: for people and for print. With
three, one shop of a network in three loses a page more, and no labelled copy is found besides."""
KEPT = SEVERAL + 1
"""Titles that are remembered of a key, and as many that are not alike: whichever of them is a page's own, there are
several others."""
MOST_TITLES = 2 * KEPT - 1
"""That a key has: the first few may all be alike, and each later one is alike to none before it."""

SCOPE, SITE_TITLE, WORDS, KEYS = range(4)
"""Places in a row: its site has the lower half of a word, as has each key with an even number."""
ROW_WORDS = KEYS + BANDS // 2
SITE_KEY, NUMBER, HELD, TITLES = range(1, 5)
"""Places in an entry, behind its scope: its key, in the lower half, and its site; the number of the key; how many
titles it has; then each of these and its words."""
ENTRY_WORDS = TITLES + 2 * MOST_TITLES
SECRET_WORDS = 7

COUNT, LENGTHENED = range(2)
"""Places in the state of a generation: how many entries it has; how many of them ``lengthened`` names."""
STATE_WORDS = 2
SEEN, TURNED = 1, 2
"""What is said of a claim, as bits: the young generation did not know it; before, that one had become the old one."""

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
U8 = NDArray[np.uint8]
U64 = NDArray[np.uint64]
Generation: TypeAlias = tuple[I32, I32, U64]
"""Heads, later, entries."""

_GENERATION = "Tuple((int32[::1], int32[::1], uint64[:, ::1]))"
_LOW = np.uint64(0xFFFF_FFFF)
_HALF = np.uint64(32)


@compiled("uint64(uint64[::1], uint64, uint64, uint64)", inline=True)
def _hashed(secret: U64, one: Any, other: Any, third: Any) -> Any:
    """32 bits. Nobody who does not know the secret can choose words that meet more often than any do: multiply-shift
    (Thorup: High Speed Hashing for Integers and Strings, 2015, section 3.3)."""
    mixed = secret[0] + secret[1] * (one & _LOW) + secret[2] * (one >> _HALF)
    mixed += secret[3] * (other & _LOW) + secret[4] * (other >> _HALF)
    return (mixed + secret[5] * (third & _LOW) + secret[6] * (third >> _HALF)) >> _HALF


@compiled(f"int64(uint64[::1], {_GENERATION}, uint64, uint64, uint64)", inline=True)
def _chain_of(secret: U64, generation: Generation, scope: Any, site_key: Any, number: Any) -> int:
    hashed = _hashed(secret, scope, site_key, number)
    return np.int64(hashed & np.uint64(generation[0].size - 1))  # type: ignore[return-value]


@compiled(f"int64({_GENERATION}, int64, uint64, uint64, uint64)", inline=True)
def _find(generation: Generation, chain: int, scope: Any, site_key: Any, number: Any) -> int:
    """The number of a key's entry, 0 for none."""
    heads, later, entries = generation
    at = np.int64(heads[chain])
    while at > 0:
        entry = entries[at - 1]
        if entry[SITE_KEY] == site_key and entry[SCOPE] == scope and entry[NUMBER] == number:
            break
        at = np.int64(later[at - 1])
    return at  # type: ignore[return-value]


@compiled("uint64(uint64[::1], int64)", inline=True)
def _key_of(row: U64, number: int) -> Any:
    return row[KEYS + number // 2] >> np.uint64(32 * (number & 1)) & _LOW


@compiled("boolean(uint64, uint64)", inline=True)
def _alike(a: Any, b: Any) -> bool:
    """``worker.fingerprint.scoped.alike``."""
    if a == np.uint64(0) or b == np.uint64(0):
        return True
    return bool(np.uint64(2) * popcount(a & b) > min(popcount(a), popcount(b)))


@compiled("boolean(uint64[::1], uint64, uint64)", inner=True)
def _is_wanted(entry: U64, title: Any, words: Any) -> bool:
    """Whether a title is remembered beside those that an entry has. The first few are; later ones if they are alike to
    none."""
    held = np.int64(entry[HELD])
    for one in range(held):
        if entry[TITLES + 2 * one] == title:
            return False
    if held < KEPT:
        return True
    apart, count = 0, 0
    for one in range(held):
        if _alike(entry[TITLES + 2 * one + 1], words):
            return False
        is_apart = True
        for other in range(one):
            if apart >> other & 1 and _alike(entry[TITLES + 2 * one + 1], entry[TITLES + 2 * other + 1]):
                is_apart = False
        if is_apart:
            apart |= 1 << one
            count += 1
    return count < KEPT


@compiled("void(uint64[::1], uint64, uint64)", inline=True)
def _append(entry: U64, title: Any, words: Any) -> None:
    held = np.int64(entry[HELD])
    entry[TITLES + 2 * held] = title
    entry[TITLES + 2 * held + 1] = words
    entry[HELD] = np.uint64(held + 1)


@compiled(f"boolean(uint64[::1], {_GENERATION}, {_GENERATION}, uint64[::1], boolean)", inner=True)
def _is_template(secret: U64, young: Generation, old: Generation, row: U64, announced: bool) -> bool:
    """Whether a text stands under several other titles."""
    own, words = row[SITE_TITLE] >> _HALF, row[WORDS]
    if announced and words == np.uint64(0):
        return False
    another, its_words, others = own, words, 0
    for number in range(BANDS):
        key = _key_of(row, number)
        if key == np.uint64(0):
            continue
        scope, site_key, third = row[SCOPE], (row[SITE_TITLE] & _LOW) << _HALF | key, np.uint64(number)
        entries = young[2]
        at = _find(young, _chain_of(secret, young, scope, site_key, third), scope, site_key, third)
        if at == 0:
            entries = old[2]
            at = _find(old, _chain_of(secret, old, scope, site_key, third), scope, site_key, third)
        for one in range(np.int64(entries[at - 1, HELD]) if at > 0 else 0):
            title, of_title = entries[at - 1, TITLES + 2 * one], entries[at - 1, TITLES + 2 * one + 1]
            if announced:
                is_another = not _alike(of_title, words) and not (others > 0 and _alike(of_title, its_words))
            else:
                is_another = title != own and not (others > 0 and title == another)
            if is_another:
                another, its_words, others = title, of_title, others + 1
                if others == SEVERAL:
                    return True
    return False


@compiled(f"boolean(uint64[::1], {_GENERATION}, {_GENERATION}, int64[::1], int32[::1], int64, uint64[::1])", inner=True)
def _see(secret: U64, young: Generation, old: Generation, state: I64, lengthened: I32, before: int, row: U64) -> bool:
    """Count a text; whether the young generation did not know it under its title yet. It must have room for all keys.

    ``lengthened`` takes the numbers of those of the first ``before`` entries that have a title more.
    """
    heads, later, entries = young
    title, words, changed = row[SITE_TITLE] >> _HALF, row[WORDS], False
    for number in range(BANDS):
        key = _key_of(row, number)
        if key == np.uint64(0):
            continue
        scope, site_key, third = row[SCOPE], (row[SITE_TITLE] & _LOW) << _HALF | key, np.uint64(number)
        chain = _chain_of(secret, young, scope, site_key, third)
        at = _find(young, chain, scope, site_key, third)
        if at > 0:
            if _is_wanted(entries[at - 1], title, words):
                _append(entries[at - 1], title, words)
                changed = True
                if at <= before:
                    lengthened[state[LENGTHENED]] = at
                    state[LENGTHENED] += 1
            continue
        changed = True
        entry = entries[state[COUNT]]
        at = _find(old, _chain_of(secret, old, scope, site_key, third), scope, site_key, third)
        if at > 0:
            entry[:] = old[2][at - 1]
        else:
            entry[SCOPE], entry[SITE_KEY], entry[NUMBER], entry[HELD] = scope, site_key, third, np.uint64(0)
        if _is_wanted(entry, title, words):
            _append(entry, title, words)
        later[state[COUNT]] = heads[chain]
        state[COUNT] += 1
        heads[chain] = state[COUNT]
    return changed


@compiled(
    f"int64(uint64[::1], {_GENERATION}, {_GENERATION}, int64[::1], int32[::1], int64, int64, uint64[:, ::1], "
    "uint8[::1], int64, int64, uint8[::1])"
)
def mark(
    secret: U64,
    young: Generation,
    old: Generation,
    state: I64,
    lengthened: I32,
    before: int,
    most: int,
    rows: U64,
    doubts: U8,
    begin: int,
    marked: int,
    said: U8,
) -> int:
    """Mark claims from ``begin`` on, but for those before ``marked``, and count them, up to one that finds the young
    generation full: its place is returned, else the number of rows."""
    for place in range(begin, rows.shape[0]):
        row = rows[place]
        if place >= marked:
            if row[SITE_TITLE] & _LOW == np.uint64(0) or doubts[place] == TEMPLATE:
                continue
            if _is_template(secret, young, old, row, doubts[place] == ANNOUNCED):
                doubts[place] = TEMPLATE
        any_key = row[KEYS] | row[KEYS + 1] | row[KEYS + 2] | row[KEYS + 3]
        if row[SITE_TITLE] >> _HALF == np.uint64(0) or any_key == np.uint64(0):
            continue
        if state[COUNT] >= most:
            return int(place)
        if _see(secret, young, old, state, lengthened, before, row):
            said[place] |= np.uint8(SEEN)
    return int(rows.shape[0])


@compiled(f"int64(uint64[::1], {_GENERATION}, {_GENERATION}, int64[::1], int32[::1], uint64[:, ::1], int64)")
def learn(secret: U64, young: Generation, old: Generation, state: I64, lengthened: I32, rows: U64, begin: int) -> int:
    """Count texts from ``begin`` on, up to a row without title, or one that the young generation has no room for: its
    place is returned, else the number of rows."""
    for place in range(begin, rows.shape[0]):
        if rows[place, SITE_TITLE] >> _HALF == np.uint64(0) or state[COUNT] + BANDS > young[1].size:
            return int(place)
        _see(secret, young, old, state, lengthened, 0, rows[place])
    return int(rows.shape[0])


@compiled(f"void(uint64[::1], {_GENERATION}, int64)")
def link(secret: U64, generation: Generation, count: int) -> None:
    """Put the first ``count`` entries into their chains, which are empty."""
    heads, later, entries = generation
    for at in range(count):
        entry = entries[at]
        chain = _chain_of(secret, generation, entry[SCOPE], entry[SITE_KEY], entry[NUMBER])
        later[at] = heads[chain]
        heads[chain] = at + 1


@compiled(f"void(uint64[::1], {_GENERATION}, int64[::1], int32[::1], int64)")
def take_back(secret: U64, generation: Generation, state: I64, lengthened: I32, before: int) -> None:
    """Take out all but the first ``before`` entries, and of these the titles that came since."""
    heads, later, entries = generation
    for number in range(state[LENGTHENED]):
        entries[lengthened[number] - 1, HELD] -= np.uint64(1)
    for at in range(state[COUNT] - 1, before - 1, -1):
        entry = entries[at]
        heads[_chain_of(secret, generation, entry[SCOPE], entry[SITE_KEY], entry[NUMBER])] = later[at]
    state[COUNT], state[LENGTHENED] = before, 0


@compiled("int64(uint64[::1], uint64[:, ::1], uint64[:, ::1])")
def tell(secret: U64, entries: U64, rows: U64) -> int:
    """Write rows by which a generation comes to these entries; returns how many. ``rows`` are zeros, as many as the
    entries have titles.

    Titles that a key had first come first. Of the keys of one title a row takes the first of each number that is left.
    """
    count, written = entries.shape[0], 0
    heads = np.empty(1 << 16, np.int32)
    later, first = np.empty(rows.shape[0], np.int32), np.empty(rows.shape[0], np.int32)
    last, next_row = np.empty((rows.shape[0], BANDS), np.int32), np.empty(rows.shape[0], np.int32)
    groups = 0
    for rank in range(MOST_TITLES):
        heads[:] = 0
        for at in range(count):
            entry = entries[at]
            if np.int64(entry[HELD]) <= rank:
                continue
            title, words = entry[TITLES + 2 * rank], entry[TITLES + 2 * rank + 1]
            site_title, number = entry[SITE_KEY] >> _HALF | title << _HALF, np.int64(entry[NUMBER])
            chain = np.int64(_hashed(secret, entry[SCOPE], site_title, words) & np.uint64(heads.size - 1))
            group: Any = np.int64(heads[chain])
            while group > 0:
                row = rows[first[group - 1]]
                if row[SITE_TITLE] == site_title and row[SCOPE] == entry[SCOPE] and row[WORDS] == words:
                    break
                group = np.int64(later[group - 1])
            if group == 0:
                later[groups], first[groups] = heads[chain], written
                last[groups, :] = -1
                groups += 1
                heads[chain] = group = groups
                here: Any = written
            else:
                before = np.int64(last[group - 1, number])
                here = np.int64(first[group - 1] if before < 0 else next_row[before])
                if here < 0:
                    next_row[before] = here = written
            last[group - 1, number] = here
            if here == written:
                next_row[here] = -1
                rows[here, SCOPE], rows[here, SITE_TITLE], rows[here, WORDS] = entry[SCOPE], site_title, words
                written += 1
            rows[here, KEYS + number // 2] |= (entry[SITE_KEY] & _LOW) << np.uint64(32 * (number & 1))
    return written
