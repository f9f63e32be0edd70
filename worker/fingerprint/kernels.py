"""Text to fingerprint, compiled by numba, without making a string of any token.

Code points go through these in turn, each of which tests hold to what it is equal to: ``spell`` (to
``worker.page.normalise``), ``cut`` (``worker.page.segment``), ``hash_slices`` (XXH3), ``vote`` (``worker.page.weigh``
and ``simhash``), ``sketch_tokens`` (``sketch``). All arrays are the caller's; nothing is kept between calls.

Importing raises ``ImportError`` where numba cannot run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from worker.page.compiled import cached

if numba.config.DISABLE_JIT:
    raise ImportError("numba's compilation is switched off by NUMBA_DISABLE_JIT")

TOO_LONG: Final = -2
"""What ``spell`` returns where the spelling does not fit."""
COMPOSES: Final = -1
"""What ``spell`` returns for a text in which characters interact: ``normalise_by_definition`` has to spell it."""
LONGEST: Final = 128
"""Bytes of the longest token or pair that ``hash_slices`` hashes itself."""
FREE: Final = 0
"""The key of a free place in a table of words or in a set of hashes (XXH3 of no noise word is 0)."""
A_WORD: Final = -1
A_CHARACTER: Final = -2
"""In place of a unit's end in ``cut``: it is equal to a word, or a single character of three bytes in UTF-8."""

_SEPARATOR, _HAN, _PLAIN, _LETTER, _MARK, _UNSPACED, _IDEOGRAPH, _APOSTROPHE = 0, 1, 2, 4, 8, 16, 32, 64
_SPECIAL = _HAN | _UNSPACED | _IDEOGRAPH
_GOLDEN64 = np.uint64(0x9E3779B97F4A7C15)
_GOLDEN32 = np.uint32(0x9E3779B1)

_Function = TypeVar("_Function", bound=Callable[..., Any])
Array = Any


def _compiled(signature: Any, *, inline: bool = False) -> Callable[[_Function], _Function]:
    return lambda function: cached(function, signature, forceinline=inline)


def _loads(bits: int) -> Callable[[Any, Any], Any]:
    """An intrinsic: the little-endian number at a place in an array of bytes, in one instruction."""

    def load(typing_context: Any, array: Any, place: Any) -> tuple[Any, Callable[..., ir.Value]]:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> ir.Value:
            data = context.make_array(signature.args[0])(context, builder, value=arguments[0]).data
            address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(bits).as_pointer())
            return (
                builder.zext(builder.load(address, align=1), ir.IntType(64))
                if bits < 64
                else builder.load(address, align=1)
            )

        return types.uint64(array, place), generate

    return cast(Callable[[Any, Any], Any], intrinsic(load))


