"""The table of ``worker.verdict.titles_of_texts``, compiled.

A generation of the table has *entries*, one for each key in order of arrival, and *slots*. Their number is a power of
two and at least twice the number of entries. A slot holds an entry's number, from 1 on, below the hash of its key; an
entry goes into the first slot from its hash on that was empty; 0 means none. Hashes depend on the table's ``secret``;
nothing else does. Texts come as rows, in the words of ``EVIDENCE_BYTES``.

Kernels reach all this by address: with arrays they would spend most of their time on counting references.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from worker.compiling import Function, compiler_of
from worker.fingerprint.scoped import ANNOUNCED, TEMPLATE
from worker.fingerprint.sketch import BANDS
from worker.index.kernels.native import fetch, popcount, u64_at

_compile = compiler_of("worker", ("verdict/kernels/titles", "index/kernels/native"))


def compiled(signature: str, *, inner: bool = False, inline: bool = False) -> Callable[[Function], Function]:
    """A kernel of these types. Python calls it unless it is ``inner`` or ``inline``; these are for other kernels."""
    return _compile(signature, entry=not (inner or inline), inline=inline)


SEVERAL = 2
"""Titles other than its own from which on a text is a template's. One page may have two titles: for people and for
print. With three, one shop of a network in three loses a page more, and no further labelled copy is found."""
KEPT = SEVERAL + 1
"""Titles that are remembered of a key, and as many that are not alike: whichever of them is a page's own, several
others remain."""
MOST_TITLES = 2 * KEPT - 1
"""Titles of a key: the first few may all be alike, and each later one is alike to none before it."""

SCOPE, SITE_TITLE, WORDS, KEYS = range(4)
"""Places in a row: the lower half of a word holds the row's site, or a key with an even number."""
ROW_WORDS = KEYS + BANDS // 2
SITE_KEY, NUMBER, HELD, TITLES = range(1, 5)
"""Places in an entry, after its scope: its key, in the lower half, and its site; the number of the key; the number of
its titles; then each title and its words."""
ENTRY_WORDS = TITLES + 2 * MOST_TITLES
SECRET_WORDS = 7

SLOTS, MASK, ENTRIES, ROOM, COUNT, LENGTHENED = range(6)
"""Places in the description of a generation: the address of its slots, and their number less one; the address of its
entries, how many there is room for and how many there are; and how many entry numbers were noted because the entry got
a title."""
GENERATION_WORDS = 6
HASH, IN_YOUNG, IN_OLD = range(3)
"""For each key of a text: its hash, and the numbers of its entries, 0 for none."""
KEY_WORDS = 3
AHEAD = 4
"""Claims between fetching the memory that a claim needs, and using it."""
SEEN, TURNED = 1, 2
"""Marks of a claim, as bits: the young generation did not know it; before, that one had become the old one."""

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
U8 = NDArray[np.uint8]
U64 = NDArray[np.uint64]
Generation: TypeAlias = NDArray[np.int64]

_LOW = np.uint64(0xFFFF_FFFF)
_HALF = np.uint64(32)


@compiled("uint64(uint64[::1], uint64, uint64)", inline=True)
def _begun(secret: U64, scope: Any, site: Any) -> Any:
    """A hash, to be ended by ``_ended``. Without the secret no one can choose words that collide more often than
    others: multiply-shift (Thorup: High Speed Hashing for Integers and Strings, 2015, section 3.3)."""
    return secret[0] + secret[1] * (scope & _LOW) + secret[2] * (scope >> _HALF) + secret[3] * (site & _LOW)


@compiled("uint64(uint64[::1], uint64, uint64, uint64)", inline=True)
def _ended(secret: U64, begun: Any, one: Any, other: Any) -> Any:
    """32 bits."""
    return (begun + secret[4] * one + secret[5] * (other & _LOW) + secret[6] * (other >> _HALF)) >> _HALF


