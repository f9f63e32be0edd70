"""References of any length become characters."""

from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.page.references import unescaped, unescaped_value


@given(st.text(st.sampled_from("&#x09;amplt a")))
def test_short_references_are_those_of_the_standard_library(text: str) -> None:
    assert unescaped(text) == html.unescape(text)


def test_of_control_characters_only_those_of_windows_1252_mean_others() -> None:
    assert unescaped("&#1;&#x85;&#x9f&#x81;&#xfdd0;&#xd800;&#x110000;") == "\x01…Ÿ\x81\ufdd0\ufffd\ufffd"


@pytest.mark.parametrize(
    ("written", "value", "text"),
    [
        ("?a=1&copy=2", "?a=1&copy=2", "?a=1©=2"),
        ("&copy", "©", "©"),
        ("&copy2", "&copy2", "©2"),
        ("&copy;=", "©=", "©="),
        ("&notit;", "&notit;", "¬it;"),
        ("&amp;lt;", "&lt;", "&lt;"),
        ("&#38=", "&=", "&="),
        ("&unknown; &", "&unknown; &", "&unknown; &"),
        ("&CounterClockwiseContourIntegral;", "∳", "∳"),
    ],
)
def test_in_values_of_attributes_fewer_references_are_open_ended(written: str, value: str, text: str) -> None:
    assert (unescaped_value(written), unescaped(written)) == (value, text)


@pytest.mark.parametrize("digits", [4_301, 1_000_000])
def test_a_number_that_python_does_not_convert_is_no_character(digits: int) -> None:
    assert unescaped(f"a&#{'9' * digits};b") == "a\ufffdb"
    assert unescaped(f"a&#{'9' * digits}b") == "a\ufffdb"
    assert unescaped(f"a&#x{'9' * digits};b") == "a\ufffdb"


def test_leading_zeros_say_nothing() -> None:
    assert unescaped(f"&#{'0' * 5_000}65;") == "A"
    assert unescaped(f"&#{'0' * 5_000};") == "\ufffd"
    assert unescaped(f"&#{'0' * 5_000}38;lt;") == "&lt;", "what is unescaped is not unescaped again"
