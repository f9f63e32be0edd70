"""Compiled cutting: words of every script, mixed text, user dictionaries; and a comparison with the readable steps."""

from __future__ import annotations

import json
import lzma
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fingerprint.definition.segment import Segmenter, characters_and_words, said_once
from tests.fingerprint.test_text_reader import ODD
from worker.fingerprint.hashing import hash_words
from worker.fingerprint.text_reader import TextReader
from worker.page.words.dictionary import dictionary
from worker.page.words.noise import NoiseWords
from worker.page.words.normalise import normalise

USER_WORDS = ("51区", "9架", "云计算平台", ("数据库系统", 10**6, "n"), ("安装程序", 3, None))
MIXED = st.text(
    st.one_of(
        st.sampled_from(
            "ភាខ្មเไာ中文分词第区架的不知道研究生命起源ab9xÉé'’ .,，。_-〇㐀のテキ한국สวั\u0301\u3099\U00020000"
        ),
        st.characters(),
    ),
    max_size=40,
).map(normalise)


class Cutter:
    """Both ways to cut with one dictionary."""

    def __init__(self, user_words: tuple[str | tuple[str, int | None, str | None], ...]) -> None:
        self.compiled = TextReader(dictionary(user_words), NoiseWords())
        self.readable = Segmenter(user_words)

    def check(self, text: str) -> None:
        """Check that both ways give the same words, pairs of words and units."""
        read, found, normalised = self.compiled.read(text), self.compiled.tokens(text), normalise(text)
        tokens = self.readable.all_tokens(said_once(normalised))
        assert found == (normalised, self.readable.all_tokens(normalised), tokens, characters_and_words(normalised))
        assert read.words.tolist() == hash_words(tokens).tolist()
        assert read.pairs.tolist() == hash_words([" ".join(pair) for pair in pairwise(tokens)]).tolist()
        assert read.units.tolist() == hash_words(found.units).tolist()


@pytest.fixture(scope="module", params=[(), USER_WORDS], ids=["own dictionary", "user dictionary"])
def cutter(request: pytest.FixtureRequest) -> Cutter:
    return Cutter(request.param)


@pytest.fixture(scope="module")
def plain() -> TextReader:
    return TextReader(dictionary(), NoiseWords())


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        (" ", []),
        ("，。！…", []),
        ("😀👩‍👩‍👧❤️", []),
        ("\u0301", []),
        ("我们学习中文分词", ["我们", "学习", "中文", "分词"]),
        ("Python3教程第51区", ["python3", "教程", "第", "51", "区"]),
        ("4S店和T恤", ["4s店", "和", "t", "恤"]),
        ("Don't SAY ’twas Pat’s 'idea'", ["don't", "say", "twas", "pat's", "idea"]),
        ("l'été à Montréal", ["l'été", "à", "montréal"]),
        ("café教程", ["café", "教程"]),
        ("x86架构é", ["x86", "架构", "é"]),
        ("it's中文’s", ["it's", "中文", "s"]),
        ("3.14 1,000 snake_case e-mail", ["3", "14", "1", "000", "snake", "case", "e", "mail"]),
        ("日本語のテキスト", ["日本语", "のテ", "テキ", "キス", "スト"]),
        ("〇㐀の", ["〇", "㐀", "の"]),
        ("한국어 웹페이지", ["한국어", "웹페이지"]),
        ("สวัส", ["สวั", "วัส"]),
        ("เป็นการ", ["เป็น", "นกา", "การ"]),
        ("ដើម្បីក្នុង", ["ដើម្បី", "ម្បីក្នុ", "ក្នុង"]),
        ("မြန်မာ", ["မြန်", "န်မာ"]),
        (
            "\u0e9e\u0eb2\u0eaa\u0eb2\u0ea5\u0eb2\u0ea7",
            ["\u0e9e\u0eb2\u0eaa\u0eb2", "\u0eaa\u0eb2\u0ea5\u0eb2", "\u0ea5\u0eb2\u0ea7"],
        ),
        ("мир, Привет", ["мир", "привет"]),
        ("हिन्दी مُحَمَّد", ["हिन्दी", "مُحَمَّد"]),
        ("١٢٣", ["١٢٣"]),
    ],
)
def test_each_script_gives_its_words(plain: TextReader, text: str, tokens: list[str]) -> None:
    assert plain.tokens(text).words == [normalise(token) for token in tokens]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("今天，iphone手机 don't", ["今", "天", "iphone", "手", "机", "don't"]),
        ("ラーメン 한국어 〇", ["ラ", "ー", "メ", "ン", "한국어", "〇"]),
        ("'tis 4s店", ["tis", "4s", "店"]),
        ("\u0301a \u0301 'x\u0301'", ["a", "x\u0301"]),
        ("🎉 … 。", []),
    ],
)
def test_characters_of_unspaced_scripts_are_units(plain: TextReader, text: str, tokens: list[str]) -> None:
    assert plain.tokens(text).units == [normalise(token) for token in tokens]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("the 3 fish and the 3 cats", "the 3 fish and the cats"),
        ("https://a.org/x https://a.org/y", "https a org x y"),
        ("tel 212 tel 415 tel 415 tel", "tel 212 tel 415 tel"),
        ("self.x = self.y; self", "self x y self"),
        ("fish, fish. fish (fish) fish", "fish fish fish fish fish"),
        ("he/she or he", "he she or he"),
        ("2024年5月 2024年5月 ４２ 42", "2024年5月 2024年5月 42"),
        ("中文:a 中文:a a.b a.b", "中文 a 中文 a a b"),
        ("don't.x don't.x", "don't x don't"),
        ("", ""),
    ],
)
def test_numbers_and_parts_of_addresses_count_once(text: str, left: str) -> None:
    reader = TextReader(None, NoiseWords())
    assert reader.tokens(text).featured == reader.tokens(left).units


def test_words_of_a_user_dictionary_come_out_whole_even_where_scripts_mix() -> None:
    reader = TextReader(dictionary(("51区", ("9架", None, "m"))), NoiseWords())
    assert reader.tokens("第51区有9架飞机").words == ["第", "51区", "有", "9架", "飞机"]


def test_without_a_dictionary_the_words_are_the_units() -> None:
    read = TextReader(None, NoiseWords()).read("今天 iphone手机")
    assert read.words.tolist() == read.units.tolist() == hash_words(["今", "天", "iphone", "手", "机"]).tolist()


@given(text=MIXED)
def test_tokens_hold_letters_digits_and_marks_only_and_begin_with_no_mark(plain: TextReader, text: str) -> None:
    tokens = plain.tokens(text).words
    assert all(tokens)
    kept = "".join(tokens)
    assert all(character in kept for character in text if character.isalnum())
    assert not any(character.isspace() for character in kept)


@pytest.mark.parametrize(("character", "tokens"), [("a", 1), ("鱻", 300_000), ("の", 299_999)])
def test_one_character_again_and_again_is_cut(plain: TextReader, character: str, tokens: int) -> None:
    assert len(plain.tokens(character * 300_000).words) == tokens


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
                if document["lang"] != "en" and (checked := checked + 1) % 48 == 0:
                    cutter.check(document["text"])
    assert checked > 2000
