"""How the claims of one batch relate to each other and to those before them, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worker.fingerprint.scoped import ANNOUNCED, TEMPLATE
from worker.index.kernels import plan
from worker.index.kernels.native import compiled, popcount
from worker.index.kernels.nearness import agreement_of, in_ratio, is_alone, title_mask, titles_alike, words_of

K, RATIO_LEAST, RATIO_MOST, SKETCHED, THRESHOLD, SKETCH_LEAST, SKETCH_MOST, HAMMING_THRESHOLD = range(8)
LEAST_ACROSS, SHORT, SHORT_THRESHOLD, SHORT_LEAST, SHORT_MOST, RULES = range(8, 14)
"""Places of the rules' numbers, and how many there are."""
HEADS = 2048
"""Least number of rows over which the keys of a band, and the blocks of fingerprints, are spread, by their lowest
bits."""
MOST_HEADS = 1 << 16
"""As many as a block has values."""
BLOCKS = 4
"""Blocks of 16 bits each: fingerprints that differ in at most three bits have one of them equal."""

Mask = NDArray[np.bool_]
I64 = NDArray[np.int64]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]
Pages = NDArray[np.uint32]
"""``PAGE_WORDS`` of each page."""


@compiled("void(int64[::1], int64[::1], int64[::1], boolean[::1])")
def first_claims(partition: I64, offset: I64, claimed: I64, void: Mask) -> None:
    """Mark the claims that are not the first of their page; moves ``claimed``, by partition, with each claim."""
    for place in range(partition.shape[0]):
        here = partition[place]
        void[place] = offset[place] <= claimed[here]
        claimed[here] = max(claimed[here], offset[place])


@compiled("boolean(uint64[:, ::1], int64)", inline=True)
def _is_sketched(sketches: U64, place: int) -> bool:
    row = sketches[place]
    return bool((row[0] | row[1] | row[2] | row[3]) != np.uint64(0))


@compiled("boolean(int64[::1], uint64[::1], uint64[:, ::1], int64, int64)", inner=True)
def _sketches_allow(rules: I64, texts: U64, sketches: U64, one: int, other: int) -> bool:
    least = rules[HAMMING_THRESHOLD]
    if least == 0 or texts[one] == texts[other] or not _is_sketched(sketches, one) or not _is_sketched(sketches, other):
        return True
    return bool(agreement_of(sketches[one], sketches[other]) >= least)


@compiled("boolean(int64, uint32[:, ::1], uint64[::1], int64, int64)", inner=True)
def _may_be_near(least: int, pages: Pages, scopes: U64, one: int, other: int) -> bool:
    """Whether two pages are of one scope and comparable (``ScopedNear.comparable``)."""
    if scopes[one] != scopes[other]:
        return False
    a, b = pages[one], pages[other]
    doubt, doubted, title = a[plan.PAGE_DOUBT], b[plan.PAGE_DOUBT], a[plan.PAGE_TITLE]
    if title == b[plan.PAGE_TITLE] and title != 0:
        return True
    announced = doubt == ANNOUNCED and doubted == ANNOUNCED
    if a[plan.PAGE_SITE] == b[plan.PAGE_SITE] and a[plan.PAGE_SITE] != 0:
        return announced and titles_alike(words_of(a), words_of(b))
    if doubt >= TEMPLATE or doubted >= TEMPLATE:
        return False
    return bool(announced or min(a[plan.PAGE_TOKENS], b[plan.PAGE_TOKENS]) >= least)


@compiled("boolean(int64[::1], int64[::1], uint64[:, ::1], int64, int64)", inner=True)
def _sketches_near(rules: I64, tokens: I64, sketches: U64, one: int, other: int) -> bool:
    """Whether two pages with a band in common are near by their sketches."""
    short = min(tokens[one], tokens[other]) < rules[SHORT]
    least, most = (SHORT_LEAST, SHORT_MOST) if short else (SKETCH_LEAST, SKETCH_MOST)
    if not in_ratio(rules[least], rules[most], tokens[one], tokens[other]):
        return False
    return bool(agreement_of(sketches[one], sketches[other]) >= rules[SHORT_THRESHOLD if short else THRESHOLD])


