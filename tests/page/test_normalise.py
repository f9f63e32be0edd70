"""The spelling that equality of texts rests on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.page.normalise import normalise, normalise_by_definition

MIXED = st.text(
    st.one_of(
        st.characters(),
        st.characters(categories=["Mn", "Mc", "Me", "Cf", "Cc", "Zs", "Lm", "Sk", "No"]),
        st.sampled_from("aZß…ﬁΣς İı\u0301\u0345ᄀ가각ᆨ①Ⅷ㎡，。　ｶﾞ\u200b\xad\u3164\ufe0f\ud800\U000e0041"),
    )
)


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("", ""),
        ("  \n\t\u3000\xa0 ", ""),
        ("Ａ１，Ｂ", "a1,b"),
        ("A\r\n\r\n b\u2003c", "a b c"),
        ("Straße ﬁne Σίσυφος", "strasse fine σίσυφοσ"),
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
    ],
)
def test_what_looks_the_same_is_spelled_the_same(text: str, spelled: str) -> None:
    assert normalise(text) == spelled
    assert normalise_by_definition(text) == spelled


@given(MIXED)
def test_the_fast_way_equals_the_definition(text: str) -> None:
    assert normalise(text) == normalise_by_definition(text)


@given(MIXED)
def test_normalising_again_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


def test_the_fast_way_equals_the_definition_for_every_character_alone_and_between_letters() -> None:
    differ = [
        character
        for character in map(chr, range(0x110000))
        if normalise(character) != normalise_by_definition(character)
    ]
    assert not differ
    differ = [
        character
        for character in map(chr, range(0x20400))
        if normalise(f"a{character}가") != normalise_by_definition(f"a{character}가")
    ]
    assert not differ
