"""Reads the file of jieba's dictionary, or a similar file, into arrays."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from worker.page.words.entries import entries_of
from worker.page.words.word_tables import SIMPLIFIED

LETTERS = "網网頁页云a7B𠀀é"
LINES = st.lists(st.tuples(st.text(LETTERS, min_size=1, max_size=4), st.integers(0, 10**6)), max_size=12)


def file_of(lines: list[tuple[str, int]]) -> bytes:
    return "".join(f"{word} {count} n\n" for word, count in lines).encode()


@given(LINES)
def test_a_word_given_twice_counts_as_the_last_one_and_two_that_fold_to_one_as_both(
    lines: list[tuple[str, int]],
) -> None:
    plain = dict(lines)
    folded: dict[str, int] = {}
    for word, count in plain.items():
        spelling = word.translate(SIMPLIFIED)
        folded[spelling] = folded.get(spelling, 0) + count
    for fold, expected in ((False, plain), (True, folded)):
        entries = entries_of(file_of(lines), fold_traditional=fold, usable=False)
        assert entries.words() == sorted(expected)
        assert dict(zip(entries.words(), entries.counts.tolist(), strict=True)) == expected
        assert entries.total == sum(count for _, count in lines)
        assert entries.beginnings == len({word[:end] for word in expected for end in range(1, len(word) + 1)})


def test_usable_are_words_that_were_seen_of_chinese_and_of_plain_letters_and_digits_beside_it() -> None:
    lines = [("网页", 3), ("网页a7", 2), ("页云", 0), ("a7", 9), ("网B", 9), ("网é", 9), ("𠀀网", 9)]
    assert entries_of(file_of(lines), fold_traditional=True, usable=True).words() == ["网页", "网页a7"]


def test_the_last_line_needs_no_end_and_blank_lines_are_nothing() -> None:
    entries = entries_of("云 1 n\n\n  \n网 2".encode(), fold_traditional=True, usable=True)
    assert (entries.words(), entries.counts.tolist(), entries.total) == (["云", "网"], [1, 2], 3)
    nothing = entries_of(b"", fold_traditional=True, usable=False)
    assert (nothing.words(), nothing.total, nothing.beginnings) == ([], 0, 0)
