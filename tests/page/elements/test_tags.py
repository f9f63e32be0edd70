"""Where tokens end, and which elements tags open in and close."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.page.elements.test_markup import outline
from worker.compiling import COMPILED
from worker.page.elements.markup import KIND, parse
from worker.page.elements.tags import (
    after_declaration,
    after_xml_declaration,
    end_of_raw,
    end_of_script,
    is_foreign,
    is_in_unseen,
)
from worker.page.elements.vocabulary import UNSEEN


def bytes_of(markup: str) -> Any:
    encoded = bytearray(markup.encode())
    return np.frombuffer(encoded, dtype=np.uint8) if COMPILED else encoded


@pytest.mark.parametrize(
    "markup",
    [
        *("<!---->", "<!-->", "<!--->", "<!-- a -->", "<!-- a --!>", "<!----!>", "<!-- - -- > -->", "<!-- <!-- -->"),
        *("<!--a--!b-->", "<!-- --->", "<!--<!-->", "<!--->", "<!--!>-->", "<!x>", "<!>", "<?a b?>", "<!doctype a 'b>"),
        *("<![CDATA[a>", "<!->", "<!-a>"),
    ],
)
def test_a_comment_ends_where_browsers_end_it(markup: str) -> None:
    assert after_declaration(bytes_of(markup + "a-->"), 0) == len(markup)


@pytest.mark.parametrize("markup", ["<!--", "<!-", "<!", "<?", "<!---", "<!----", "<!----!", "<!-- --", "<!--!>"])
def test_what_has_no_end_reaches_to_the_end_of_the_page(markup: str) -> None:
    assert after_declaration(bytes_of(markup), 0) == len(markup)
    assert after_xml_declaration(bytes_of(markup), 0) == len(markup)


@pytest.mark.parametrize(
    "markup",
    ["<!-- a --!> -->", "<!-->-->", "<?a > b?>", "<!DOCTYPE a [<!ENTITY b 'c>'>]>", "<!DOCTYPE a>", "<!---->"],
)
def test_in_xml_they_end_by_its_rules(markup: str) -> None:
    assert after_xml_declaration(bytes_of(markup + "a-->"), 0) == len(markup)


@pytest.mark.parametrize(
    "script",
    [
        *("", "a", "</scrip", "</scriptx>", "<!-- -->", "<!-- <script></script> -->", "<!--<script>-->", "<script>"),
        *("<!--<SCRIPT ></sCript/>x", "<!--<script", "<!--><script>", "<!--<scriptx>", "<!-<script>", "<!--->"),
        *("<!-- -- ><script></script>x", "<!--<script></script><script></script>--><script>"),
    ],
)
@pytest.mark.parametrize("end", ["</script>", "</SCRIPT a='>'>", "</script/", "</script\n"])
def test_a_script_ends_by_its_own_end_tag(script: str, end: str) -> None:
    assert end_of_script(bytes_of(script + end + "x</script>"), 0) == len(script)


def test_a_script_whose_inner_one_has_no_end_takes_the_page() -> None:
    markup = "<!--<script></script x<b></scriptx></script"
    assert end_of_script(bytes_of(markup), 0) == len(markup)


@pytest.mark.parametrize("end", ["</Title>", "</title a>", "</title/>", "</TITLE\t"])
def test_raw_text_ends_by_its_whole_name(end: str) -> None:
    markup = "title>a</titl></titlex></ title></b></title"
    assert end_of_raw(bytes_of(markup + end), 0, 5, 6) == len(markup)
    assert end_of_raw(bytes_of(markup), 0, 5, 6) == len(markup)


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        # omitted end tags
        ("<select><option>1<option>2<optgroup><option>3</select>4", ["select option 1", "select option 2",
         "select option 3", "4"]),
        ("<p><select><option>1</select>2", ["p select option 1", "p 2"]),
        ("<select><option>1<input>2", ["select option 1", "2"]),
        ("<select><option>1<select>2", ["select option 1", "select 2"]),
        ("<ruby>1<rt>2<rb>3<rp>4</ruby>5", ["ruby 1", "ruby rt 2", "ruby rb 3", "ruby rp 4", "5"]),
        ("<table><colgroup><col><tr><td>1", ["table tr td 1"]),
        ("<table><thead><tr><th>1<tbody><tr><td>2</tbody>3", ["table thead tr th 1", "table tbody tr td 2", "table 3"]),
        ("<table><caption>1<tr><td>2", ["table caption 1", "table tr td 2"]),
        ("<table><tr><table><td>1", ["table td 1"]),
        ("<tr><table><td>1</table></tr>2", ["tr table td 1", "2"]),
        ("<li><div>1<li>2", ["li div 1", "li 2"]),
        ("<li><section>1<li>2", ["li section 1", "li section li 2"]),
        ("<h1>1<h2>2</h1>3", ["h1 1", "h2 2", "3"]),
        # paragraphs
        ("<p><button><p>1</button>2", ["p button p 1", "p 2"]),
        ("<p><b><div>1", ["div 1"]),
        ("<p><template><p>1</template>2", ["p template p 1", "p 2"]),
        ("<button><p>1</button></p>2", ["button p 1", "2"]),
        ("<div></p>1</br>2", ["div 1", "div 2"]),
        # links
        ("<a><div>1</a>2</div>3", ["div a 1", "div 2", "3"]),
        ("<a><div><p>1</a>2</p>3</div>4", ["div p a 1", "div p 2", "div 3", "4"]),
        ("<a><p>1<a>2</a>3", ["p a 1", "p a 2", "p 3"]),
        ("<a><b>1</a>2", ["a b 1", "2"]),
        ("<a><table><td><a>1</a>2</table>3", ["a table td a 1", "a table td 2", "a 3"]),
        # tags that close nothing
        ("<div><template></div>1</template>2", ["div template 1", "div 2"]),
        ("<div><template><td>1</template>2", ["div template td 1", "div 2"]),
        ("<table><td></div>1</p>2", ["table td 1", "table td 2"]),
        ("<ul><li><ul></li>1", ["ul li ul 1"]),
        ("<div>1</body>2</html>3", ["div 1", "div 2", "div 3"]),
        ("<html><body><div>1<body>2</div>3<html>4<head>5", ["html body div 1", "html body div 2", "html body 3",
         "html body 4", "html body 5"]),
        ("<section><span></section>1", ["1"]),
        ("<div><button>1</div>2", ["div button 1", "2"]),
        # the head
        ("<head><title>1</title><div>2", ["head title 1", "div 2"]),
        ("<html><head>1", ["html 1"]),
        ("<head></head><title>1</title>2", ["title 1", "2"]),
        # SVG and MathML
        ("<svg><title>1<b>2</b></title><script>3<i>4", ["svg title 1", "svg title b 2", "svg script 3", "i 4"]),
        ("<svg><![CDATA[1<2]]>3</svg><![CDATA[4>5", ["svg CDATA 1<2", "svg 3", "5"]),
        ("<svg><foreignObject><div>1</svg>2", ["svg foreignobject div 1", "2"]),
        ("<div><svg><foreignObject></div>1", ["div svg foreignobject 1"]),
        ("<svg><g/>1</p>2", ["svg 1", "2"]),
        ("<svg/>1<svg><a>2<p>3", ["1", "svg a 2", "p 3"]),
        ("<math><mi><b>1</b></mi><div>2", ["math mi b 1", "div 2"]),
        ("<svg><style>1<style>2", ["svg style 1", "svg style style 2"]),
        # raw text
        ("<plaintext>1</plaintext><b>2", ["plaintext 1</plaintext><b>2"]),
        ("<textarea>1<b></textarea>2<xmp>3<b></xmp >4", ["textarea 1<b>", "2", "xmp 3<b>", "4"]),
        ("<iframe>1<b></iframe><noembed>2</noembed>3", ["iframe 1<b>", "noembed 2", "3"]),
    ],
)  # fmt: skip
def test_elements_end_where_browsers_end_them(markup: str, expected: list[str]) -> None:
    assert outline(markup) == expected


def test_a_button_takes_something_away_only_where_it_ends() -> None:
    def unseen(markup: str) -> bool:
        return bool(parse(markup).elements[1, KIND] & UNSEEN)

    assert unseen("<button>1</button>")
    assert not unseen("<button>1")
    assert not unseen("<button>1<button>2</button>")


def test_html_stands_within_parts_of_drawings() -> None:
    elements = parse("<svg><desc><p><template>").elements
    assert [is_foreign(elements, row) for row in range(5)] == [False, True, False, False, False]
    assert [is_in_unseen(elements, row) for row in (0, 4)] == [False, True]
