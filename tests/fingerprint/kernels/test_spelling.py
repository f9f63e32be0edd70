"""Compiled spelling against ``normalise``, and the count of scripts by definition."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fingerprint.definition.segment import language
from tests.fingerprint.test_text_reader import ODD
from worker.fingerprint.kernels import spelling
from worker.fingerprint.text_reader import TextReader, _tables
from worker.page.words.noise import NoiseWords
from worker.page.words.normalise import normalise
from worker.page.words.scripts import code_points

READER = TextReader(None, NoiseWords())
signs = st.sampled_from(
    "еёиا\u064eکھب۵\u200c\u200dന\u0d4dറ\u0d7bर\u093c\u09c7\u09beน\u0e4d\u0e49\u0e38ำạòahy\u0309\u0307\u0326か\u3099’ı"
    "абсoάμ國ภเ\u17d2កaÀé e\u0301\u0323 ﬁﷺ½㍿ﾊﾟｶﾞ한\u1112\u1161\u11abＡ\u3000 \n\t\u200b\u00ad\0\ud83dς İßǅ中\U00020000🎉"
)


@pytest.mark.parametrize("name", ODD)
def test_odd_texts_are_spelled_as_by_definition(name: str) -> None:
    assert READER.read(ODD[name]).spelled.tolist() == code_points(normalise(ODD[name])).tolist()


@settings(deadline=None)
@given(st.text(signs | st.characters(), max_size=60))
def test_any_text_is_spelled_as_by_definition_and_has_its_language(text: str) -> None:
    read = READER.read(text)
    assert read.spelled.tolist() == code_points(normalise(text)).tolist()
    assert read.language() == language(normalise(text))


@pytest.mark.parametrize(
    "text",
    [
        "यह हिन्दी में लिखा गया एक छोटा वाक्य है, क्\u200dया आप पढ़ सकते हैं? \u0958लम",
        "প্রতিবেদনে বলা হয়েছে, কৌশল নিয়ে আলোচনা হঠাৎ বন্ধ হয়েছে",
        "എന്റെ അവൻ മലയാളം കൊണ്ട് പോയി",
        "น้ำทะเลและทำให้ห้องขายตั๋วไม่มีหลังคาที่เก่าแล้ว",
        "قَرَّرَ مَجْلِسُ المَدِينَةِ إِعَادَةَ بِنَاءِ المَرْسَى؛ می\u200cروم ۱۲ کھا ھے",
        "בְּרֵאשִׁית בָּרָא אֱלֹהִים צה״ל ג׳ירפה בית־ספר",
        unicodedata.normalize("NFD", "Hội đồng quyết định xây dựng lại bến tàu, thủy điện và văn hóa"),
        unicodedata.normalize("NFD", "Où est l'école ? Żółta łódź, Ελλάδα, мой ёж, ガイド"),
        "İstanbul'da ISPARTA’dan ışık, o\u02bbzbek, ọ\u0300rọ̀, за\u0301мок",
    ],
)
def test_texts_with_marks_are_spelled_in_compiled_steps(text: str) -> None:
    room = np.empty(2 * len(text) + 40, np.uint32)
    length, _ = spelling.spell(code_points(text), *_tables(True)[:7], room)
    assert length > 0
    assert READER.read(text).spelled.tolist() == code_points(normalise(text)).tolist()


@pytest.mark.parametrize("text", ["ﷺ" * 1000, " " * 5000 + "a", "a" + " " * 5000, "㍿" * 3 + "a" * 5000])
def test_what_becomes_far_longer_or_shorter_has_room(text: str) -> None:
    assert READER.read(text).spelled.tolist() == code_points(normalise(text)).tolist()


def test_every_character_is_spelled_as_by_definition_alone_and_between_letters() -> None:
    characters = list(map(chr, (*range(0x20400), *range(0x30000, 0x110000, 61), *range(0xE0000, 0xE0200))))
    marks = [character for character in characters if unicodedata.category(character).startswith("M")]
    pieces = [f"{character} a{character}가" for character in characters]
    rows = [" ".join(pieces[begin : begin + 64]) for begin in range(0, len(pieces), 64)]
    assert len(marks) > 2000
    differ = [text for text in (*marks, *rows) if READER.spelled(text) != normalise(text)]
    assert not differ
