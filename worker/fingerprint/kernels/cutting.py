"""Code points to tokens, by jieba's dictionary or without one, in compiled steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from worker.fingerprint.kernels.native import GOLDEN64, Array, kernel, lean
from worker.fingerprint.kernels.xxh3 import A_CHARACTER, A_WORD

_SEPARATOR, _HAN, _PLAIN, _LETTER, _MARK, _UNSPACED, _IDEOGRAPH, _APOSTROPHE = 0, 1, 2, 4, 8, 16, 32, 64
_FOLLOWS, _LEADS = 1, 128
_SPECIAL = _HAN | _UNSPACED | _IDEOGRAPH
_FIRSTS = 1 << 16
_CODE_BITS = 21
_ASCII_WORD, _PART = 1, 2
GLUE = '/\\.:=_&?@#()[]<>{};"$%*+|~'
"""Signs that hold the parts of addresses and code together."""
_GLUE: Array = np.array([chr(code) in GLUE for code in range(128)] + [False])


def _prefetch(typing_context: Any, array: Any, place: Any) -> tuple[Any, Callable[..., Any]]:
    """Make the processor fetch this place of an array from memory, while other work goes on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, value=arguments[0]).data
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", (pointer,), kind)
        to_read, for_long, as_data = number(0), number(3), number(1)
        builder.call(
            prefetch, [builder.bitcast(builder.gep(data, [arguments[1]]), pointer), to_read, for_long, as_data]
        )
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


_fetch_ahead: Final = cast(Callable[[Any, Any], None], intrinsic(_prefetch))


@lean("int64(int64)", inline=True)
def _low(bits: int) -> int:
    """Bits of a place below its key, where nodes have one more than ``bits``."""
    return 64 - _CODE_BITS - (bits + 1)


@lean("UniTuple(uint64, 2)(int64, uint32)", inline=True)
def _key_and_hash(node: Any, code: Any) -> tuple[Any, Any]:
    """The key and hash of the node that a character leads to from another node."""
    key = np.uint64(node) << np.uint64(_CODE_BITS) | np.uint64(code)
    return key, key * GOLDEN64


@lean("void(uint32[::1], int64[::1], uint64[::1], uint32[::1], uint8[::1], uint64[::1], int64)", entry=True)
def grow(codes: Array, ends: Array, ranks: Array, firsts: Array, pairs: Array, places: Array, bits: int) -> None:
    """Put words, each with the rank of its score, into a trie that is one hash table of 2^``bits`` places.

    - ``firsts`` (65536,): for each character its rank as a word, shifted by one, and whether longer words begin with
    it.
    - ``pairs`` (2^``bits`` / 4,): a bit by the hash of each two characters that words begin with. Two look-ups of five
      end there: no word begins with a pair whose bit is 0.
    - ``places``: for each node its key, the rank, and whether it has further ones. The key is the node before it and
      the last character: the node is that character if it is the first, otherwise 65536 + its place.

    All three must be zeros. Ranks begin with 1 and are below 2^(41 - ``bits``): two million for jieba's words.
    """
    mask, low = (1 << bits) - 1, np.uint64(_low(bits))
    begin = 0
    for number in range(ends.size):
        node, before = np.int64(codes[begin]), np.int64(-1)
        for at in range(begin + 1, ends[number]):
            key, hashed = _key_and_hash(node, codes[at])
            if before < 0:
                firsts[codes[begin]] |= np.uint32(1)
                bit = hashed >> np.uint64(63 - bits)
                pairs[np.int64(bit >> np.uint64(3))] |= np.uint8(1) << np.uint8(bit & np.uint64(7))
            else:
                places[before] |= np.uint64(1)
            place = np.int64(hashed >> np.uint64(64 - bits))
            while places[place] != np.uint64(0) and places[place] >> low != key:
                place = (place + 1) & mask
            places[place] |= key << low
            node, before = place + _FIRSTS, place
        if before < 0:
            firsts[codes[begin]] |= np.uint32(ranks[number] << np.uint64(1))
        else:
            places[before] |= ranks[number] << np.uint64(1)
        begin = ends[number]


@lean("int64(uint8[::1], int64, uint32)", inline=True)
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


@lean("UniTuple(int64, 2)(uint32[::1], int64, int64, uint8[::1], int32[::1], int32[::1], int64, int64)", inline=True)
def _emit(
    codes: Array, begin: int, end: int, text: Array, starts: Array, ends: Array, count: int, length: int
) -> tuple[int, int]:
    """Append a token and a blank after it."""
    if begin == end:
        return count, length
    starts[count] = length
    for at in range(begin, end):
        length = _put(text, length, codes[at])
    ends[count] = length
    text[length] = 0x20
    return count + 1, length + 1