@compiled(
    "void(int64[::1], boolean[::1], boolean[::1], boolean[::1], int64[::1], uint64[::1], boolean[::1], uint64[::1], "
    "uint32[:, ::1], uint64[::1], uint32[:, ::1], uint64[:, ::1], int64[::1])"
)
def earliest(
    rules: I64,
    asked: Mask,
    stored: Mask,
    pardoned: Mask,
    urls: I64,
    values: U64,
    bare: Mask,
    texts: U64,
    pages: Pages,
    scopes: U64,
    bands: U32,
    sketches: U64,
    earlier: I64,
) -> None:
    """For each page that is ``asked``, the place of the earliest survivor before it that it is near to, otherwise -1.

    Survivors are the pages that are asked, near to none, and ``stored``. A ``pardoned`` page is compared only with
    pages that have its number in ``urls``. ``pages`` has the words of ``plan.PAGE_WORDS``. Pages that are near to pages
    of their own title only lie apart, as in ``worker.index.apart``: otherwise a batch of one text under many titles
    would be walked through for each of them.
    """
    count, keys, tokens = values.shape[0], bands.shape[1], pages[:, plan.PAGE_TOKENS].astype(np.int64)
    spread = HEADS
    while spread < min(count, MOST_HEADS):
        spread *= 2
    block_heads, block_later = np.full((BLOCKS, spread), -1, np.int64), np.empty((count, BLOCKS), np.int64)
    empty, empties = np.empty(count, np.int64), 0
    sketched, least = rules[SKETCHED] != 0, rules[LEAST_ACROSS]
    heads = np.full((keys, spread) if sketched else (0, 0), -1, np.int64)
    later = np.empty((count, keys) if sketched else (0, 0), np.int64)
    kept, apart = np.empty((count, keys) if sketched else (0, 0), np.uint32), np.zeros(count, np.bool_)
    for place in range(count):
        earlier[place] = -1
        if not asked[place]:
            continue
        best = count
        only = pardoned[place]
        title = np.uint64(pages[place, plan.PAGE_TITLE])
        own = title_mask(title)
        turns = 2 if title != np.uint64(0) else 1
        if bare[place]:
            for number in range(empties):
                other = empty[number]
                if only and urls[other] != urls[place]:
                    continue
                if texts[other] == texts[place] and _may_be_near(least, pages, scopes, place, other):
                    best = other
                    break
        else:
            value = values[place]
            for turn in range(turns):
                key = value ^ (own if turn else np.uint64(0))
                for block in range(BLOCKS):
                    other = block_heads[block, key >> np.uint64(16 * block) & np.uint64(spread - 1)]
                    while other >= 0:
                        if (
                            other < best
                            and popcount(values[other] ^ value) <= np.uint64(rules[K])
                            and apart[other] == (turn == 1)
                            and not (only and urls[other] != urls[place])
                            and _may_be_near(least, pages, scopes, place, other)
                            and in_ratio(rules[RATIO_LEAST], rules[RATIO_MOST], tokens[place], tokens[other])
                            and (not sketched or _sketches_allow(rules, texts, sketches, place, other))
                        ):
                            best = other
                        other = block_later[other, block]
        keyed = False
        if sketched and _is_sketched(sketches, place):
            for band in range(keys):
                keyed = keyed or bands[place, band] != 0
        mask = np.uint32(own & np.uint64(0xFFFF_FFFF))
        for turn in range(turns if keyed else 0):
            for band in range(keys):
                band_key = bands[place, band] ^ (mask if turn else np.uint32(0))
                other = heads[band, band_key & np.uint32(spread - 1)]
                while other >= 0:
                    if (
                        other < best
                        and kept[other, band] == band_key
                        and apart[other] == (turn == 1)
                        and not (only and urls[other] != urls[place])
                        and _may_be_near(least, pages, scopes, place, other)
                        and _sketches_near(rules, tokens, sketches, place, other)
                    ):
                        best = other
                    other = later[other, band]
        if best < count:
            earlier[place] = best
            continue
        if not stored[place]:
            continue
        apart[place] = is_alone(pages[place, plan.PAGE_DOUBT], tokens[place], least)
        if bare[place]:
            empty[empties] = place
            empties += 1
        else:
            key = values[place] ^ (own if apart[place] else np.uint64(0))
            for block in range(BLOCKS):
                begin = np.int64(key >> np.uint64(16 * block) & np.uint64(spread - 1))
                block_later[place, block] = block_heads[block, begin]
                block_heads[block, begin] = place
        if keyed:
            for band in range(keys):
                kept[place, band] = bands[place, band] ^ (mask if apart[place] else np.uint32(0))
                head = kept[place, band] & np.uint32(spread - 1)
                later[place, band] = heads[band, head]
                heads[band, head] = place
