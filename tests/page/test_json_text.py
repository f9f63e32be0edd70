"""Strings of JSON as they are meant, whatever JSON they stand in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fingerprint.definition.segment import characters_and_words
from worker.page.json_text import json_text

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
