"""Which text browsers show, with the smallest pages that tell."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.shown.trees import ours
from worker.page.elements import vocabulary
from worker.page.elements.vocabulary import ELEMENTS, SHOWN_IF_MARKED, UNSEEN, bits_of, hash_of

TABLE: Final = Path(__file__).resolve().parents[3] / "docs" / "explanation" / "shown.md"


def shown(markup: str) -> str:
    """The words that are shown."""
    return " ".join(ours(markup))


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("a<script>no</script><style>no</style>b<title>no</title>", "ab"),
        ("a<template>no<p>no</template>b", "a b"),
        ("a<noscript>no</noscript>b", "ab"),
        ("a <object>no</object><video>no</video><audio>no</audio><canvas>no</canvas> b", "a b"),
        ("a <iframe>no</iframe><noembed>no</noembed><noframes>no</noframes> b", "a b"),
        ("<select><option>no<optgroup label=x><option>no</select>a<datalist><option>no</datalist>", "a"),
        ("a <meter>no</meter><progress>no</progress> b", "a b"),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>字", "漢字"),
        ("<xmp># One\n<b>two</b></xmp>three", "# One <b>two</b> three"),
        ("<listing>one</listing><pre>two</pre>", "one two"),
        ("<map name=m><p>one</p><area></map>", "one"),
        ("<marquee>one</marquee> <center>two</center> <nobr>three</nobr> <blink>four</blink>", "one two three four"),
        ("<details><summary>one</summary>two</details>", "one two"),
        ("<my-part>one</my-part> <slot>two</slot>", "one two"),
        ("<output>one</output> <label>two</label> <fieldset><legend>three</legend></fieldset>", "one two three"),
    ],
)
def test_elements_are_shown_as_the_standard_has_it(markup: str, text: str) -> None:
    assert shown(markup) == text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<x-a><template shadowrootmode=open><p>one</template></x-a>two", "one two"),
        ("<x-a><template SHADOWROOTMODE='Closed'>one<script>no</script></template></x-a>", "one"),
        ("<x-a><template shadowrootmode>no</template>one</x-a>", "one"),
        ("<x-a><template shadowrootmode=no>no</template>one</x-a>", "one"),
        ("<x-a><template shadowrootmode=open>one</template>no<p>no <b>no</b></p></x-a>two", "one two"),
        ("<x-a><p>no</p><template shadowrootmode=open>one</template></x-a>two", "one two"),
        ("<x-a><template shadowrootmode=open>one<div><slot></slot></div></template><p>two</x-a>", "one two"),
        ("<x-a><template shadowrootmode=open>one</template><template shadowrootmode=open>no</template></x-a>", "one"),
        ("<x-a><template shadowrootmode=open><x-b><template shadowrootmode=open>one<slot></slot></template>two</x-b>"
         "</template>no</x-a>three", "one two three"),
        ("<template><x-a><template shadowrootmode=open>no</template></x-a></template>one", "one"),
    ],
)  # fmt: skip
def test_a_shadow_root_is_shown_in_place_of_its_host(markup: str, text: str) -> None:
    assert shown(markup) == text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<textarea>no</textarea>one", "one"),
        ("<textarea readonly>one &amp; two</textarea>three", "one & two three"),
        ("<textarea readonly=''>one</textarea>", "one"),
        ("<textarea rows=3 DISABLED>one</textarea>", "one"),
        ("<textarea readonly> <p>no</p></textarea>one", "one"),
        ("<textarea readonly>&lt;iframe src=x></textarea>one", "one"),
        ("<input value=no readonly>one", "one"),
    ],
)
def test_a_text_area_is_text_where_it_can_only_be_read_and_is_no_markup(markup: str, text: str) -> None:
    assert shown(markup) == text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<svg>no<g>no</g><text>one<tspan>two</tspan></text></svg>three", "onetwo three"),
        ("<svg><title>no</title><desc>no</desc><metadata>no</metadata><style>no</style></svg>one", "one"),
        ("<svg><defs><text>no</text></defs><mask><text>no</text></mask><text>one<desc>no</desc></text></svg>", "one"),
        ("<svg><foreignObject><div><p>one</p>two</div></foreignObject>no</svg>three", "one two three"),
        ("<svg><foreignObject><svg>no</svg><desc>one</desc></foreignObject></svg>", "one"),
        ("<svg><a href=x><text>one</text></a></svg>", "one"),
        ("<svg><path d=x><p>one</p>", "one"),
        ("<math><mi>x</mi><mo>=</mo><mn>2</mn></math>", "x=2"),
        ("<math><semantics><mi>x</mi><annotation>no</annotation><annotation-xml>no</annotation-xml></semantics></math>"
         " y", "x y"),
        ("<text>one</text><desc>two</desc><defs>three</defs><annotation>four</annotation>", "one two three four"),
    ],
)  # fmt: skip
def test_of_drawings_the_letters_are_shown_and_of_formulas_what_is_not_said_twice(markup: str, text: str) -> None:
    assert shown(markup) == text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<button>Add to cart</button>one", "one"),
        ("<h2><button>One?</button></h2>", "One?"),
        ("<h3><span><button type=button>Eins<svg><path/></svg></button></span></h3>", "Eins"),
        ("<summary><button>один</button></summary><dl><dt><button>dwa</button></dl>", "один dwa"),
        ("<div role=heading aria-level=2><button>一</button></div>", "一"),
        ("<button><h3>One</h3></button>", "One"),
        ("<button>How long can I keep what I have rented?</button>", "How long can I keep what I have rented?"),
        ("<button>怎样才能退回我买的东西</button>", "怎样才能退回我买的东西"),
        ("<button>no<button>no</button><p>one", "no one"),
        ("<p>one</p><button>OK<p>two", "one OK two"),
    ],
)  # fmt: skip
def test_a_button_is_text_where_it_names_what_follows_or_takes_a_sentence(markup: str, text: str) -> None:
    assert shown(markup) == text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("a<span style='font-size:0'>no</span>b", "ab"),
        ("a<font style='color:#fff;font:0/0 a'>no<i>no</i></font>b", "ab"),
        ("a<p style='font-size:0'>no <b>no</b></p>b", "a b"),
        ("<td style='font-size:0px'><span style='font-size:13px'>one</span>", "one"),
        ("<div style='font-size:0'><div class=column>one</div></div>", "one"),
        ("<div style='font-size:0.8em'>one</div>", "one"),
    ],
)
def test_letters_without_a_size_are_not_shown(markup: str, text: str) -> None:
    assert shown(markup) == text


INDEX: Final = """
    a abbr address area article aside audio b base bdi bdo blockquote body br button canvas caption cite code col
    colgroup data datalist dd del details dfn dialog div dl dt em embed fieldset figcaption figure footer form h1 h2 h3
    h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label legend li link main map mark math menu meta
    meter nav noscript object ol optgroup option output p picture pre progress q rp rt ruby s samp script search section
    select selectedcontent slot small source span strong style sub summary sup svg table tbody td template textarea
    tfoot th thead time title tr track u ul var video wbr
