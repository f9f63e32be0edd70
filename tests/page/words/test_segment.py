"""Tokens of every script, mixed text, user dictionaries."""

from __future__ import annotations

import subprocess
import sys
from math import log
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.page.words import segment
from worker.page.words.noise import NoiseWords
from worker.page.words.normalise import normalise
from worker.page.words.segment import Segmenter, characters_and_words, said_once

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


@pytest.fixture(scope="module")
def plain() -> Segmenter:
    return Segmenter()


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
def test_each_script_gives_its_words(plain: Segmenter, text: str, tokens: list[str]) -> None:
    assert plain.all_tokens(normalise(text)) == [normalise(token) for token in tokens]


def test_noise_words_are_left_out_and_can_be_chosen(plain: Segmenter) -> None:
    assert plain.tokens("我们的网页 and the page") == ["网页", "page"]
    assert Segmenter(noise=NoiseWords(frozenset({"page"}))).tokens("the page") == ["the"]
    assert plain.tokens("的 the 和 of") == []


def test_words_of_a_user_dictionary_come_out_whole_even_where_scripts_mix() -> None:
    segmenter = Segmenter(user_words=("51区", ("9架", None, "m")))
    assert segmenter.all_tokens("第51区有9架飞机") == ["第", "51区", "有", "9架", "飞机"]
    assert segmenter.unused_words == ()


def test_user_words_are_normalised_and_those_without_use_are_named() -> None:
    segmenter = Segmenter(user_words=["５１区", "C++语言", "Kubernetes", "阿尔·伯特", ""])
    assert segmenter.all_tokens(normalise("５１区")) == ["51区"]
    assert segmenter.unused_words == ("c++语言", "kubernetes", "阿尔·伯特")


def test_a_user_dictionary_is_a_set_whatever_its_order() -> None:
    one, other = Segmenter(user_words=USER_WORDS), Segmenter(user_words=(*reversed(USER_WORDS), "51区"))
    assert one.name == other.name
    text = normalise("数据库系统的安装程序在云计算平台第51区")
    assert one.all_tokens(text) == other.all_tokens(text)


def test_the_name_tells_rules_apart() -> None:
    names = {
        Segmenter().name,
        Segmenter(hmm=True).name,
        Segmenter(user_words=["51区"]).name,
        Segmenter(user_words=[("51区", 5, None)]).name,
        Segmenter(noise=NoiseWords()).name,
    }
    assert len(names) == 5


def test_the_name_says_which_dictionary_it_was() -> None:
    import jieba

    frequencies, total = jieba.Tokenizer().gen_pfdict(jieba.Tokenizer().get_dict_file())
    assert f"/jieba-{len(frequencies)}-{total}/" in Segmenter(fold_traditional=False).name
    assert segment._loaded(False) == (frequencies, total)


@given(text=MIXED)
def test_cutting_a_whole_text_equals_cutting_word_by_word(plain: Segmenter, text: str) -> None:
    spaced, _ = segment._spaced(text)
    assert plain.all_tokens(text) == [token for word in spaced.split() for token in plain._pieces(word)]


@given(text=MIXED)
def test_tokens_hold_letters_digits_and_marks_only_and_begin_with_no_mark(plain: Segmenter, text: str) -> None:
    tokens = plain.all_tokens(text)
    assert all(tokens)
    letters = [character for character in text if character.isalnum()]
    kept = "".join(tokens)
    assert all(character in kept for character in letters)
    assert not any(character.isspace() for character in kept)


def test_the_dictionary_has_the_words_that_jieba_has() -> None:
    import jieba

    frequencies, total = jieba.Tokenizer().gen_pfdict(jieba.Tokenizer().get_dict_file())
    words = {word: frequency for word, frequency in frequencies.items() if frequency}
    scores = {word: log(frequency) - log(total) for word, frequency in words.items() if segment._USABLE.fullmatch(word)}
    assert segment.dictionary(fold_traditional=False) == (scores, -log(total))


def test_only_with_hmm_words_are_guessed() -> None:
    text = "他来到了网易杭研大厦"  # the example in jieba's own README
    assert "杭研" not in Segmenter().all_tokens(text)
    assert "杭研" in Segmenter(hmm=True).all_tokens(text)


def test_loading_jieba_writes_no_file_and_logs_nothing(tmp_path: Path) -> None:
    code = "from worker.page.words.segment import Segmenter; print(Segmenter().all_tokens('网页'))"
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={"TMPDIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "['网页']\n", "")
    assert list(tmp_path.iterdir()) == []


def test_one_character_a_million_times_is_cut(plain: Segmenter) -> None:
    assert len(plain.all_tokens("a" * 1_000_000)) == 1
    assert len(plain.all_tokens("鱻" * 1_000_000)) == 1_000_000
    assert len(plain.all_tokens("の" * 1_000_000)) == 999_999


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
def test_without_a_dictionary_characters_of_unspaced_scripts_stand_alone(text: str, tokens: list[str]) -> None:
    assert characters_and_words(text) == tokens


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
    assert said_once(normalise(text)) == left
