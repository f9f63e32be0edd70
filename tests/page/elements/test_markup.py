"""Tags and text as real pages have them: missing end tags, quotes of all kinds, comments, broken ends."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from worker.page.elements.markup import MARK, NAME, PARENT, SHAPE, parse
from worker.page.elements.parsed import FROM, OF, OWNER, TO
from worker.page.elements.vocabulary import (
    EMPTY,
    HAS_ADDRESS,
    MARKED_ASIDE,
    MARKED_COMMENTS,
    MARKED_CONSENT,
    MARKED_HIDDEN,
    MARKED_MAIN,
    MARKED_POST,
    MARKED_ROLE,
    MARKED_SIGNATURE,
    MARKED_TAB,
    MARKED_WEAKLY,
    hash_of,
)

NAMES = (
    *("html", "head", "body", "title", "div", "p", "a", "b", "i", "span", "pre", "section", "h1", "h2", "button"),
    *("ul", "li", "dl", "dt", "dd", "table", "tr", "td", "th", "custom-part"),
    *("link", "img", "textarea", "script", "base", "meta", "select", "option", "optgroup", "ruby", "rb", "rt", "rp"),
    *("thead", "tbody", "caption", "template", "svg", "g", "foreignobject", "style", "math", "mi", "plaintext", "xmp"),
    *("iframe", "noembed"),
)
ATTRIBUTE_OF = {hash_of(name): name for name in ("rel", "href", "src", "alt", "data-src", "readonly", "type")}
ATTRIBUTE_OF |= {hash_of(name): name for name in ("name", "content", "")}
NAME_OF = {hash_of(name): name for name in NAMES} | {0: "", EMPTY: "CDATA"}


def outline(markup: str) -> list[str]:
    """Each run of text that is more than white space, behind the names of the elements around it."""
    body, elements, runs, _ = parse(markup)
    lines = []
    for run in runs:
        text = bytes(body[run[FROM] : run[TO]]).decode().strip()
        path, row = [], int(run[OWNER])
        while row > 0:
            path.append(NAME_OF[int(elements[row, NAME])])
            row = int(elements[row, PARENT])
        if text:
            lines.append(" ".join([*reversed(path), text]))
    return lines


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<div><p>one</p>two</div>three", ["div p one", "div two", "three"]),
        ("<DIV><P>one</p></Div>", ["div p one"]),
        ("<p>one<p>two<div>three", ["p one", "p two", "div three"]),
        ("<p>one<b>two<p>three", ["p one", "p b two", "p three"]),
        ("<ul><li>one<li>two<ul><li>in</ul>two</ul>", ["ul li one", "ul li two", "ul li ul li in", "ul li two"]),
        ("<ul><li><p>one<li>two</ul>", ["ul li p one", "ul li two"]),
        ("<dl><dt>one<dd>two<dt>three</dl>", ["dl dt one", "dl dd two", "dl dt three"]),
        ("<table><tr><td>one<td>two<tr><th>three</table>", ["table tr td one", "table tr td two", "table tr th three"]),
        ("<table><td><table><td>in<td>in</table>out", ["table td table td in", "table td table td in", "table td out"]),
        ("<table><td>one</div>two</table>", ["table td one", "table td two"]),
        ("<div><b>one</div>two</b>", ["div b one", "two"]),
        ("<button><div>one</button>two", ["button div one", "two"]),
        ("<b><div>one</b>two</div>", ["b div one", "b div two"]),
        ("<a href=x>one<a href=y>two</a>three", ["a one", "a two", "three"]),
        ("<div><br>one<hr>two<img src=x>three</div>", ["div one", "div two", "div three"]),
        ("<div/>one", ["div one"]),
        ("<custom-part/>one<i/>two", ["custom-part one", "custom-part i two"]),
        ("</p></div>one", ["one"]),
        ("<html><head><title>a <b> c</title><body>one", ["html head title a <b> c", "html body one"]),
        ("<script>if (a<b) '</div>'</SCRIPT >one", ["one"]),
        ("<style>p {}</style>one", ["one"]),
        ("<script>never closed", []),
        ("one<!-- two > three -->four", ["one", "four"]),
        ("<!-->one<!--->two--><!doctype html>three<?php 1 ?>four", ["one", "two-->", "three", "four"]),
        ("<!-- never closed", []),
        ("<i><![CDATA[one]]></i>", []),
        ("1 < 2 <3 <p>four<", ["1 < 2 <3", "p four<"]),
        ("<p title='a>b' class=\"c>d\" e=f>one", ["p one"]),
        ("<p title = 'a'b>one", ["p one"]),
        ("<p =>one", ["p one"]),
        ("<p title='never closed>one", []),
        ("one<p", ["one"]),
        ("<>one</>two", ["<>one", "two"]),
        ("", []),
    ],
)  # fmt: skip
def test_a_page_is_read_as_a_browser_would_read_it(markup: str, expected: list[str]) -> None:
    assert outline(markup) == expected


@pytest.mark.parametrize(
    ("attributes", "mark"),
    [
        ("", 0),
        ("class=nav", MARKED_ASIDE),
        ("class='page NAV wide'", MARKED_ASIDE),
        ("id=side-nav_1", MARKED_ASIDE),
        ("id=siteFooter", MARKED_ASIDE),
        ("class=canvas", 0),
        ("class=commentary", 0),
        ("class=post-comments", MARKED_COMMENTS | MARKED_POST),
        ("id=forum-12 class=signature", MARKED_POST | MARKED_SIGNATURE),
        ("class=text-widget", MARKED_WEAKLY),
        ("role=navigation", MARKED_ROLE),
        ("role=main", MARKED_MAIN),
        ("class=gdpr-consent", MARKED_ASIDE | MARKED_CONSENT),
        ("role=tabpanel", MARKED_TAB),
        ("class=tab-pane", MARKED_TAB),
        ("class=main", 0),
        ("class=jammer", MARKED_HIDDEN),
        ("hidden", MARKED_HIDDEN),
        ("hidden=hidden", MARKED_HIDDEN),
        ("hidden=until-found", 0),
        ("aria-hidden=true", MARKED_HIDDEN),
        ("aria-hidden=false", 0),
        ("popover", MARKED_HIDDEN),
        ("popover=manual", MARKED_HIDDEN),
        ("style='color: red; DISPLAY : none'", MARKED_HIDDEN),
        ("style='display: block; list-style: none'", 0),
        ("href='/nav'", HAS_ADDRESS),
        ("data-class=nav title=nav", 0),
        ("class=nav id=comments", MARKED_ASIDE | MARKED_COMMENTS),
        ("class=导航 id=nav", MARKED_ASIDE),
    ],
)
def test_attributes_mark_their_element(attributes: str, mark: int) -> None:
    assert parse(f"<div {attributes}>text").elements[1, MARK] == mark


def values_of(markup: str) -> list[tuple[str, str, str]]:
    """Element, attribute and value of all kept attributes."""
    page = parse(markup)
    assert all(0 < row < len(page.elements) for row in page.values[:, OF])
    return [
        (NAME_OF[int(page.elements[of, NAME])], ATTRIBUTE_OF[int(attribute)], page.value(row))
        for row, (of, attribute, _, _) in enumerate(page.values.tolist())
    ]


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<link rel='a b' HREF=/x?a&amp;b title=no>", [("link", "rel", "a b"), ("link", "href", "/x?a&b")]),
        ("<img src=1 alt=''/ SRC=2>", [("img", "src", "1"), ("img", "alt", "")]),
        ("<a href=x rel=y><div lang=de>", []),
        ("<script type=x>a && '</p>'</script>", [("script", "type", "x"), ("script", "", "a && '</p>'")]),
        ("<script></script><script>cut", [("script", "", ""), ("script", "", "cut")]),
        ("<base href='1'><meta name=a content='b", [("base", "href", "1")]),
        ("<meta name content></meta name=x>", [("meta", "name", ""), ("meta", "content", "")]),
    ],
)  # fmt: skip
def test_the_values_of_some_attributes_are_kept_the_first_of_each(
    markup: str, expected: list[tuple[str, str, str]]
) -> None:
    assert values_of(markup) == expected


def test_of_two_attributes_of_one_name_the_first_marks_the_element() -> None:
    assert parse("<div class=a class=nav>").elements[1, MARK] == 0
    assert parse("<div class=nav class=a>").elements[1, MARK] == MARKED_ASIDE


MARKUP = (
    *("<![CDATA[", "]]>", "<!--", "-->", "<title>", "</title>", "<p>", "</p>", "<td a='", "<img src ", "<script>"),
    *("/rel/id/src", "<?", "</", "x", " "),
)


@given(st.lists(st.sampled_from(MARKUP), max_size=60).map("".join))
@example("<![CDATA[x" * 5000)
@example("x<title>y")
@example("x<title>y</title>z" * 50)
def test_no_page_has_more_elements_and_runs_than_there_is_room_for(markup: str) -> None:
    _, elements, runs, values = parse(markup)
    assert elements.base is not None
    assert runs.base is not None
    assert len(elements) < len(elements.base)
    assert len(runs) < len(runs.base)
    assert values.base is not None
    assert len(values) < len(values.base)


@given(st.text(st.sampled_from("<>/!-=\"' abdiptl[CDATA]\n网")), st.booleans())
def test_any_text_gives_runs_in_order_in_elements_after_their_parents(text: str, markup: bool) -> None:
    body, elements, runs, _ = parse(f"<table><tr><td><li>{text}" if markup else text)
    assert all(0 <= parent < row for row, parent in enumerate(elements[1:, PARENT].tolist(), start=1))
    bounds = runs[:, :2].ravel().tolist()
    assert bounds == sorted(bounds)
    assert all(begin < end <= len(body) for begin, end in runs[:, :2].tolist())


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("class='post first'", "class='post last'", True),
        ("class=post-12", "class=' post-7 x'", True),
        ("class=post", "class=posts", False),
        ("class=post id=a", "class=post", True),
        ("class=12", "", True),
    ],
)
def test_elements_have_one_shape_by_their_first_class_without_digits(one: str, other: str, same: bool) -> None:
    elements = parse(f"<div {one}>a</div><div {other}>b</div>").elements
    assert bool(elements[1, SHAPE] == elements[2, SHAPE]) is same