@lean(
    "void(uint32[::1], int64, int64, uint32[::1], uint8[::1], uint64[::1], float64[::1], int64, float64[::1], "
    "int32[::1])"
)
def _most_probable(
    codes: Array,
    begin: int,
    end: int,
    firsts: Array,
    pairs: Array,
    places: Array,
    scores: Array,
    bits: int,
    best: Array,
    last: Array,
) -> None:
    """For each place the last character of the word that begins the most probable cut of the remaining text.

    As in jieba: the product of the words' frequencies; of equally probable cuts the one with the longest first word.
    ``scores`` are by rank, with the score of a character that is no word at 0.
    """
    mask, low = (1 << bits) - 1, np.uint64(_low(bits))
    of_rank = (np.uint64(1) << low) - np.uint64(1)
    for place in range(begin, end - 1):  # none of these waits for the one before it
        _, hashed = _key_and_hash(np.int64(codes[place]), codes[place + 1])
        bit = hashed >> np.uint64(63 - bits)
        begins = pairs[np.int64(bit >> np.uint64(3))] >> np.uint8(bit & np.uint64(7)) & np.uint8(1)
        last[place] = -1
        if begins:
            slot = np.int64(hashed >> np.uint64(64 - bits))
            _fetch_ahead(places, slot)
            last[place] = slot
    last[end - 1] = -1
    best[end] = 0.0
    for place in range(end - 1, begin - 1, -1):
        rank = np.int64(firsts[codes[place]] >> np.uint32(1))
        highest = scores[rank] + best[place + 1]
        is_word = rank != 0
        slot = last[place]
        last[place] = place
        at = place + 1
        node = np.int64(codes[place])
        while slot >= 0:
            key, _ = _key_and_hash(node, codes[at])
            while places[slot] != np.uint64(0) and places[slot] >> low != key:
                slot = (slot + 1) & mask
            found = places[slot]
            rank = np.int64((found & of_rank) >> np.uint64(1))
            if rank != 0:
                score = scores[rank] + best[at + 1]
                if score >= highest or not is_word:
                    highest = score
                    last[place] = at
                    is_word = True
            at += 1
            if at == end or not found & np.uint64(1):
                break
            node = slot + _FIRSTS
            _, hashed = _key_and_hash(node, codes[at])
            slot = np.int64(hashed >> np.uint64(64 - bits))
        best[place] = highest


@lean("int64(uint8[::1], int64, int64)", inline=True)
def _after_marks(kinds: Array, begin: int, end: int) -> int:
    """Where a word begins that has marks, and apostrophes after them, before it."""
    if begin < end and kinds[begin] == _MARK:
        while begin < end and (kinds[begin] == _MARK or kinds[begin] == _APOSTROPHE):
            begin += 1
    return begin


@lean("void(uint32[::1], int64, uint8[::1], uint8[::1])")
def _classify(codes: Array, count: int, classes: Array, kinds: Array) -> None:
    """The class of each character; an apostrophe that is not inside a word is a separator."""
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


@lean("boolean(uint32[::1], uint8[::1], int64, int64)", inline=True)
def _is_glued(codes: Array, kinds: Array, place: Any, beyond: Any) -> Any:
    """Whether a sign of ``GLUE`` stands at a place, and a letter or digit of ASCII or a slash beyond it."""
    last = kinds.size - 1
    # A processor guesses worst what stands next to a word: so the code looks at everything, and the answer is
    # arithmetic.
    inside = (place >= 0) & (beyond >= 0) & (place <= last) & (beyond <= last)
    sign = _GLUE[min(np.int64(codes[min(max(place, 0), last)]), 128)]
    at = min(max(beyond, 0), last)
    return inside & sign & ((kinds[at] == _PLAIN) | (codes[at] == np.uint32(0x2F)))


@lean("int64(uint32[::1], uint8[::1], int32[::1], int32[::1], int32[::1], int64, uint8[::1])", entry=True)
def mark(codes: Array, kinds: Array, plain_at: Array, starts: Array, ends: Array, count: int, once: Array) -> int:
    """Mark each word that is a part, by rule 4 of ``worker.fingerprint.text_reader``; returns how many are.

    All but ``once`` (zeros, count) as ``cut`` leaves them.
    """
    parts = 0
    for number in range(count):
        if plain_at[number] == 0:
            continue
        place = np.int64(plain_at[number]) - 1
        end = place + ends[number] - starts[number]
        part = codes[place] < np.uint32(0x3A)
        part |= _is_glued(codes, kinds, place - 1, place - 2) | _is_glued(codes, kinds, end, end + 1)
        once[number] = _PART if part else _ASCII_WORD
        parts += part
    return parts


