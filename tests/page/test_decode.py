"""Every way in which a page's encoding can be declared wrongly, or not at all."""

from __future__ import annotations

import codecs
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fingerprint.definition.segment import characters_and_words
from worker.page.decode import UndecodableError, decode, is_plain_utf8, json_text

CHINESE = "网页的编码检测是一个老问题，我们看一看这个程序能不能分辨出来。这里还有更多的文字，以便统计。"
TRADITIONAL = "網頁的編碼檢測是一個老問題，我們看一看這個程式能不能分辨出來。這裡還有更多的文字，以便統計。"
JAPANESE = "日本語のウェブページの文字コードを判定するのは昔からの問題です。もっと文字が必要かもしれません。"
KOREAN = "한국어 웹페이지의 인코딩을 판별하는 것은 오래된 문제입니다. 그래서 여기에 글자를 더 적어 둡니다."
RUSSIAN = "Кодировка веб-страниц — старая проблема, которую надо решать автоматически."
FRENCH = "L’été à Montréal était très chaud – déjà vu, naïve café, œuvre"
TEXTS = {
    "gb18030": CHINESE,
    "big5hkscs": TRADITIONAL,
    "cp932": JAPANESE,
    "euc_jp": JAPANESE,
    "cp949": KOREAN,
    "utf-8": CHINESE,
    "utf-16-le": CHINESE,
    "utf-16-be": JAPANESE,
    "cp1252": FRENCH,
}


@pytest.mark.parametrize(
    ("codec", "text", "label"),
    [
        (codec, text, label)
        for codec, text in TEXTS.items()
        for label in (None, "utf-8", "iso-8859-1", "gb2312", "big5", "no-such-label", "utf-16")
        # An accent and a letter are also a rare Chinese character: only the label can tell.
        if not (codec == "cp1252" and label in ("gb2312", "big5"))
    ],
)
@pytest.mark.parametrize("markup", ["{}", "<html><head><title>A page</title></head><body><p>{}</p></body></html>"])
def test_text_is_read_right_whatever_it_is_said_to_be(codec: str, text: str, label: str | None, markup: str) -> None:
    page = markup.format(text)
    assert decode(page.encode(codec), [label]) == (page, codec)