@compiled("uint64(uint64[::1], uint64[::1])", inline=True)
def _hash_of(secret: U64, entry: U64) -> Any:
    """The hash of an entry's key."""
    begun = _begun(secret, entry[SCOPE], entry[SITE_KEY] >> _HALF)
    return _ended(secret, begun, entry[SITE_KEY] & _LOW, entry[NUMBER])


@compiled("uint64[::1](int64[::1], int64)", inline=True)
def _entry_of(generation: Generation, number: Any) -> Any:
    return u64_at(generation[ENTRIES] + 8 * ENTRY_WORDS * (number - 1), ENTRY_WORDS)


@compiled("uint64[::1](int64, int64, int64)", inline=True)
def _row_of(rows: int, words: int, place: int) -> Any:
    return u64_at(rows + 8 * words * place, words)


@compiled("int64(int64[::1], uint64, uint64, uint64, uint64)", inline=True)
def _find(generation: Generation, hashed: Any, scope: Any, site_key: Any, number: Any) -> int:
    """The number of a key's entry, 0 for none."""
    slots, at = u64_at(generation[SLOTS], generation[MASK] + 1), np.int64(hashed) & generation[MASK]
    while slots[at] != np.uint64(0):
        if slots[at] >> _HALF == hashed:
            entry = _entry_of(generation, np.int64(slots[at] & _LOW))
            if entry[SITE_KEY] == site_key and entry[SCOPE] == scope and entry[NUMBER] == number:
                break
        at = (at + 1) & generation[MASK]
    return np.int64(slots[at] & _LOW)  # type: ignore[return-value]


@compiled("void(int64[::1], uint64, int64)", inline=True)
def _link(generation: Generation, hashed: Any, number: Any) -> None:
    """Put an entry into its slot."""
    slots, at = u64_at(generation[SLOTS], generation[MASK] + 1), np.int64(hashed) & generation[MASK]
    while slots[at] != np.uint64(0):
        at = (at + 1) & generation[MASK]
    slots[at] = hashed << _HALF | np.uint64(number)


