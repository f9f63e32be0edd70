"""References of any length become characters."""

from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.page.references import unescaped


@given(st.text(st.sampled_from("&#x0189;amplt a")))
def test_short_references_are_those_of_the_standard_library(text: str) -> None:
    assert unescaped(text) == html.unescape(text)


@pytest.mark.parametrize("digits", [4_301, 1_000_000])
def test_a_number_that_python_does_not_convert_is_no_character(digits: int) -> None:
    assert unescaped(f"a&#{'9' * digits};b") == "a\ufffdb"
    assert unescaped(f"a&#{'9' * digits}b") == "a\ufffdb"
    assert unescaped(f"a&#x{'9' * digits};b") == "a\ufffdb"


def test_leading_zeros_say_nothing() -> None:
    assert unescaped(f"&#{'0' * 5_000}65;") == "A"
    assert unescaped(f"&#{'0' * 5_000};") == "\ufffd"
    assert unescaped(f"&#{'0' * 5_000}38;lt;") == "&lt;", "what is unescaped is not unescaped again"
