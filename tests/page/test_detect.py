"""Old encodings are told apart by what stands in them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.page.old_encodings import ENCODED, TEXTS, encoded
from worker.page.decode import decode
from worker.page.detect import detected, high_bytes, sample_of

PAGE = "<!DOCTYPE html><head><title>{}</title></head><body><div class='the and of to in'><p>{}</p></div></body>"
IDS = [f"{language}-{codec}" for language, codec in ENCODED]
LENGTHS = (100, 150, 200, 1000)
"""Characters. Of sixty the detector takes Turkish for Polish, and Thai for Chinese."""


@pytest.mark.parametrize(("language", "codec"), ENCODED, ids=IDS)
@pytest.mark.parametrize("length", LENGTHS)
def test_a_page_without_a_label_is_read_right(language: str, codec: str, length: int) -> None:
    text = TEXTS[language][:length]
    page = PAGE.format(text[:30], text)
    read = unicodedata.normalize("NFC", decode(encoded(page, codec)).text)
    assert read == page


@pytest.mark.parametrize(("language", "codec"), ENCODED, ids=IDS)
@pytest.mark.parametrize("label", ["utf-8", "iso-8859-1"])
def test_the_labels_that_servers_put_on_all_pages_do_not_hide_the_encoding(
    language: str, codec: str, label: str
) -> None:
    # Slovene text has three letters that are none of windows-1252, and so few decide nothing.
    page = TEXTS[language] * 2
    assert unicodedata.normalize("NFC", decode(encoded(page, codec), [label]).text) == page


@pytest.mark.parametrize("label", ["windows-1251", "big5", "shift_jis", "iso-8859-7", "gb2312", "windows-1250"])
@pytest.mark.parametrize(
    ("language", "codec"),
    [("ru", "koi8-r"), ("zh", "gb18030"), ("zh-tw", "big5hkscs"), ("ja", "euc_jp"), ("ko", "cp949"), ("ar", "cp1256")],
)
def test_a_label_of_another_encoding_is_doubted(language: str, codec: str, label: str) -> None:
    page = TEXTS[language]
    assert decode(encoded(page, codec), [label]).text == page


@pytest.mark.parametrize(("language", "codec"), ENCODED, ids=IDS)
def test_the_right_label_is_believed_however_short_the_text_is(language: str, codec: str) -> None:
    page = TEXTS[language][:25]
    assert unicodedata.normalize("NFC", decode(encoded(page, codec), [codec]).text) == page


@pytest.mark.parametrize(("language", "codec"), [("zh", "gb18030"), ("ja", "cp932"), ("ja", "euc_jp"), ("ko", "cp949")])
@pytest.mark.parametrize("label", [None, "gb2312", "iso-8859-1"])
def test_a_broken_character_does_not_hide_the_encoding(language: str, codec: str, label: str | None) -> None:
    text = TEXTS[language]
    body = b"<p>".join([encoded(text, codec), b"\xff\xff\x80", encoded(text, codec), encoded(text, codec)])
    read = decode(body, [label])
    assert read.encoding == codec
    assert read.text.count(text) >= 2


def test_the_words_of_a_page_tell_letters_of_one_language_from_those_of_another() -> None:
    portuguese = "São nações que não têm razões para a questão".encode("cp1252")
    assert detected(portuguese) == "cp1252"
    # All of these letters are in windows-1252 as well, but for one.
    hungarian = "A könyvtár és az iskola között áll, hogy ne legyen messze; ez a legjobb ebben az időben".encode(
        "cp1250"
    )
    assert detected(hungarian).endswith(("1250", "8859-2"))


def test_of_a_page_only_lines_that_are_not_ascii_are_asked() -> None:
    assert sample_of(b"<p>one</p><p>caf\xe9</p>\nlines\nof \xe9t\xe9 and more<br>") == b"caf\xe9\nof \xe9t\xe9 and more"
    assert high_bytes(b"of \xe9t\xe9") == 2
    assert sample_of(b"") == sample_of(b"all ASCII") == b""


@given(st.binary(max_size=200))
def test_each_sample_has_an_encoding_that_python_has(sample: bytes) -> None:
    assert isinstance(sample.decode(detected(sample), "replace"), str)