@compiled("uint64(uint64[::1], int64)", inline=True)
def _key_of(row: U64, number: int) -> Any:
    return row[KEYS + number // 2] >> np.uint64(32 * (number & 1)) & _LOW


@compiled("boolean(uint64, uint64)", inline=True)
def _alike(a: Any, b: Any) -> bool:
    """``worker.fingerprint.scoped.alike``."""
    if a == np.uint64(0) or b == np.uint64(0):
        return True
    return bool(np.uint64(2) * popcount(a & b) > min(popcount(a), popcount(b)))


@compiled("boolean(uint64[::1], uint64, uint64)", inline=True)
def _is_wanted(entry: U64, title: Any, words: Any) -> bool:
    """Whether a title is remembered in addition to those that an entry has. The first few are; later ones if they are
    alike to none."""
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


@compiled("void(uint64[::1], int64[::1], int64[::1], uint64[::1])", inline=True)
def _fetch_for(secret: U64, young: Generation, old: Generation, row: U64) -> None:
    """Have the processor fetch the slots that ``_look_up`` will read."""
    begun = _begun(secret, row[SCOPE], row[SITE_TITLE])
    for number in range(BANDS):
        hashed = np.int64(_ended(secret, begun, _key_of(row, number), np.uint64(number)))
        fetch(young[SLOTS] + 8 * (hashed & young[MASK]))
        fetch(old[SLOTS] + 8 * (hashed & old[MASK]))


@compiled("void(uint64[::1], int64[::1], int64[::1], uint64[::1], int64)", inline=True)
def _look_up(secret: U64, young: Generation, old: Generation, row: U64, found: int) -> None:
    site = row[SITE_TITLE] & _LOW
    begun = _begun(secret, row[SCOPE], site)
    for number in range(BANDS):
        key, third, of_key = _key_of(row, number), np.uint64(number), _row_of(found, KEY_WORDS, number)
        hashed = _ended(secret, begun, key, third)
        at, before = 0, 0
        if key != np.uint64(0):
            at = _find(young, hashed, row[SCOPE], site << _HALF | key, third)
            if at == 0:
                before = _find(old, hashed, row[SCOPE], site << _HALF | key, third)
        of_key[HASH], of_key[IN_YOUNG], of_key[IN_OLD] = hashed, np.uint64(at), np.uint64(before)


@compiled("boolean(int64[::1], int64[::1], uint64[::1], int64, boolean)", inline=True)
def _is_template(young: Generation, old: Generation, row: U64, found: int, announced: bool) -> bool:
    """Whether a text stands under several other titles."""
    own, words = row[SITE_TITLE] >> _HALF, row[WORDS]
    another, its_words, others = own, words, 0
    for number in range(0 if announced and words == np.uint64(0) else BANDS):
        of_key = _row_of(found, KEY_WORDS, number)
        if of_key[IN_YOUNG] | of_key[IN_OLD] == np.uint64(0):
            continue
        generation, at = (young, of_key[IN_YOUNG]) if of_key[IN_YOUNG] != np.uint64(0) else (old, of_key[IN_OLD])
        entry = _entry_of(generation, np.int64(at))
        for one in range(np.int64(entry[HELD])):
            title, of_title = entry[TITLES + 2 * one], entry[TITLES + 2 * one + 1]
            if announced:
                is_another = not _alike(of_title, words) and not (others > 0 and _alike(of_title, its_words))
            else:
                is_another = title != own and not (others > 0 and title == another)
            if is_another:
                another, its_words, others = title, of_title, others + 1
                if others == SEVERAL:
                    return True
    return False


@compiled("boolean(int64[::1], int64[::1], int32[::1], int64, uint64[::1], int64)", inline=True)
def _see(young: Generation, old: Generation, lengthened: I32, before: int, row: U64, found: int) -> bool:
    """Count a text; returns whether the young generation did not know it under its title yet. That generation must have
    room for all keys.

    ``lengthened`` takes the numbers of those of the first ``before`` entries that got a title.
    """
    title, words, changed = row[SITE_TITLE] >> _HALF, row[WORDS], False
    for number in range(BANDS):
        key, of_key = _key_of(row, number), _row_of(found, KEY_WORDS, number)
        if key == np.uint64(0):
            continue
        at = np.int64(of_key[IN_YOUNG])
        is_new = at == 0
        if is_new:
            young[COUNT] += 1
            at = young[COUNT]
        entry = _entry_of(young, at)
        if is_new and of_key[IN_OLD] != np.uint64(0):
            before_it = _entry_of(old, np.int64(of_key[IN_OLD]))
            for word in range(ENTRY_WORDS):
                entry[word] = before_it[word]
        elif is_new:
            entry[SCOPE], entry[SITE_KEY] = row[SCOPE], (row[SITE_TITLE] & _LOW) << _HALF | key
            entry[NUMBER], entry[HELD] = np.uint64(number), np.uint64(0)
        if is_new:
            _link(young, of_key[HASH], at)
        is_wanted = _is_wanted(entry, title, words)
        if is_wanted:
            _append(entry, title, words)
            if at <= before:
                lengthened[young[LENGTHENED]] = at
                young[LENGTHENED] += 1
        changed = changed or is_new or is_wanted
    return changed


@compiled(
    "int64(uint64[::1], int64[::1], int64[::1], int32[::1], int64, int64, uint64[:, ::1], uint8[::1], int64, int64, "
    "uint8[::1], uint64[:, ::1])"
)
def mark(
    secret: U64,
    young: Generation,
    old: Generation,
    lengthened: I32,
    before: int,
    most: int,
    rows: U64,
    doubts: U8,
    begin: int,
    marked: int,
    said: U8,
    found: U64,
) -> int:
    """Mark and count the claims from ``begin`` on, without those before ``marked``, up to the first that finds the
    young generation full: returns its place, otherwise the number of rows. ``found`` is room for ``KEY_WORDS`` of each
    key."""
    for place in range(begin, rows.shape[0]):
        row = _row_of(rows.ctypes.data, ROW_WORDS, place)
        if place + AHEAD < rows.shape[0]:
            _fetch_for(secret, young, old, _row_of(rows.ctypes.data, ROW_WORDS, place + AHEAD))
        if place >= marked and (row[SITE_TITLE] & _LOW == np.uint64(0) or doubts[place] == TEMPLATE):
            continue
        _look_up(secret, young, old, row, found.ctypes.data)
        if place >= marked and _is_template(young, old, row, found.ctypes.data, doubts[place] == ANNOUNCED):
            doubts[place] = TEMPLATE
        any_key = row[KEYS] | row[KEYS + 1] | row[KEYS + 2] | row[KEYS + 3]
        if row[SITE_TITLE] >> _HALF == np.uint64(0) or any_key == np.uint64(0):
            continue
        if young[COUNT] >= most:
            return int(place)
        if _see(young, old, lengthened, before, row, found.ctypes.data):
            said[place] |= np.uint8(SEEN)
    return int(rows.shape[0])


@compiled("int64(uint64[::1], int64[::1], int64[::1], int32[::1], uint64[:, ::1], int64, uint64[:, ::1])")
def learn(secret: U64, young: Generation, old: Generation, lengthened: I32, rows: U64, begin: int, found: U64) -> int:
    """Count texts from ``begin`` on, up to the first row that has no title, or that the young generation has no room
    for: returns its place, otherwise the number of rows."""
    for place in range(begin, rows.shape[0]):
        row = _row_of(rows.ctypes.data, ROW_WORDS, place)
        if row[SITE_TITLE] >> _HALF == np.uint64(0) or young[COUNT] + BANDS > young[ROOM]:
            return int(place)
        _look_up(secret, young, old, row, found.ctypes.data)
        _see(young, old, lengthened, 0, row, found.ctypes.data)
    return int(rows.shape[0])


@compiled("void(uint64[::1], int64[::1])")
def link(secret: U64, generation: Generation) -> None:
    """Put all entries into their slots, which must be empty."""
    for number in range(1, generation[COUNT] + 1):
        _link(generation, _hash_of(secret, _entry_of(generation, number)), number)


@compiled("void(uint64[::1], int64[::1], int32[::1], int64)")
def take_back(secret: U64, generation: Generation, lengthened: I32, before: int) -> None:
    """Remove all but the first ``before`` entries, and of these entries the titles that came since."""
    for place in range(generation[LENGTHENED]):
        _entry_of(generation, np.int64(lengthened[place]))[HELD] -= np.uint64(1)
    slots = u64_at(generation[SLOTS], generation[MASK] + 1)
    for number in range(generation[COUNT], before, -1):  # the last one first: no other was put behind its slot
        at = np.int64(_hash_of(secret, _entry_of(generation, number))) & generation[MASK]
        while np.int64(slots[at] & _LOW) != number:
            at = (at + 1) & generation[MASK]
        slots[at] = np.uint64(0)
    generation[COUNT], generation[LENGTHENED] = before, 0


@compiled("int64(uint64[::1], uint64[:, ::1], uint64[:, ::1])")
def tell(secret: U64, entries: U64, rows: U64) -> int:
    """Write rows from which a generation gets these entries; returns how many. ``rows`` are zeros, as many as the
    entries have titles.

    The titles that a key had first come first. Of the keys with the same title a row takes the first that is left of
    each number.
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
            hashed = _ended(secret, _begun(secret, entry[SCOPE], site_title), title, words)
            chain = np.int64(hashed & np.uint64(heads.size - 1))
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
