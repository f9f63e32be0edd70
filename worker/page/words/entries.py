"""The entries of jieba's dictionary as arrays: its 350,000 words would take .6 s and 60 MB as strings of a ``dict``."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from worker.compiling import compiler_of
from worker.page.words.scripts import HAN_RANGE, TABLE_END
from worker.page.words.word_tables import SIMPLIFIED

_compiled: Final = compiler_of("worker.page.words", ("entries",))
_NEWLINE, _BLANK, _ZERO, _NINE, _A, _Z = 10, 32, 48, 57, 97, 122
_FIRST_HAN, _LAST_HAN = map(ord, HAN_RANGE[::2])


class WordCounts(NamedTuple):
    """Words in the order of their code points: the code points of all of them, uint32; where each word ends among
    these, int64 (n,); how often it was seen, int64 (n,). ``total`` is how often all words of the file were seen, and
    ``beginnings`` how many words there are including all beginnings of words."""

    codes: npt.NDArray[np.uint32]
    ends: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    total: int
    beginnings: int

    def words(self) -> list[str]:
        """As strings."""
        text = self.codes.tobytes().decode("utf-32-le")
        ends = self.ends.tolist()
        return [text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


def entries_of(file: bytes, *, fold_traditional: bool, usable: bool) -> WordCounts:
    """The entries of a dictionary in jieba's form: a word a line, how often it was seen, its part of speech.

    Of a word that occurs twice the last entry counts; two words that become one by folding were seen as often as both.
    The ``usable`` ones can be tokens: of Chinese characters, and letters and digits of ASCII between them, all seen.
    """
    data = np.frombuffer(bytearray(file + b"\n"), np.uint8)
    lines = file.count(b"\n") + 1
    codes, of_line = np.empty(len(data), np.uint32), np.empty((lines, 4), np.int64)
    count = _read(data, _spellings(fold_traditional), codes, of_line)
    of_line = of_line[:count]
    lengths = of_line[:, _TO] - of_line[:, _FROM]
    rows = np.zeros((count, int(lengths.max(initial=1))), np.uint32)
    rows[np.arange(rows.shape[1]) < lengths[:, None]] = codes[: int(lengths.sum())]
    order = np.argsort(rows.view(f"U{rows.shape[1]}").ravel(), kind="stable")  # fast, as the file is nearly in order
    ends, counts = np.empty(count, np.int64), np.empty(count, np.int64)
    kept = np.empty(len(codes), np.uint32)
    words, letters, beginnings = _merge(data, codes, of_line, order, usable, kept, ends, counts)
    total = int(of_line[:, _SEEN].sum())
    return WordCounts(kept[:letters].copy(), ends[:words].copy(), counts[:words].copy(), total, beginnings)


def _spellings(fold_traditional: bool) -> npt.NDArray[np.uint32]:
    table = np.arange(TABLE_END, dtype=np.uint32)
    if fold_traditional:
        table[list(SIMPLIFIED)] = list(SIMPLIFIED.values())
    return table


_FROM, _TO, _SEEN, _BYTE = range(4)
"""For each line: where its word begins and ends among the code points, how often it was seen, and its first byte."""


@_compiled("int64(uint8[::1], uint32[::1], uint32[::1], int64[:, ::1])", entry=True)
def _read(data: Any, spelled: Any, codes: Any, lines: Any) -> int:
    """The words of all lines one after the other, spelled; returns how many lines there are."""
    place, written, count = 0, 0, 0
    while place < len(data):
        if data[place] <= _BLANK:
            place += 1
            continue
        lines[count, _BYTE] = place
        lines[count, _FROM] = written
        while place < len(data) and data[place] > _BLANK:
            first = int(data[place])
            more = 0 if first < 0x80 else 1 if first < 0xE0 else 2 if first < 0xF0 else 3
            code = first if more == 0 else first & (0x3F >> more)
            for at in range(place + 1, place + 1 + more):
                code = code << 6 | int(data[at]) & 0x3F
            codes[written] = spelled[code] if code < len(spelled) else code
            written += 1
            place += 1 + more
        lines[count, _TO] = written
        seen = 0
        place += 1
        while place < len(data) and _ZERO <= data[place] <= _NINE:
            seen = 10 * seen + int(data[place]) - _ZERO
            place += 1
        lines[count, _SEEN] = seen
        while place < len(data) and data[place] != _NEWLINE:
            place += 1
        count += 1
    return count


@_compiled("boolean(uint8[::1], int64, int64)")
def _is_one_word(data: Any, first: int, second: int) -> bool:
    """Whether the same word stands at two places of the file."""
    while data[first] == data[second] and data[first] > _BLANK:
        first += 1
        second += 1
    return bool(data[first] == data[second])


@_compiled(
    "UniTuple(int64, 3)(uint8[::1], uint32[::1], int64[:, ::1], int64[::1], boolean, uint32[::1], int64[::1],"
    " int64[::1])",
    entry=True,
)
def _merge(
    data: Any, codes: Any, lines: Any, order: Any, usable: bool, kept: Any, ends: Any, counts: Any
) -> tuple[int, int, int]:
    """Copy the lines in ``order``, merging those of one word; returns how many words, code points and beginnings there
    are."""
    words, written, beginnings = 0, 0, 0
    before, length_before = 0, 0
    at = 0
    while at < len(order):
        begin = lines[order[at], _FROM]
        length = lines[order[at], _TO] - begin
        shared = 0
        while shared < length and shared < length_before and codes[before + shared] == codes[begin + shared]:
            shared += 1
        beginnings += length - shared
        before, length_before = begin, length
        beyond = at + 1
        while beyond < len(order):
            other = lines[order[beyond], _FROM]
            if lines[order[beyond], _TO] - other != length:
                break
            equal = 0
            while equal < length and codes[begin + equal] == codes[other + equal]:
                equal += 1
            if equal < length:
                break
            beyond += 1
        seen = 0
        for one in range(at, beyond):
            last = True
            for later in range(one + 1, beyond):
                last = last and not _is_one_word(data, lines[order[one], _BYTE], lines[order[later], _BYTE])
            if last:
                seen += lines[order[one], _SEEN]
        at = beyond
        chinese, fits = False, True
        for place in range(begin, begin + length):
            code = codes[place]
            han = _FIRST_HAN <= code <= _LAST_HAN
            chinese = chinese or han
            fits = fits and (han or _ZERO <= code <= _NINE or _A <= code <= _Z)
        if usable and not (chinese and fits and seen > 0):
            continue
        for place in range(begin, begin + length):
            kept[written] = codes[place]
            written += 1
        ends[words] = written
        counts[words] = seen
        words += 1
    return words, written, beginnings