def _product(typing_context: Any, a: Any, b: Any) -> tuple[Any, Callable[..., ir.Value]]:
    """The 128 bits of a product, upper and lower half combined by exclusive or."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> ir.Value:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        upper = builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))
        return builder.xor(builder.trunc(product, ir.IntType(64)), upper)

    return types.uint64(types.uint64, types.uint64), generate


def _swap(typing_context: Any, value: Any) -> tuple[Any, Callable[..., ir.Value]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> ir.Value:
        return builder.bswap(arguments[0])

    return types.uint64(types.uint64), generate


_load32 = _loads(32)
_load64 = _loads(64)
_folded_product: Final[Callable[[Any, Any], Any]] = intrinsic(_product)
_swapped: Final[Callable[[Any], Any]] = intrinsic(_swap)

# The words of XXH3's default secret that short inputs use (xxHash, doc/xxhash_spec.md).
SECRET: Final = np.frombuffer(
    bytearray.fromhex(
        "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248e"
        "e03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a"
        "51e04bcdb45931c89f7ec9d9787364"
    ),
    np.uint8,
)


@_compiled("uint64(uint64)", inline=True)
def _avalanche(value: Any) -> Any:
    value ^= value >> np.uint64(37)
    value *= np.uint64(0x165667919E3779F9)
    return value ^ (value >> np.uint64(32))


@_compiled("uint64(uint8[::1], int64, uint8[::1], int64)", inline=True)
def _mix16(text: Array, at: int, secret: Array, key: int) -> Any:
    return _folded_product(_load64(text, at) ^ _load64(secret, key), _load64(text, at + 8) ^ _load64(secret, key + 8))


@_compiled("uint64(uint8[::1], int64, int64, uint8[::1])")
def _xxh3(text: Array, begin: int, length: int, secret: Array) -> Any:
    """XXH3, 64 bits wide, of at most ``LONGEST`` bytes and at least one."""
    size = np.uint64(length)
    if length <= 3:
        combined = (
            np.uint64(text[begin]) << np.uint64(16)
            | np.uint64(text[begin + (length >> 1)]) << np.uint64(24)
            | np.uint64(text[begin + length - 1])
            | size << np.uint64(8)
        )
        value = combined ^ (_load32(secret, 0) ^ _load32(secret, 4))
        value ^= value >> np.uint64(33)
        value *= np.uint64(0xC2B2AE3D27D4EB4F)
        value ^= value >> np.uint64(29)
        value *= np.uint64(0x165667B19E3779F9)
        return value ^ (value >> np.uint64(32))
    if length <= 8:
        value = _load32(text, begin + length - 4) + (_load32(text, begin) << np.uint64(32))
        value ^= _load64(secret, 8) ^ _load64(secret, 16)
        value ^= (value << np.uint64(49) | value >> np.uint64(15)) ^ (value << np.uint64(24) | value >> np.uint64(40))
        value *= np.uint64(0x9FB21C651E98DF25)
        value ^= (value >> np.uint64(35)) + size
        value *= np.uint64(0x9FB21C651E98DF25)
        return value ^ (value >> np.uint64(28))
    if length <= 16:
        low = _load64(text, begin) ^ (_load64(secret, 24) ^ _load64(secret, 32))
        high = _load64(text, begin + length - 8) ^ (_load64(secret, 40) ^ _load64(secret, 48))
        return _avalanche(size + _swapped(low) + high + _folded_product(low, high))
    value = size * np.uint64(0x9E3779B185EBCA87)
    for step in range((length - 1) // 32, -1, -1):
        value += _mix16(text, begin + 16 * step, secret, 32 * step)
        value += _mix16(text, begin + length - 16 * (step + 1), secret, 32 * step + 16)
    return _avalanche(value)


@_compiled("int64(uint8[::1], int64[::1], int64[::1], int64, uint8[::1], uint64[::1], int64[::1])")
def hash_slices(
    text: Array, starts: Array, ends: Array, count: int, secret: Array, hashes: Array, too_long: Array
) -> int:
    """The XXH3 of text[starts[i]:ends[i]] for the first ``count`` slices.

    Returns how many are longer than ``LONGEST``; their numbers stand in ``too_long``, and their hashes are left out.
    """
    long = 0
    for number in range(count):
        length = ends[number] - starts[number]
        if length > LONGEST:
            too_long[long] = number
            long += 1
        else:
            hashes[number] = _xxh3(text, starts[number], length, secret)
    return long


@_compiled("uint64(int64, uint8[::1])", inline=True)
def _xxh3_of_character(code: int, secret: Array) -> Any:
    """``_xxh3`` of a character that takes three bytes in UTF-8."""
    combined = (
        np.uint64(0xE0 | code >> 12) << np.uint64(16)
        | np.uint64(0x80 | code >> 6 & 0x3F) << np.uint64(24)
        | np.uint64(0x80 | code & 0x3F)
        | np.uint64(3 << 8)
    )
    value = combined ^ (_load32(secret, 0) ^ _load32(secret, 4))
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xC2B2AE3D27D4EB4F)
    value ^= value >> np.uint64(29)
    value *= np.uint64(0x165667B19E3779F9)
    return value ^ (value >> np.uint64(32))


@_compiled("int64(uint8[::1], int64[::1], int64[::1], int64, uint8[::1], uint64[::1], uint64[::1], int64[::1])")
def hash_units(
    text: Array, starts: Array, ends: Array, count: int, secret: Array, words: Array, hashes: Array, too_long: Array
) -> int:
    """As ``hash_slices``, where ``ends`` may say ``A_WORD`` or ``A_CHARACTER`` in place of an end.

    ``starts`` then is the number of the word, whose hash ``words`` has, or the character's code point.
    """
    long = 0
    for number in range(count):
        end = ends[number]
        if end == A_CHARACTER:
            hashes[number] = _xxh3_of_character(starts[number], secret)
        elif end == A_WORD:
            hashes[number] = words[starts[number]]
        elif end - starts[number] > LONGEST:
            too_long[long] = number
            long += 1
        else:
            hashes[number] = _xxh3(text, starts[number], end - starts[number], secret)
    return long


@_compiled(
    types.int64(
        types.Array(types.uint32, 1, "C", readonly=True),
        types.uint32[::1],
        types.uint32[::1],
        types.int64[::1],
        types.uint32[::1],
        types.uint32[::1],
    )
)
def spell(codes: Array, table: Array, expanding: Array, bounds: Array, expansions: Array, spelled: Array) -> int:
    """The normalised spelling of ``codes``: writes it into ``spelled`` and returns its length, or ``COMPOSES``.

    ``table`` is that of ``normalise``; ``expanding`` are its characters of several, ascending, which are spelled
    ``expansions[bounds[i]:bounds[i + 1]]``. Where these have no room in ``spelled``, beyond as many characters as
    ``codes`` has, it returns ``TOO_LONG``.
    """
    last = table.size - 1
    length = 0
    blank = True  # at the beginning none is written
    for place in range(codes.size):
        code = codes[place]
        spelling = table[min(np.int64(code), last)]
        if spelling < np.uint32(0x110000):
            # Where words end is what a processor guesses worst: so the character is written either way, and whether
            # it stays there is arithmetic.
            spelled[length] = spelling
            is_blank = spelling == np.uint32(0x20)
            length += (spelling != np.uint32(0)) & ~(is_blank & blank)
            blank = is_blank | (blank & (spelling == np.uint32(0)))
        elif spelling == np.uint32(0x110001):
            return COMPOSES
        else:
            number = np.searchsorted(expanding, code)
            if length + bounds[number + 1] - bounds[number] + codes.size - place > spelled.size:
                return TOO_LONG
            for at in range(bounds[number], bounds[number + 1]):
                part = expansions[at]
                if part == np.uint32(0x20) and blank:
                    continue
                blank = part == np.uint32(0x20)
                spelled[length] = part
                length += 1
    if length > 0 and blank:
        length -= 1
    return length


@_compiled("void(uint32[::1], int64, uint8[::1], int64[::1])")
def tally(codes: Array, count: int, scripts: Array, tallies: Array) -> None:
    """How many of the first ``count`` characters are of each script, added to ``tallies``."""
    last = scripts.size - 1
    lanes = np.zeros((4, tallies.size), np.int64)  # neighbours are mostly of one script, and would wait for each other
    for place in range(count):
        lanes[place & 3, scripts[min(np.int64(codes[place]), last)]] += 1
    for lane in range(4):
        for script in range(tallies.size):
            tallies[script] += lanes[lane, script]


@_compiled("void(uint32[::1], int64[::1], float64[::1], uint64[::1], float64[::1], int64)")
def grow(codes: Array, ends: Array, scores_of: Array, keys: Array, scores: Array, bits: int) -> None:
    """Put words into a trie that is one hash table of 2^``bits`` places.

    A node is the place where its key stands: the parent's place + 1 (0: the root) above 21 bits of the last character.
    ``keys`` and ``scores`` are two views of the same memory, in which each key has its score beside it, so that both
    come with one access: place p has its key at 2p and its score, of a word, at 2p + 1. All must be zeros.
    """
    mask = (1 << bits) - 1
    begin = 0
    for number in range(ends.size):
        node = 0
        for at in range(begin, ends[number]):
            key = np.uint64(node) << np.uint64(21) | np.uint64(codes[at])
            place = np.int64((key * _GOLDEN64) >> np.uint64(64 - bits))
            while keys[2 * place] != np.uint64(FREE) and keys[2 * place] != key:
                place = (place + 1) & mask
            keys[2 * place] = key
            node = int(place) + 1
        scores[2 * node - 1] = scores_of[number]
        begin = ends[number]


@_compiled("int64(uint8[::1], int64, uint32)", inline=True)
def _put(text: Array, length: int, code: Any) -> int:
    """Append a character in UTF-8."""
    value = np.int64(code)
    if value < 0x80:
        text[length] = value
        return length + 1
    if value < 0x800:
        text[length] = 0xC0 | value >> 6
        text[length + 1] = 0x80 | value & 0x3F
        return length + 2
    if value < 0x10000:
        text[length] = 0xE0 | value >> 12
        text[length + 1] = 0x80 | value >> 6 & 0x3F
        text[length + 2] = 0x80 | value & 0x3F
        return length + 3
    text[length] = 0xF0 | value >> 18
    text[length + 1] = 0x80 | value >> 12 & 0x3F
    text[length + 2] = 0x80 | value >> 6 & 0x3F
    text[length + 3] = 0x80 | value & 0x3F
    return length + 4


@_compiled(
    "UniTuple(int64, 2)(uint32[::1], int64, int64, uint8[::1], int64[::1], int64[::1], int64, int64)", inline=True
)
def _emit(
    codes: Array, begin: int, end: int, text: Array, starts: Array, ends: Array, count: int, length: int
) -> tuple[int, int]:
    """Append a token and a blank behind it."""
    if begin == end:
        return count, length
    starts[count] = length
    for at in range(begin, end):
        length = _put(text, length, codes[at])
    ends[count] = length
    text[length] = 0x20
    return count + 1, length + 1


@_compiled("void(uint32[::1], int64, int64, uint64[::1], float64[::1], int64, float64, float64[::1], int64[::1])")
def _most_probable(
    codes: Array, begin: int, end: int, keys: Array, scores: Array, bits: int, unknown: float, best: Array, last: Array
) -> None:
    """For each place the last character of the word that begins the most probable cut of what is left.

    As in jieba: the product of the words' frequencies; of equally probable cuts the one with the longest first word.
    """
    mask = (1 << bits) - 1
    best[end] = 0.0
    for place in range(end - 1, begin - 1, -1):
        found = False
        highest = 0.0
        node = 0
        at = place
        while at < end:
            key = np.uint64(node) << np.uint64(21) | np.uint64(codes[at])
            slot = np.int64((key * _GOLDEN64) >> np.uint64(64 - bits))
            while keys[2 * slot] != np.uint64(FREE) and keys[2 * slot] != key:
                slot = (slot + 1) & mask
            if keys[2 * slot] == np.uint64(FREE):
                break
            score = scores[2 * slot + 1]
            if score != 0.0:
                score += best[at + 1]
                if not found or score >= highest:
                    highest = score
                    last[place] = at
                    found = True
            node = int(slot) + 1
            at += 1
        if found:
            best[place] = highest
        else:
            best[place] = unknown + best[place + 1]
            last[place] = place


@_compiled("int64(uint8[::1], int64, int64)", inline=True)
def _after_marks(kinds: Array, begin: int, end: int) -> int:
    """Where a word begins that marks, and apostrophes behind them, stand before."""
    if begin < end and kinds[begin] == _MARK:
        while begin < end and (kinds[begin] == _MARK or kinds[begin] == _APOSTROPHE):
            begin += 1
    return begin


@_compiled("void(uint32[::1], int64, uint8[::1], uint8[::1])")
def _classify(codes: Array, count: int, classes: Array, kinds: Array) -> None:
    """The class of each character; an apostrophe inside a word becomes the plain one, any other a separator."""
    last = classes.size - 1
    apostrophes = 0
    for place in range(count):
        kind = classes[min(np.int64(codes[place]), last)]
        kinds[place] = kind
        apostrophes += kind == _APOSTROPHE
    if apostrophes == 0:
        return
    for place in range(count):
        if classes[min(np.int64(codes[place]), last)] == _APOSTROPHE:
            inside = (
                0 < place < count - 1
                and classes[min(np.int64(codes[place - 1]), last)] & (_PLAIN | _LETTER | _MARK)
                and classes[min(np.int64(codes[place + 1]), last)] & (_PLAIN | _LETTER)
            )
            kinds[place] = _APOSTROPHE if inside else _SEPARATOR
            if inside:
                codes[place] = np.uint32(0x27)


@_compiled(
    "UniTuple(int64, 2)(uint32[::1], int64, uint8[::1], uint8[::1], uint64[::1], float64[::1], int64, float64,"
    " uint8[::1], int64[::1], int64[::1], uint8[::1], int64[::1], int64[::1])"
)
def cut(
    codes: Array,
    count: int,
    classes: Array,
    kinds: Array,
    keys: Array,
    scores: Array,
    bits: int,
    unknown: float,
    word_text: Array,
    word_starts: Array,
    word_ends: Array,
    unit_text: Array,
    unit_starts: Array,
    unit_ends: Array,
) -> tuple[int, int]:
    """The tokens of ``Segmenter.all_tokens`` and of ``characters_and_words``, in UTF-8 with a blank behind each.

    Of ``codes``, ``count`` are read (and apostrophes made plain). Returns how many there are of each. With tables
    ``keys`` of size 0 there is no dictionary: the words are then left out. With one, most units are not spelled out
    once more: ``unit_starts`` and ``unit_ends`` are then as in ``hash_units``.
    """
    _classify(codes, count, classes, kinds)
    dictionary = keys.size > 0
    best = np.empty(count + 1 if dictionary else 0, np.float64)
    last = np.empty(count + 1 if dictionary else 0, np.int64)
    words = 0
    units = 0
    written = 0
    units_written = 0
    place = 0
    while place < count:
        if kinds[place] == _SEPARATOR:
            place += 1
            continue
        end = place
        while end < count and kinds[end] != _SEPARATOR:
            end += 1
        place = _after_marks(kinds, place, end)
        while place < end:
            kind = kinds[place]
            if kind & (_UNSPACED | _IDEOGRAPH):
                stop = place + 1
                while kind == _UNSPACED and stop < end and kinds[stop] == _UNSPACED:
                    stop += 1
                for at in range(place, stop):
                    units, units_written = _emit(
                        codes, at, at + 1, unit_text, unit_starts, unit_ends, units, units_written
                    )
                    if dictionary and (at + 1 < stop or stop - place == 1):
                        words, written = _emit(
                            codes, at, min(at + 2, stop), word_text, word_starts, word_ends, words, written
                        )
                place = stop
                continue
            stop = place
            chinese = False
            while stop < end and not kinds[stop] & (_UNSPACED | _IDEOGRAPH):
                if kinds[stop] == _HAN:
                    chinese = True
                    if dictionary and np.uint32(0x800) <= codes[stop] < np.uint32(0x10000):
                        unit_starts[units] = codes[stop]
                        unit_ends[units] = A_CHARACTER
                        units += 1
                    else:
                        units, units_written = _emit(
                            codes, stop, stop + 1, unit_text, unit_starts, unit_ends, units, units_written
                        )
                    stop += 1
                    continue
                run = stop
                plain = True
                while run < end and not kinds[run] & _SPECIAL:
                    plain = plain and kinds[run] == _PLAIN
                    run += 1
                if not plain:
                    break
                if dictionary and not chinese and (run == end or kinds[run] != _HAN):  # all of the word
                    unit_starts[units] = words
                    unit_ends[units] = A_WORD
                    units += 1
                else:
                    units, units_written = _emit(
                        codes, stop, run, unit_text, unit_starts, unit_ends, units, units_written
                    )
                stop = run
            if stop == place:
                while stop < end and not kinds[stop] & _SPECIAL:
                    stop += 1
                begin = _after_marks(kinds, place, stop)
                if not dictionary:
                    units, units_written = _emit(
                        codes, begin, stop, unit_text, unit_starts, unit_ends, units, units_written
                    )
                elif begin < stop:
                    unit_starts[units] = words
                    unit_ends[units] = A_WORD
                    units += 1
                    words, written = _emit(codes, begin, stop, word_text, word_starts, word_ends, words, written)
            elif dictionary and not chinese:
                words, written = _emit(codes, place, stop, word_text, word_starts, word_ends, words, written)
            elif dictionary:
                _most_probable(codes, place, stop, keys, scores, bits, unknown, best, last)
                at = place
                while at < stop:
                    after = last[at] + 1
                    if after == at + 1 and kinds[at] == _PLAIN:  # single ones in a row stay together
                        while after < stop and last[after] == after and kinds[after] == _PLAIN:
                            after += 1
                    words, written = _emit(codes, at, after, word_text, word_starts, word_ends, words, written)
                    at = after
            place = stop
    return words, units


@_compiled("void(uint64[::1], uint64[::1], int64)")
def gather(hashes: Array, members: Array, bits: int) -> None:
    """Put hashes into a set of 2^``bits`` places, more than there are hashes. ``members`` must be ``FREE``."""
    mask = (1 << bits) - 1
    for number in range(hashes.size):
        place = np.int64((hashes[number] * _GOLDEN64) >> np.uint64(64 - bits))
        while members[place] != np.uint64(FREE):
            place = (place + 1) & mask
        members[place] = hashes[number]


@_compiled("boolean(uint64[::1], int64, uint64)", inline=True)
def _has(members: Array, bits: int, value: Any) -> bool:
    mask = (1 << bits) - 1
    place = np.int64((value * _GOLDEN64) >> np.uint64(64 - bits))
    while members[place] != np.uint64(FREE):
        if members[place] == value:
            return True
        place = (place + 1) & mask
    return False


@_compiled("int64(uint64[::1], int64, uint64[::1], int64, uint64[::1], int64[::1])")
def _count(hashes: Array, count: int, left_out: Array, part: int, distinct: Array, weights: Array) -> int:
    """Distinct hashes and how often each is there, without those in the set ``left_out``; returns how many.

    ``left_out`` is of ``gather``, or empty.
    """
    bits = 4
    while 1 << bits < 2 * count:
        bits += 1
    mask = (1 << bits) - 1
    places = np.zeros(1 << bits, np.int32)
    found = 0
    for number in range(count):
        value = hashes[number]
        place = np.int64((value * _GOLDEN64) >> np.uint64(64 - bits))
        while places[place] != 0 and distinct[places[place] - 1] != value:
            place = (place + 1) & mask
        if places[place] == 0:
            distinct[found] = value
            weights[found] = 0
            found += 1
            places[place] = found
        weights[places[place] - 1] += 1
    kept = 0
    left_out_bits = 0
    while 1 << left_out_bits < left_out.size:
        left_out_bits += 1
    for number in range(found):
        value = distinct[number]
        if left_out_bits and _has(left_out, left_out_bits, value):
            continue
        distinct[kept] = value
        weights[kept] = (weights[number] << 16) // part
        kept += 1
    return kept


@_compiled("Tuple((uint64, int64))(uint64[::1], uint64[::1], int64, uint64[::1], int64, int64)")
def vote(words: Array, pairs: Array, count: int, noise: Array, most_pairs: int, largest_share: int) -> tuple[Any, int]:
    """The SimHash of a text's weighted features, by tf, and their number.

    ``words`` (count,) are the hashes of all its tokens, ``pairs`` (count - 1,) those of their pairs, ``noise`` those of
    the noise words, a set of ``gather``. The two limits are ``PAIRS`` and ``LARGEST_SHARE`` of ``worker.page.weigh``.
    """
    distinct = np.empty(2 * count + 1, np.uint64)
    weights = np.empty(2 * count + 1, np.int64)
    single = _count(words, count, noise, 1, distinct, weights)
    part = min(most_pairs, max(1, single))
    double = _count(pairs, max(0, count - 1), noise[:0], part, distinct[single:], weights[single:])
    features = single + double
    total = 0
    for number in range(features):
        total += weights[number]
    most = max(1, total // largest_share)
    total = 0
    ones = np.zeros(64, np.int64)
    for number in range(features):
        weight = min(weights[number], most)
        total += weight
        bits = np.int64(distinct[number])
        for bit in range(64):
            ones[bit] += weight & -((bits >> bit) & 1)
    fingerprint = np.uint64(0)
    for bit in range(64):
        if 2 * ones[bit] > total:
            fingerprint |= np.uint64(1) << np.uint64(bit)
    return fingerprint, features


@_compiled("uint64(uint64)", inline=True)
def _mixed(value: Any) -> Any:
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xFF51AFD7ED558CCD)
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xC4CEB9FE1A85EC53)
    return value ^ (value >> np.uint64(33))


@_compiled("void(uint64[::1], uint32[::1], uint32[::1])")
def _minima(members: Array, multipliers: Array, smallest: Array) -> None:
    for number in range(members.size):
        low = np.uint32(members[number])
        for slot in range(multipliers.size):
            value = np.uint32(low * multipliers[slot])
            smallest[slot] = min(smallest[slot], value)


@_compiled("void(uint64[::1], uint64, uint32[::1], uint32[::1], int64[::1], uint8[::1], uint32[::1])")
def sketch_tokens(
    tokens: Array,
    boundary: Any,
    slot_multipliers: Array,
    band_multipliers: Array,
    bigrams_up_to: Array,
    sketch: Array,
    keys: Array,
) -> None:
    """``sketch`` (uint8, 32) and ``bands`` (uint32, 8) of at least one token; ``sketch`` must be zeros."""
    count = tokens.size
    bigrams = np.empty(count + 1, np.uint64)
    trigrams = np.empty(count, np.uint64)
    before = boundary
    for place in range(count):
        after = tokens[place + 1] if place + 1 < count else boundary
        pair = before * _GOLDEN64 + tokens[place]
        bigrams[place] = _mixed(pair)
        trigrams[place] = _mixed(pair * _GOLDEN64 + after)
        before = tokens[place]
    bigrams[count] = _mixed(before * _GOLDEN64 + boundary)

    if bigrams.size > 15:
        smallest = np.full(128, np.uint32(0xFFFFFFFF), np.uint32)
        _minima(bigrams, slot_multipliers, smallest)
        for slot in range(127):
            sketch[slot >> 2] |= np.uint8((smallest[slot] * _GOLDEN32 & np.uint32(0xFFFFFFFF)) >> 30 << 2 * (slot & 3))
    if bigrams.size <= 23:
        exact = np.sort(bigrams)
        wide = bigrams.size <= 15
        for number in range(bigrams.size):
            if wide:
                sketch[2 * number] = np.uint8(exact[number] >> np.uint64(48))
                sketch[2 * number + 1] = np.uint8(exact[number] >> np.uint64(56))
            else:
                sketch[8 + number] = np.uint8(exact[number] >> np.uint64(56))
        for place in range(2 * bigrams.size if wide else 8 + bigrams.size, 31):
            sketch[place] = 0
        sketch[31] = (2 if wide else 1) << 6 | bigrams.size

    rows = band_multipliers.size // keys.size
    of_trigrams = 0
    while of_trigrams < keys.size and count > bigrams_up_to[of_trigrams]:
        of_trigrams += 1
    smallest = np.full(band_multipliers.size, np.uint32(0xFFFFFFFF), np.uint32)
    _minima(trigrams, band_multipliers[: rows * of_trigrams], smallest[: rows * of_trigrams])
    _minima(bigrams, band_multipliers[rows * of_trigrams :], smallest[rows * of_trigrams :])
    for band in range(keys.size):
        gathered = np.uint64(band)
        for row in range(rows):
            gathered = gathered * _GOLDEN64 + np.uint64(smallest[rows * band + row])
        keys[band] = np.uint32(_mixed(gathered) >> np.uint64(32))
