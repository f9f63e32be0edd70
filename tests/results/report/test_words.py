"""A text is split into words and the text between them, and nothing is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from worker.fingerprint.fingerprinter import Recipe
from worker.results.report.words import cut_by, words

CUT = cut_by(Recipe().reader)


@given(st.text(st.sampled_from("abZ é'’-_.\n\t0日本語天地玄黄中国人民かなไทยעבﷺ\U0001f600\u0301")))
def test_nothing_is_lost(text: str) -> None:
    assert "".join(word.text + word.behind for word in words(text, CUT)) == text


def test_chinese_is_cut_by_words_in_the_spelling_of_the_text() -> None:
    found = [word.text for word in words("《北京大學的圖書館》opens at 9:30, don't wait", CUT)]
    assert found == ["", "北京大學", "的", "圖書館", "opens", "at", "9", "30", "don't", "wait"]
    keys = [word.key for word in words("圖書館 Café", CUT)]
    assert keys == ["图书馆", "café"]