@pytest.mark.parametrize(
    ("mark", "codec"),
    [(codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")],
)
def test_a_byte_order_mark_beats_every_label_and_is_no_text(mark: bytes, codec: str) -> None:
    assert decode(mark + CHINESE.encode(codec), ["gbk"]) == (CHINESE, codec)


@pytest.mark.parametrize("text", ["plain words, nothing else", "<p>a page</p>\n", CHINESE, KOREAN, RUSSIAN])
@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf16_needs_no_mark(text: str, codec: str) -> None:
    assert decode(text.encode(codec)) == (text, codec)


def test_the_header_counts_before_the_crawler_and_both_before_the_page() -> None:
    # Single characters of these bytes exist in each of the encodings, so nothing but the label decides.
    body = b'<meta charset="windows-1253">' + bytes([0xE9, 0x20, 0xE8])
    assert decode(body, ["windows-1251", "windows-1250"]).encoding == "cp1251"
    assert decode(body, [None, "windows-1250"]).encoding == "cp1250"
    assert decode(body, [None, None]).encoding == "cp1253"


def test_the_page_declares_its_encoding() -> None:
    page = '<meta charset="koi8-r">' + "мир"
    assert decode(page.encode("koi8-r")) == (page, "koi8-r")


@pytest.mark.parametrize("label", [None, "utf-8", "gbk", "iso-8859-1"])
def test_utf8_with_a_few_bad_bytes_stays_utf8(label: str | None) -> None:
    broken = CHINESE.encode().replace("老".encode(), b"\xe8\x80", 1)
    assert decode(broken, [label]) == (CHINESE.replace("老", "\ufffd"), "utf-8")


def test_utf8_cut_in_the_middle_of_a_character_stays_utf8() -> None:
    assert decode(CHINESE.encode()[:-1]).encoding == "utf-8"


_EDGES = b"a\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe1\xec\xed\xee\xef\xf0\xf1\xf3\xf4\xf5\xff"


@given(
    st.lists(st.sampled_from(_EDGES), max_size=8).map(bytes)
    | st.text(st.characters(codec="utf-8", exclude_characters="\x1b"), max_size=80).map(str.encode)
)
def test_utf8_is_what_python_decodes(body: bytes) -> None:
    try:
        told = "\0" not in body.decode() and not body.startswith(codecs.BOM_UTF8)
    except UnicodeDecodeError:
        told = False
    assert is_plain_utf8(body) == told


def test_nuls_are_left_out() -> None:
    assert decode(b"a\0b").text == "ab"
    assert decode(f"{FRENCH}\0{FRENCH}".encode("cp1252")).text == FRENCH * 2


@pytest.mark.parametrize("count", [1, 100, 101, 20_000])
@pytest.mark.parametrize("codec", ["utf-8", "cp1252"])
def test_nuls_behind_a_text_are_left_out(codec: str, count: int) -> None:
    assert decode(FRENCH.encode(codec) + bytes(count)) == (FRENCH, codec)


@pytest.mark.parametrize("label", ["iso-2022-jp", None, "utf-8"])
def test_iso_2022_jp_is_told_by_its_escape_sequences(label: str | None) -> None:
    body = JAPANESE.encode("iso2022_jp")
    assert decode(body, [label]) == (JAPANESE, "iso2022_jp_ext")
    assert decode(b"the prompt is \x1b$ here").encoding == "utf-8"


@pytest.mark.parametrize("label", ["iso-2022-jp", None, "utf-8"])
@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (b"\x1b$B\x2d\x21\x2d\x6a\x1b(B", "①㈱"),
        (b"\x1b$B\x7c\x62\x79\x21\x1b(B", "髙纊"),
        (b"\x1b$B\x30\xff\x1b(B", "\ufffd"),
        (b"\x1b$B\x29\x21\x1b(B", "\ufffd"),
        (b"\xff<p>", "\ufffd<p>"),
    ],
)
def test_iso_2022_jp_is_read_as_in_browsers(damage: bytes, text: str, label: str | None) -> None:
    assert decode(JAPANESE.encode("iso2022_jp") + damage, [label]) == (JAPANESE + text, "iso2022_jp_ext")


def test_utf8_with_an_escape_sequence_is_utf8() -> None:
    body = f"\x1b$B{'Fm' * 99}\x1b(B \u00e9".encode()
    assert is_plain_utf8(body) and decode(body).encoding == "utf-8"


FOOTER = "Été réservé à côté"


@pytest.mark.parametrize("label", [None, "utf-8", "iso-8859-1"])
@pytest.mark.parametrize(
    ("text", "stray", "codec"),
    [
        (FRENCH * 2, FOOTER, "cp1252"),
        (FRENCH, FRENCH[:30], "cp1252"),
        (CHINESE, FOOTER, "cp1252"),
        (CHINESE, CHINESE[:20], "gb18030"),
        (RUSSIAN * 2, RUSSIAN[:30], "cp1251"),
        (JAPANESE, JAPANESE[:40], "cp932"),
        (KOREAN, KOREAN[:20], "cp949"),
    ],
)
def test_lines_of_another_encoding_do_not_hide_that_a_page_is_utf8(
    text: str, stray: str, codec: str, label: str | None
) -> None:
    body = f"<p>{text}</p>".encode() + f"<footer>{stray}</footer>".encode(codec)
    assert decode(body, [label]) == (f"<p>{text}</p><footer>{stray}</footer>", "utf-8")