@kernel("int64(uint64[::1], uint8[::1], int64, uint8[::1], int32[::1], int32[::1], int64, uint8[::1])", entry=True)
def thin(
    hashes: Array, once: Array, parts: int, text: Array, starts: Array, ends: Array, count: int, apart: Array
) -> int:
    """Leave out each word that counts only once, by ``once``, and has counted before; returns how many are left.

    ``hashes`` and ``starts`` become those of the words that are left, and ``ends`` those of the pairs that they begin.
    Two words that were not neighbours are spelled once more in ``apart``, one after the other; their pairs' places are
    counted from the end of ``text`` on.
    """
    bits = 4
    while 1 << bits < 4 * parts + 4:
        bits += 1
    mask = (1 << bits) - 1
    places = np.zeros(1 << bits, np.int32)
    kept = 0
    last, last_end = -1, np.int64(0)
    written = 0
    for number in range(count):
        counts_once = once[number] == _PART
        if once[number] == _ASCII_WORD and 0 < number < count - 1:
            counts_once = once[number - 1] == _PART and once[number + 1] == _PART
        value = hashes[number]
        if counts_once:
            place = np.int64((value * GOLDEN64) >> np.uint64(64 - bits))
            while places[place] != 0 and hashes[places[place] - 1] != value:
                place = (place + 1) & mask
            if places[place] != 0:
                continue
            places[place] = kept + 1
        begin, end = starts[number], ends[number]
        if kept > 0:
            if last == number - 1:
                ends[kept - 1] = end
            else:
                before = starts[kept - 1]
                starts[kept - 1] = text.size + written
                for at in range(before, last_end + 1):
                    apart[written] = text[at]
                    written += 1
                for at in range(begin, end):
                    apart[written] = text[at]
                    written += 1
                ends[kept - 1] = text.size + written
                written += 1
        hashes[kept] = value
        starts[kept] = begin
        last, last_end = number, end
        kept += 1
    return kept


@kernel(
    "UniTuple(int64, 2)(uint32[::1], int64, uint8[::1], uint8[::1], uint32[::1], uint8[::1], uint64[::1], float64[::1],"
    " int64, uint8[::1], int32[::1], int32[::1], uint8[::1], int32[::1], int32[::1], int32[::1])",
    entry=True,
)
def cut(
    codes: Array,
    count: int,
    classes: Array,
    kinds: Array,
    firsts: Array,
    pairs: Array,
    places: Array,
    scores: Array,
    bits: int,
    word_text: Array,
    word_starts: Array,
    word_ends: Array,
    unit_text: Array,
    unit_starts: Array,
    unit_ends: Array,
    plain_at: Array,
) -> tuple[int, int]:
    """The words and units of ``worker.fingerprint.text_reader``, in UTF-8 with a blank after each.

    Reads ``count`` of ``codes``. Returns the number of words and the number of units. With tables ``places`` of size 0
    there is no dictionary: then there are no words. With a dictionary, most units are not spelled out once more:
    ``unit_starts`` and ``unit_ends`` are then as in ``xxh3.hash_units``. For each word of ASCII letters and digits
    ``plain_at`` (count,) holds the character after its first.
    """
    _classify(codes, count, classes, kinds)
    plain_at[:] = 0
    dictionary = places.size > 0
    text = word_text if dictionary else unit_text
    best = np.empty(count + 1 if dictionary else 0, np.float64)
    last = np.empty(count + 1 if dictionary else 0, np.int32)
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
        length = written if dictionary else units_written
        seen = 0
        while end < count and kinds[end] != _SEPARATOR:
            seen |= kinds[end]
            text[length] = np.uint8(codes[end])
            length += 1
            end += 1
        if seen == _PLAIN:  # most words: the text just written is theirs; other words overwrite it
            text[length] = 0x20
            unit_starts[units] = words if dictionary else units_written
            unit_ends[units] = A_WORD if dictionary else length
            units += 1
            plain_at[words if dictionary else units - 1] = place + 1
            if dictionary:
                word_starts[words] = written
                word_ends[words] = length
                words += 1
                written = length + 1
            else:
                units_written = length + 1
            place = end
            continue
        place = _after_marks(kinds, place, end)
        while place < end:
            kind = kinds[place]
            if kind & (_UNSPACED | _IDEOGRAPH):
                stop = place + 1
                while kind & _UNSPACED and stop < end and kinds[stop] & _UNSPACED:
                    stop += 1
                before, at = -1, place
                while at < stop:
                    after = at + 1
                    while after < stop and (kinds[after] & _FOLLOWS or kinds[after - 1] & _LEADS):
                        after += 1
                    units, units_written = _emit(
                        codes, at, after, unit_text, unit_starts, unit_ends, units, units_written
                    )
                    if dictionary and (before >= 0 or after == stop):
                        words, written = _emit(
                            codes, max(before, place), after, word_text, word_starts, word_ends, words, written
                        )
                    before, at = at, after
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
                _most_probable(codes, place, stop, firsts, pairs, places, scores, bits, best, last)
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
