"""Where comments, scripts and raw text end, and where they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from worker.compiling import COMPILED
from worker.page.elements.tokens import after_declaration, after_xml_declaration, end_of_raw, end_of_script


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