@pytest.mark.parametrize("label", [None, "utf-8", "iso-8859-1"])
def test_a_line_of_utf8_in_a_western_page_is_read_as_such(label: str | None) -> None:
    body = f"<p>{FRENCH * 3}</p>".encode("cp1252") + f"<footer>{FOOTER}</footer>".encode()
    assert decode(body, [label]).text == f"<p>{FRENCH * 3}</p><footer>{FOOTER}</footer>"


def test_a_single_accent_is_western() -> None:
    assert decode(b"<p>in the caf\xe9 of the old town</p>") == ("<p>in the café of the old town</p>", "cp1252")
    assert decode("<p>in the café of the old town</p>".encode()).encoding == "utf-8"


def test_control_characters_say_that_a_part_of_iso_8859_is_a_windows_code_page() -> None:
    polish = "święty źrebak śpi, ślimak pełznie po ścianie, śnieg leży"
    assert decode(polish.encode("cp1250"), ["iso-8859-2"]).text == polish


def test_bytes_of_no_text_are_refused() -> None:
    with pytest.raises(UndecodableError, match="control bytes"):
        decode(bytes(range(256)) * 20)


@given(st.text().map(lambda text: text.replace("\0", "").removeprefix("\ufeff")))
def test_utf8_comes_back_as_it_was(text: str) -> None:
    body = text.encode(errors="ignore")
    assert decode(body, ["windows-1251"]) == (body.decode(), "utf-8")


@given(st.binary(), st.sampled_from([None, "gbk", "shift_jis", "utf-16", "latin1", "utf-8"]))
def test_any_bytes_are_text_or_refused(body: bytes, label: str | None) -> None:
    try:
        text, codec = decode(body, [label])
    except UndecodableError:
        return
    assert codecs.lookup(codec)
    assert "\0" not in text


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r'{"title": "\u6e21\u53e3"}', '{"title": "渡口"}'),
        (r'{"a": "caf\u00e9"}', '{"a": "café"}'),
        (r'["\ud83d\ude00"]', '["😀"]'),
        (r'["\ud83d"]', '["\ufffd"]'),
        (r'["one\ntwo\tthree"]', '["one\ntwo\tthree"]'),
        (r'["\\u0041 is written \"A\" and \/"]', '["\\u0041 is written "A" and /"]'),
        (r'["\u003cp\u003eHTML\u003c/p\u003e"]', '["<p>HTML</p>"]'),
        (r'"a string\u0021"', '"a string!"'),
        ('{"a": 1}\n{"a": "\\u00e9"}\n', '{"a": 1}\n{"a": "é"}\n'),
        ('\x1e{"a": 1}\n', '\x1e{"a": 1}\n'),
        ("[" + "9" * 5000 + "]", "[" + "9" * 5000 + "]"),
        ("[" * 100_000 + "]" * 100_000, "[" * 100_000 + "]" * 100_000),
        (r'{"cut": "in the m\u00ef', '{"cut": "in the mï'),
        ('{"cut": "at \\', '{"cut": "at \\'),
        ("", ""),
    ],
    ids=lambda value: value[:20],
)
def test_escapes_are_read(source: str, text: str) -> None:
    assert json_text(source) == text


@pytest.mark.parametrize("text", ["words", "{a: 1}", "// comment\n{}", "[1] see below", '{"a": NaN}', ")]}',\n{}"])
def test_what_is_no_json_is_none(text: str) -> None:
    assert json_text(text) is None


@given(VALUES)
def test_two_spellings_of_one_value_have_the_same_words(value: object) -> None:
    spelled = [json.dumps(value, ensure_ascii=ascii, indent=indent) for ascii in (True, False) for indent in (None, 2)]
    words = [characters_and_words((json_text(one) or "").replace("\ufffd", " ")) for one in spelled]
    whole = "".join(spelled).encode(errors="replace").decode() == "".join(spelled)
    assert words[0] == words[1]
    if whole:
        assert words[0] == words[2] == words[3]
