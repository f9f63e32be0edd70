"""The compiled steps compared with the readable ones, on ordinary and on odd text."""

from __future__ import annotations

import json
import lzma
from dataclasses import replace
from functools import cache
from itertools import cycle, islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fingerprint.definition.fingerprint import Definition
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.fingerprint.hashing import hash_words
from worker.fingerprint.key import Key

URL = "https://example.org/a"
KEY = Key.of(b"the secret of a test")
RECIPE = Recipe(sketched=True, user_words=("51区", "9架"))
RECIPES = {
    "without a key": RECIPE,
    "with a key": replace(RECIPE, key=KEY),
    "traditional characters": replace(RECIPE, fold_traditional=False),
}


@cache
def both(name: str) -> tuple[Fingerprinter, Definition]:
    """Both ways with this recipe."""
    return Fingerprinter(RECIPES[name]), Definition(RECIPES[name])


@pytest.fixture
def plain() -> Fingerprinter:
    return both("without a key")[0]


def check(text: str, name: str) -> None:
    """Check that both ways give the same result."""
    compiled, readable = both(name)
    assert compiled.of_text(text, URL) == readable.of_text(text, URL)


ODD = {
    "nothing": "",
    "blanks": " \n\t\u200b",
    "emoji only": "🎉🐟🎈" * 50,
    "punctuation only": "。，！…—" * 30,
    "digits only": "0123456789 42 " * 40,
    "one character": "啊" * 3000,
    "one letter": "a" * 3000,
    "one long word and others": "x" * 500 + " fish " + "飞碟" * 20 + "y" * 129 + " " + "z" * 128,
    "two long words side by side": "a" * 100 + " " + "b" * 100 + " fish water",
    "right to left": "שלום עולם, זהו מבחן قصير للنص العربي الطويل نسبيا " * 5,
    "Thai": "ภาษาไทยไม่มีการเว้นวรรคระหว่างคำ " * 5,
    "Japanese": "日本語の文章も、きちんと処理できます。カタカナとｶﾅも々。" * 5,
    "Korean": "한국어 문장도 됩니다. 띄어쓰기가 있습니다. " * 5,
    "Hangul in pieces": "\u1112\u1161\u11ab\u1100\u116e\u11a8 text",
    "Hindi": "हिन्दी में एक छोटा सा वाक्य है " * 5,
    "marks first": "\u0301a \u0301 中\u0301b 'x\u0301' \u0301'y",
    "apostrophes": "don't 'quoted' rock’n’roll ’ l’été 中'文 a''b",
    "letters of other languages beside Chinese": "café教程 naïve方法 iphone15手机 Ⅷ章 ①②③ ㎏",
    "words of Chinese and ASCII": "4s店在1号店 江南style a1店4s 51区有9架飞碟 x4s店",
    "what becomes several": "ﷺ ﬁne … ½ ㍿ ǅ ß İstanbul ﷺﷺﷺ",
    "rare ideographs": "〇㐀𠀀𠀁中𪚥文 々〆",
    "NULs, soft hyphens and a torn emoji": "a\0b sof\u00adt \ud83d torn \udc00 中\u200b文",
    "full width": "ＦＵＬＬ\u3000ＷＩＤＴＨ，ｔｅｘｔ",
    "traditional": "這個網頁的內容與於來對從後時過讓給並們裡嗎沒雖應",
    "mixed": "苹果发布iPhone 15，售价5999元起；Apple Watch Series 9同步上市。",
    "Greek": "Καλημέρα, αυτό είναι ένα μικρό κείμενο και δεν είναι για όλους. " * 4,
    "Polish and a little English": "To jest tekst, który nie jest długi, ale ma słowa. the fish is in the water " * 4,
    "letters of another script": "p\u0430ypal и привeт, g\u03bf\u03bfgle und всё " * 4,
    "Chinese in lines": "这是一行中文\n而这是下一行\n還有第三行 a\n" * 4,
    "Khmer": "ភាសាខ្មែរមិនមានចន្លោះរវាងពាក្យទេ និងនៅក្នុងប្រទេស " * 4,
    "Burmese": "မြန်မာဘာသာစကားသည် တရားဝင်ရုံးသုံးဘာသာစကားဖြစ်သည် " * 4,
    "Lao": "ພາສາລາວເປັນພາສາທີ່ໃຊ້ໃນປະເທດລາວ " * 4,
    "addresses": "see https://www.example.org/a_b?id=7&x=y 42 42 tel 42 tel 43 (a.b) 中文/a a/b/ //c/ d. /e " * 4,
    "noise words only": "的 the and of 了 是 to be or not to be",
}


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", ODD)
def test_odd_texts_come_to_the_same(recipe: str, name: str) -> None:
    check(ODD[name], recipe)


pieces = st.sampled_from(
    [
        *"的一是了在人中国店区架飞碟外星aB9 '’-。，\n\u0301éßⅧラーภा한〇𠀀🎉…ﷺ\0",
        "4s店",
        "研究生命",
        "起源",
        "the ",
        "fish ",
        "a.b/",
        " 42 ",
        "://",
        " tel ",
        " не и что ",
        " это рыба ",
        "p\u0430y",
        "ខ្មែ",
        "เป็น",
        "個國",
        "51区",
    ]
)


@settings(max_examples=80, deadline=None)
@given(st.lists(pieces, max_size=60).map("".join), st.sampled_from(list(RECIPES)))
def test_any_text_comes_to_the_same(text: str, recipe: str) -> None:
    check(text, recipe)


@pytest.mark.parametrize("name", ["emoji only", "punctuation only", "blanks", "nothing"])
def test_texts_without_a_token_have_no_fingerprint_and_are_alike_only_if_they_are_the_same(
    name: str, plain: Fingerprinter
) -> None:
    made, other = (plain.of_text(ODD[name] + more, URL + more) for more in ("", "?"))
    assert made.fingerprint is None
    assert (made.sketch, made.bands, made.tokens) == (b"", b"", 0)
    assert made.text_hash != other.text_hash


@pytest.mark.parametrize(
    "text", ["啊" * 3_000_000, "a" * 8_000_000, "ab " * 2_000_000, "🎉" * 2_000_000, "ﷺ" * 300_000]
)
def test_texts_of_millions_of_characters_are_read(text: str, plain: Fingerprinter) -> None:
    made = plain.of_text(text, URL)
    assert (made.fingerprint is None) == bool(made.reason)


@pytest.mark.data
def test_real_pages_come_to_the_same(labelled_sets: list[Path]) -> None:
    recipes = cycle(RECIPES)
    for folder in labelled_sets:
        with lzma.open(folder / "docs.jsonl.xz", "rt", encoding="utf-8") as lines:
            for line in islice(lines, 0, None, 130):
                check(json.loads(line)["text"], next(recipes))


@pytest.mark.parametrize("name", ODD)
def test_words_for_people_are_those_that_are_hashed(name: str) -> None:
    for recipe, by in RECIPES.items():
        compiled, key = both(recipe)[0], by.key
        read, tokens = compiled.reader.read(ODD[name]), compiled.reader.tokens(ODD[name])
        assert hash_words(tokens.featured, key=key.features if key else None).tolist() == read.words.tolist()
        assert hash_words(tokens.units, key=key.tokens if key else None).tolist() == read.units.tolist()
        assert tokens.spelled == compiled.reader.spelled(ODD[name])
        assert set(tokens.featured) == set(tokens.words)
