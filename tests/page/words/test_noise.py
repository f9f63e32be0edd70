"""Words that say nothing about a page."""

from __future__ import annotations

import pytest

from worker.fingerprint.text_reader import TextReader
from worker.page.words.dictionary import dictionary
from worker.page.words.noise import NOISE_WORDS, NoiseWords


@pytest.fixture(scope="module")
def plain() -> TextReader:
    return TextReader(dictionary(), NOISE_WORDS)


def test_noise_words_are_spelled_as_tokens_are(plain: TextReader) -> None:
    unfolded = TextReader(dictionary(fold_traditional=False), NOISE_WORDS, fold_traditional=False)
    always = sorted(NOISE_WORDS.always)
    assert unfolded.tokens(" . ".join(always)).words == always
    for words in map(sorted, NOISE_WORDS.by_language.values()):
        assert plain.tokens(" . ".join(words)).words == words


def test_they_are_function_words_of_both_languages_and_never_what_a_page_is_about() -> None:
    assert {"的", "the", "and", "這"} <= NOISE_WORDS.always
    assert not {"网页", "fish", "飞碟", "news"} & NOISE_WORDS.always
    assert max(map(len, NOISE_WORDS.always)) < 12


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("The war and those who die in it", ["war", "die"]),
        ("Der Fisch, der im Wasser war, und die Katze, die sie sah", ["fisch", "wasser", "katze", "sah"]),
        ("Η γάτα και το ψάρι που ήταν στο νερό", ["γατα", "ψαρι", "νερο"]),
        ("кот и рыба, которая была в воде", ["кот", "рыба", "которая", "воде"]),
        ("网页的内容和 die 标题", ["网页", "内容", "die", "标题"]),
    ],
)
def test_words_of_a_language_are_left_out_only_where_it_is_spoken(
    plain: TextReader, text: str, left: list[str]
) -> None:
    assert NOISE_WORDS.left_of(plain.tokens(text).words) == left


def test_a_language_is_spoken_from_one_function_word_in_sixteen_and_in_three_on() -> None:
    noise = NoiseWords(frozenset({"the"}), {"xx": frozenset({"ja", "the", "nie"})})
    assert noise.among(["ja", *("fish",) * 15]) == {"the", "ja", "nie"}
    assert noise.among(["ja", *("fish",) * 16]) == {"the"}
    assert noise.among(["ja", "the", "the", "fish"]) == {"the"}
    assert noise.among(["the"] * 9) == {"the"}
    assert noise.among([]) == {"the"}
