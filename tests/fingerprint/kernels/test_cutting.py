"""Compiled cutting against ``Segmenter``: the same tokens, as their hashes show."""

from __future__ import annotations

import json
import lzma
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fingerprint.test_fast import ODD
from tests.page.words.test_segment import MIXED, USER_WORDS
from worker.fingerprint.fast import TextReader
from worker.fingerprint.hashing import hash_words
from worker.fingerprint.kernels import cutting
from worker.page.words.noise import NoiseWords
from worker.page.words.normalise import normalise
from worker.page.words.segment import GLUE, Segmenter, characters_and_words, dictionary, said_once


class Cutter:
    """Both ways to cut by one dictionary."""

    def __init__(self, user_words: tuple[str | tuple[str, int | None, str | None], ...]) -> None:
        self.compiled = TextReader(dictionary(user_words), NoiseWords())
        self.readable = Segmenter(user_words=user_words)

    def check(self, text: str) -> None:
        """The same words, pairs of them and units."""
        read, normalised = self.compiled.read(text), normalise(text)
        tokens = self.readable.all_tokens(said_once(normalised))
        assert read.words.tolist() == hash_words(tokens).tolist()
        assert read.pairs.tolist() == hash_words([" ".join(pair) for pair in pairwise(tokens)]).tolist()
        assert read.units.tolist() == hash_words(characters_and_words(normalised)).tolist()


@pytest.fixture(scope="module", params=[(), USER_WORDS], ids=["own dictionary", "user dictionary"])
def cutter(request: pytest.FixtureRequest) -> Cutter:
    return Cutter(request.param)


@pytest.mark.parametrize("name", ODD)
def test_odd_texts_are_cut_into_the_same_tokens(cutter: Cutter, name: str) -> None:
    cutter.check(ODD[name])


@settings(deadline=None)
@given(MIXED)
def test_any_text_is_cut_into_the_same_tokens(cutter: Cutter, text: str) -> None:
    cutter.check(text)


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["云计算", "平台", "数据库", "系统", "安装", "程序", "51区", "9架", "研究", "生命", "起源", "的"]
        ),
        max_size=30,
    )
)
def test_words_that_overlap_are_parted_where_the_dictionary_parts_them(cutter: Cutter, words: list[str]) -> None:
    cutter.check("".join(words))


@pytest.mark.data
def test_real_pages_are_cut_into_the_same_tokens(cutter: Cutter, labelled_sets: list[Path]) -> None:
    checked = 0
    for folder in labelled_sets:
        with lzma.open(folder / "docs.jsonl.xz", "rt", encoding="utf-8") as lines:
            for line in lines:
                document = json.loads(line)
                if document["lang"] != "en" and (checked := checked + 1) % 16 == 0:
                    cutter.check(document["text"])
    assert checked > 2000


def test_without_a_dictionary_the_words_are_the_units() -> None:
    read = TextReader(None, NoiseWords()).read("今天 iphone手机")
    assert read.words.tolist() == read.units.tolist() == hash_words(["今", "天", "iphone", "手", "机"]).tolist()


def test_the_signs_that_join_parts_of_addresses_are_the_same_in_both() -> None:
    assert cutting.GLUE == GLUE
