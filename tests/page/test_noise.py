"""The words that say nothing of a page."""

from __future__ import annotations

import pytest

from worker.page.normalise import normalise
from worker.page.segment import NOISE_WORDS, Segmenter


@pytest.fixture(scope="module")
def plain() -> Segmenter:
    return Segmenter()


def test_noise_words_are_spelled_as_tokens_are(plain: Segmenter) -> None:
    for word in NOISE_WORDS:
        assert plain.all_tokens(normalise(word)) == [word]


def test_they_are_function_words_of_both_languages_and_never_what_a_page_is_about() -> None:
    assert {"的", "the", "and", "這"} <= NOISE_WORDS
    assert not {"网页", "fish", "飞碟", "news"} & NOISE_WORDS
    assert max(map(len, NOISE_WORDS)) < 12
