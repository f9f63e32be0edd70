"""Styles that hide elements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.page.elements.markup import MARK, parse
from worker.page.elements.styles import mark_of_style
from worker.page.elements.vocabulary import MARKED_FOLDED, MARKED_HIDDEN, MARKED_SIZED, MARKED_SIZELESS


def mark_of(style: str) -> int:
    """The mark of a whole style."""
    body = np.frombuffer(bytearray(style.encode()), dtype=np.uint8)
    return int(mark_of_style(body, 0, len(body)))


@pytest.mark.parametrize(
    "style",
    [
        "display:none",
        "color: red; DISPLAY : none",
        "/* a;b */display/**/:/**/none/**/",
        "display:none!important;display:block",
        "display:block;display:none;",
        "background:url(a;b:c);display:none",
        "content:';';display:none",
        'font-family:"a;\\";b";display:none',
        "font-family:&quot;A&quot;;display:none",
        "visibility:hidden",
        "visibility: collapse",
        "content-visibility:hidden",
        "position:absolute;left:-9999px",
        "left:-999em;position:fixed",
        "top:-5000px;position:absolute;left:0",
    ],
)
def test_what_is_not_displayed_or_out_of_sight_is_hidden(style: str) -> None:
    assert mark_of(style) == MARKED_HIDDEN


@pytest.mark.parametrize(
    "style",
    [
        "",
        "display",
        "display:",
        ":none",
        "none",
        "display:none;display:block",
        "display:none;display:block!important",
        "display: block; list-style: none",
        "content:'display:none'",
        "content:';display:none'",
        "/*display:none",
        "(display:none",
        "--x-display:none",
        "display-x:none",
        "visibility:visible",
        "content-visibility:auto",
        "opacity:0",
        "left:-9999px",
        "text-indent:-9999px",
        "position:relative;left:-9999px",
        "position:absolute;left:-100%",
        "position:absolute;left:-40px",
        "width:0",
        "width:0.5em;overflow:hidden",
        "color:transparent",
    ],
)
def test_what_shows_or_what_scripts_undo_is_not_hidden(style: str) -> None:
    assert mark_of(style) == 0


@pytest.mark.parametrize(
    "style",
    [
        "visibility:hidden;opacity:0",
        "height:0;visibility:hidden",
        "height:0;overflow:hidden",
        "overflow:clip;max-width:0px",
    ],
)
def test_what_scripts_unfold_or_fade_in_is_folded(style: str) -> None:
    assert mark_of(style) == MARKED_FOLDED


def test_only_what_stands_in_a_line_is_hidden_by_being_folded() -> None:
    page = "<span style='width:0;overflow:hidden'>a</span><div style='height:0;overflow:hidden'>b</div>"
    marks = parse(page).elements[1:, MARK].tolist()
    assert [mark & MARKED_HIDDEN for mark in marks] == [MARKED_HIDDEN, 0]


@pytest.mark.parametrize(
    ("style", "mark"),
    [
        ("font-size:0", MARKED_SIZELESS),
        ("FONT-SIZE: 0px", MARKED_SIZELESS),
        ("font-size:.0em", MARKED_SIZELESS),
        ("font-size:00.00%", MARKED_SIZELESS),
        ("font-size:0!important", MARKED_SIZELESS),
        ("font:0/0 a", MARKED_SIZELESS),
        ("font:0 / 0 a", MARKED_SIZELESS),
        ("font: italic 700 0px/1 serif", MARKED_SIZELESS),
        ("font-size:12px;font:0/0 a", MARKED_SIZELESS),
        ("font:0/0 a;font-size:12px", MARKED_SIZED),
        ("font-size:0.1em", MARKED_SIZED),
        ("font-size:10px", MARKED_SIZED),
        ("font-size:var(--0)", MARKED_SIZED),
        ("font: 700 14px/0 serif", MARKED_SIZED),
        ("font:caption", MARKED_SIZED),
        ("font-size:0;font-size:1rem", MARKED_SIZED),
        ("font-family:a0", 0),
        ("line-height:0", 0),
    ],
)
def test_letters_have_a_size_or_none(style: str, mark: int) -> None:
    assert mark_of(style) == mark


@given(st.text(st.sampled_from("display:none;font/**/-size0.(\"')!\\ px\n")))
def test_any_style_is_read_to_its_end(style: str) -> None:
    assert mark_of(style) in (0, MARKED_FOLDED, MARKED_HIDDEN, MARKED_SIZED, MARKED_SIZELESS)
