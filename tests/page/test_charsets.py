"""Encodings from their names, and from the bytes."""

from __future__ import annotations

import codecs
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from webencodings.labels import LABELS

from tests.page.old_encodings import ENCODED, TEXTS, encoded
from worker.page.charsets import MOST_HEAD, codec_of, declared_inside, detected, header_charset, high_bytes, sample_of
from worker.page.decode import decode


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("gb2312", "gb18030"),
        ("GBK", "gb18030"),
        ("gb18030", "gb18030"),
        ("big5", "big5hkscs"),
        ("Shift_JIS", "cp932"),
        ("x-sjis", "cp932"),
        ("ks_c_5601-1987", "cp949"),
        ("euc-kr", "cp949"),
        ("iso-8859-1", "cp1252"),
        ("latin1", "cp1252"),
        ("us-ascii", "cp1252"),
        (" ISO-8859-9 ", "cp1254"),
        ("\tlatin5\n", "cp1254"),
        ("iso-8859-11", "cp874"),
        ("iso-8859-8-i", "iso8859-8"),
        ("windows-1251", "cp1251"),
        ("iso-8859-5", "iso8859-5"),
        ("csiso88596e", "iso8859-6"),
        ("koi8-ru", "koi8-u"),
        ("x-mac-ukrainian", "mac_cyrillic"),
        ("UTF8", "utf-8"),
        ("utf-16", "utf-16-le"),
        ("x-user-defined", "cp1252"),
        ("hz-gb-2312", None),
        ("iso-2022-kr", None),
        ("utf-7", None),
        ("idna", None),
        ("rot13", None),
        ("zlib", None),
        ("cp037", None),
        ('latin1"', None),
        ("lat\u0131n1", None),
        ("", None),
        (None, None),
    ],
)
def test_labels_mean_what_browsers_take_them_for(label: str | None, codec: str | None) -> None:
    assert codec_of(label) == codec


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("cp1252", "cp1252"),
        ("latin_1", "cp1252"),
        ("iso8859-15", "iso8859-15"),
        ("iso8859_16", "iso8859-16"),
        ("gb18030", "gb18030"),
        ("cp936", "gb18030"),
        ("big5hkscs", "big5hkscs"),
        ("cp950", "big5hkscs"),
        ("cp932", "cp932"),
        ("euc_jp", "euc_jp"),
        ("iso2022_jp", "iso2022_jp"),
        ("cp949", "cp949"),
        ("cp874", "cp874"),
        ("koi8_r", "koi8-r"),
        ("mac_roman", "mac_roman"),
        ("utf_8", "utf-8"),
        ("utf-16-be", "utf-16-be"),
    ],
)
def test_names_of_python_are_labels_since_crawlers_give_them(name: str, codec: str) -> None:
    assert codec_of(name) == codec


@pytest.mark.parametrize("label", sorted(LABELS))
def test_every_label_of_the_standard_has_a_codec(label: str) -> None:
    codec = codec_of(label.upper())
    assert (codec is None) == (LABELS[label] == "replacement")
    assert codec is None or (codecs.lookup(codec) and codec_of(codec) == codec)


@pytest.mark.parametrize(
    ("content_type", "charset"),
    [
        ("text/html; charset=GBK", "GBK"),
        ('text/html;charset="utf-8"', "utf-8"),
        ("text/html;;charset=utf-8", "utf-8"),
        ("text/html charset=utf-8", "utf-8"),
        ("text/html, text/html; charset=big5", "big5"),
        ("text/html; boundary=x; CHARSET = 'big5'", "big5"),
        ("text/html; x-charset=gbk", None),
        ("text/html; charset=iso_8859-1:1987", "iso_8859-1:1987"),
        ("text/html", None),
        ("text/html; charset=", None),
        ("", None),
        (None, None),
    ],
)
def test_the_charset_of_a_header(content_type: str | None, charset: str | None) -> None:
    assert header_charset(content_type) == charset


@pytest.mark.parametrize(
    ("page", "codec"),
    [
        (b'<meta charset="koi8-r">', "koi8-r"),
        (b"<META CHARSET=koi8-r>", "koi8-r"),
        (b"<meta/charset=koi8-r>", "koi8-r"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">', "koi8-r"),
        (b"<meta content='a;charset = \"koi8-r\" ' HTTP-EQUIV=content-type>", "koi8-r"),
        (b'<?xml version="1.0" encoding="koi8-r"?>', "koi8-r"),
        (b'<?xml version="1.0" encoding="big5"?><meta charset=koi8-r>', "koi8-r"),
        (b"<meta charset=utf-16><meta charset=koi8-r>", "utf-8"),
        (b"<meta charset=no-such><meta charset=koi8-r>", "koi8-r"),
        (b'<meta name=description content="charset=big5"><meta charset=koi8-r>', "koi8-r"),
        (b"<!-- <meta charset=big5> --><meta charset=koi8-r>", "koi8-r"),
        (b"<!--><meta charset=koi8-r>", "koi8-r"),
        (b'<link title="<meta charset=big5>"><meta charset=koi8-r>', "koi8-r"),
        (b"<!-- " + b"x" * 5000 + b" --><meta charset=koi8-r>", "koi8-r"),
        (b"<head></head><body><meta charset=koi8-r>", None),
        (b"</meta charset=koi8-r>", None),
        (b"<meta charset=koi8-r", None),
        (b"<metacharset=koi8-r>", None),
        (b'<meta name=content-type content="charset=koi8-r">', None),
        (b" " * MOST_HEAD + b"<meta charset=koi8-r>", None),
        (b"", None),
    ],
)
def test_what_a_page_declares_stands_in_its_head(page: bytes, codec: str | None) -> None:
    assert declared_inside(page) == codec


def cases_of(path: Path) -> list[tuple[bytes, str]]:
    """Page and encoding of each case in a file of html5lib-tests."""
    parts = path.read_bytes().split(b"#data\n")[1:]
    told = [part.partition(b"\n#encoding\n") for part in parts]
    return [(page, encoding.split(b"\n")[0].decode()) for page, _, encoding in told]


@pytest.mark.data("standards")
def test_pages_of_the_standard_s_tests_are_read_as_browsers_read_them(standards: Path) -> None:
    """All pages without exception. A byte order mark counts before declarations are searched."""
    found = {}
    for path in sorted((standards / "encoding").glob("*.dat")):
        for number, (page, encoding) in enumerate(cases_of(path)):
            codec = "utf-8" if page.startswith(codecs.BOM_UTF8) else declared_inside(page)
            if codec is None and page.isascii():
                codec = "cp1252"
            elif codec is None:
                codec = decode(page).encoding
            found[path.name, number] = codec, codec_of(encoding)
    assert len(found) == 82
    assert {place: pair for place, pair in found.items() if pair[0] != pair[1]} == {}


@given(st.text(alphabet="<>!-/= \"'aeimt\n;").map(str.encode) | st.binary())
def test_no_page_breaks_the_search(page: bytes) -> None:
    declared_inside(b"<meta charset" + page)
    declared_inside(page + b"<meta charset=koi8-r>")


PAGE = "<!DOCTYPE html><head><title>{}</title></head><body><div class='the and of to in'><p>{}</p></div></body>"
IDS = [f"{language}-{codec}" for language, codec in ENCODED]
LENGTHS = (100, 150, 200, 1000)
"""The length of texts in characters. From sixty characters the detector takes Turkish for Polish, and Thai for
Chinese."""


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
    # Slovene text has three letters that are not in windows-1252, too few to decide anything.
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
    # All of these letters except one are in windows-1252 as well.
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