"""
"""The elements of HTML (HTML Living Standard, Index)."""
OBSOLETE: Final = """
    acronym applet basefont bgsound big blink center dir font frame frameset isindex keygen listing marquee menuitem
    multicol nextid nobr noembed noframes param plaintext portal rb rtc spacer strike tt xmp
"""


def rows() -> list[tuple[frozenset[str], str]]:
    """Names of elements, with the handbook's word on them: shown, not shown, or the condition."""
    lines = re.findall(r"^\| (`.+?) \| (.+?) \|", TABLE.read_text("utf-8").split("\n## ")[1], re.MULTILINE)
    return [(frozenset(re.findall(r"`([a-z0-9]+)`", names)), said) for names, said in lines]


def test_the_handbook_names_each_element_once_and_says_of_it_what_the_vocabulary_does() -> None:
    told = {name: said for names, said in rows() for name in names}
    assert sum(len(names) for names, _ in rows()) == len(told)
    assert told.keys() >= {*INDEX.split(), *OBSOLETE.split()}
    for name, said in told.items():
        kind = bits_of(ELEMENTS, hash_of(name))
        depends = bool(kind & SHOWN_IF_MARKED) or name in ("svg", "button", "noscript")
        expected = "it depends" if depends else "no" if kind & UNSEEN else "yes"
        assert said in (expected, "nothing to show"), name
        assert said != "nothing to show" or not kind & UNSEEN, name


def test_all_that_the_vocabulary_hides_stands_in_the_handbook() -> None:
    told = {name for names, _ in rows() for name in names}
    hidden = {name for names, bits in vocabulary._ELEMENTS.items() if bits & UNSEEN for name in names.split()}
    assert hidden <= told
