"""The shipped tables hold what their heads say."""

from __future__ import annotations

from worker.page.words.normalise import normalise
from worker.page.words.word_tables import FUNCTION_WORDS, SIMPLIFIED


def test_each_traditional_character_becomes_one_that_stays() -> None:
    assert len(SIMPLIFIED) > 2500
    assert not SIMPLIFIED.keys() & set(SIMPLIFIED.values())


def test_about_forty_languages_have_function_words_in_the_spelling_of_tokens() -> None:
    assert len(FUNCTION_WORDS) >= 38
    assert all(20 <= len(words) <= 110 for words in FUNCTION_WORDS.values())
    assert all(word == normalise(word) for words in FUNCTION_WORDS.values() for word in words)
