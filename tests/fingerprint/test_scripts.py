"""Copies stay near in every script, and so do the same words in another spelling; other texts do not."""

from __future__ import annotations

import random

import pytest

from worker.fingerprint.fingerprinted import Fingerprinted
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.fingerprint.near import HAMMING_RATIO, AccurateNear, SimHashNear

FINGERPRINTER = Fingerprinter(Recipe(sketched=True))
NEAR = AccurateNear()

SYLLABLES = {
    "Japanese": (
        "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわをん",
        "",
        "",
    ),
    "Thai": ("กขคงจฉชซญดตถทธนบปผพฟภมยรลวสหอ", "ะาิีึืุู", "่้"),
    "Lao": ("ກຂຄງຈສຊຍດຕຖທນບປຜຝພຟມຢຣລວຫອຮ", "ະາິີຶືຸູ", "່້"),
    "Khmer": ("កខគឃងចឆជឈញដឋឌណតថទធនបផពភមយរលវសហអ", "ាិីុូេែៃោៅ", "់"),
    "Burmese": ("ကခဂဃငစဆဇညတထဒဓနပဖဗဘမယရလဝသဟအ", "ာိီုူေဲ", "်း"),
    "Korean": ("가각간갈감갑강개거건걸검게겨결경계고공과관광교구국군권규그글금급기길김", "", ""),
}
"""Letters, vowels and marks of scripts; words are made of these by chance."""


def words(script: str, chance: random.Random) -> list[str]:
    letters, vowels, marks = SYLLABLES[script]

    def syllable() -> str:
        vowel = chance.choice(vowels) if vowels else ""
        mark = chance.choice(["", *marks])
        return f"{chance.choice(letters)}{vowel}{mark}"

    return ["".join(syllable() for _ in range(chance.randint(1, 3))) for _ in range(400)]


def made(text: str) -> Fingerprinted:
    return FINGERPRINTER.of_text(text, "https://example.org/")


@pytest.mark.parametrize("script", SYLLABLES)
def test_an_edited_copy_is_near_and_another_text_of_the_same_words_is_not(script: str) -> None:
    chance = random.Random(script)
    known = words(script, chance)
    blank = " " if script == "Korean" else ""
    for _ in range(10):
        text, other = (chance.choices(known, k=200) for _ in range(2))
        edited = list(text)
        for place in chance.sample(range(200), 6):
            edited[place] = chance.choice(known)
        assert NEAR(made(blank.join(text)), made(blank.join(edited)))
        assert not NEAR(made(blank.join(text)), made(blank.join(other)))


SIMPLIFIED = (
    "后来我们发现，这个网页的内容与另一个网站上的内容几乎相同，只是标题和日期不一样。编辑说，两个版本都是从同一篇报道改写的，"
    "作者并没有说明资料的来源。为了避免重复，系统会比较每个页面的指纹，并且只保留第一次看到的版本。"
)
TRADITIONAL = (
    "後來我們發現，這個網頁的內容與另一個網站上的內容幾乎相同，只是標題和日期不一樣。編輯說，兩個版本都是從同一篇報道改寫的，"
    "作者並沒有說明資料的來源。為了避免重複，系統會比較每個頁面的指紋，並且只保留第一次看到的版本。"
)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (SIMPLIFIED, TRADITIONAL),
        (SIMPLIFIED, "\n".join(SIMPLIFIED[place : place + 17] for place in range(0, len(SIMPLIFIED), 17))),
        (SIMPLIFIED, " ".join(SIMPLIFIED)),
        (
            "Το κείμενο αυτό είναι ίδιο με το άλλο, και το βρήκαμε χθες",
            "το κειμενο αυτο ειναι ιδιο με το αλλο και το βρηκαμε χθες",
        ),
        ("Log in to paypal again, or lose access", "Log in to p\u0430yp\u0430l \u0430gain, or los\u0435 access"),
        ("Сегодня в Москве открылся новый музей", "Сeгoдня в Mосквe открылся нoвый музeй"),
    ],
)
def test_the_same_words_in_another_spelling_have_the_same_fingerprint(text: str, same: str) -> None:
    one, other = made(text), made(same)
    assert one.text_hash == other.text_hash
    assert one.fingerprint == other.fingerprint is not None


def test_traditional_characters_can_be_kept_apart() -> None:
    apart = Fingerprinter(Recipe(fold_traditional=False, sketched=True))
    one, other = (apart.of_text(text, "https://example.org/") for text in (SIMPLIFIED, TRADITIONAL))
    assert one.text_hash != other.text_hash
    assert not SimHashNear(3, HAMMING_RATIO)(one, other)


def test_what_is_written_without_its_blanks_in_a_script_that_has_them_is_another_text() -> None:
    text = "Log in to the page again, or lose access"
    assert not NEAR(made(text), made(text.replace(" ", "")))
