"""The spelling that equality of texts rests on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.page.words.normalise import normalise

MIXED = st.text(
    st.one_of(
        st.characters(),
        st.characters(categories=["Mn", "Mc", "Me", "Cf", "Cc", "Zs", "Lm", "Sk", "No"]),
        st.sampled_from("еёиΑj\u0307\u0306\u0300\u0323\u0326 كکیهھبأ\u064e\u0640۵\u200c\u200d"),
        st.sampled_from("രറ\u0d4d\u0d7bरय\u094d\u093c\u09c7\u09be\u200c\u200d"),
        st.sampled_from("นเาำ\u0e4d\u0e49\u0e34\u0e38ກ\u0ecd\u0ec9\u0eb3か\u3099ạòýhoauy\u05f0’`´–"),
        st.sampled_from("aZß…ﬁΣς İı\u0301\u0345άаbс中國ภา ᄀ가각ᆨ①Ⅷ㎡，。　ｶﾞ\u200b\xad\u3164\ufe0f\ud800\U000e0041"),
    )
)


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("", ""),
        ("  \n\t\u3000\xa0 ", ""),
        ("Ａ１，Ｂ", "a1,b"),
        ("A\r\n\r\n b\u2003c", "a b c"),
        ("Straße ﬁne Σίσυφος", "strasse fine σισυφοσ"),
        ("…", "..."),
        ("cafe\u0301", "caf\xe9"),
        ("ｶﾞｷﾞ", "ガギ"),
        ("\u1100\u1161\u11a8", "각"),
        ("zero\u200bwidth so\xadft \u202eturn\u202c \ufeffmark", "zerowidth soft turn mark"),
        ("❤️", "❤"),
        ("a\0b\x07c\x85d", "abc d"),
        ("㍿ ½", "株式会社 1⁄2"),
        ("\ud83d lone", "lone"),
        ("第５１区", "第51区"),
        ("繁體中文網頁，臺灣", "繁体中文网页,台湾"),
        ("Καλημέρα, ΐ ῷ ά\u0301\u05b0", "καλημερα, ι ωι α"),
        ("中文\n  分词\u3000ラー\nメン", "中文分词ラーメン"),
        ("ภาษา\u200b ไทย 中 a 文 b", "ภาษาไทย中 a 文 b"),
        ("한국어 문장", "한국어 문장"),
    ],
)
def test_what_looks_the_same_is_spelled_the_same(text: str, spelled: str) -> None:
    assert normalise(text) == spelled


@pytest.mark.parametrize(
    ("word", "spelled"),
    [
        ("p\u0430ypal", "paypal"),
        ("\u0440\u0430\u0443\u0440\u0430l", "paypal"),
        ("МОСKВА", "москва"),
        ("вс\u00eb", "все"),
        ("всё", "все"),
        ("сор", "сор"),
        ("g\u03bf\u03bfgle", "google"),
        ("κ\u0061λά", "καλα"),
        ("xb\u0430\u0302\u0441y", "xb\u00e2cy"),
        ("5 μm, 3 kΩ", "5 μm, 3 κω"),
        ("нa дa", "ha да"),
        ("usb-порт и wi-fi", "usb-порт и wi-fi"),
        ("щщz", "щщz"),
    ],
)
def test_only_words_of_mixed_script_are_spelled_in_one_where_they_can_be(word: str, spelled: str) -> None:
    assert normalise(word) == spelled


def test_traditional_characters_become_simplified_ones_unless_that_is_switched_off() -> None:
    assert normalise("後來的軟體", fold_traditional=False) == "後來的軟體"
    assert normalise("後來的軟體") == "后来的软体"


@pytest.mark.parametrize(
    ("marks", "left"),
    [
        ("\u0301", 29),  # the first mark is a part of á
        ("\u0316", 30),
        ("\u0316\u200d", 30),
        ("\uff9e", 30),
        ("\u0f79", 90),  # each is three
        ("\u20d0\u034f\U000e0100", 30),
    ],
)
def test_of_marks_in_a_row_thirty_stay(marks: str, left: int) -> None:
    text = normalise(f"a{marks * 50_000}b")
    assert len(text) == left + 2
    assert normalise(text) == text
    assert normalise(f"a{marks * 30}b") == text, "so many are no reason to leave any out"


def test_marks_beyond_the_limit_are_another_text_only_there() -> None:
    most = "a" + "\u0316" * 30
    assert normalise(most + "b") != normalise(most[:-1] + "b")
    assert normalise(f"{most}\u0316b{most}") == f"{most}b{most}"


@given(MIXED)
def test_normalising_again_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)
