"""XML is read by its own rules, and feeds as feed readers show them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.page.elements.markup import NAME, PARENT
from worker.page.elements.parsed import OF, OWNER
from worker.page.elements.vocabulary import hash_of
from worker.page.elements.xml import parse_xml, told_by
from worker.page.main_text.content import blocks, main_content

XHTML = '<?xml version="1.0"?><!DOCTYPE html [<!ENTITY a "<b>">]><html xmlns="http://www.w3.org/1999/xhtml">'
PROSE = "A text of some words that is long enough to be taken for what the page is about."


@pytest.mark.parametrize(
    ("markup", "lines"),
    [
        ("<a><b>1</b>2</a>3", ["1", "2", "3"]),
        ("<a><b/>1<script/>2<title/>3<textarea/>4</a>", ["1", "2", "3", "4"]),
        ("<a><br>1</br><img>2</img></a>", ["1", "2"]),
        ("<a><![CDATA[1 <b> &amp; 2]]> &amp; 3</a>", ["1 <b> &amp; 2 & 3"]),
        ("<a><!-- 1 --!> 2 -->3<?php 4 > 5 ?>6</a>", ["36"]),
        ("<p>1<p>2</p>3</p>4", ["1", "2", "3", "4"]),
        ("<script>1<b>2</b></script>", ["1", "2"]),
        ("<记录><题>1</题><_a>2</_a></记录>", ["1", "2"]),
        ("<a>1 < 2<b", ["1 < 2"]),
        ("<book><title>1</title><chapter><title>2</title></chapter></book>", ["1", "2"]),
        ("", []),
    ],
)  # fmt: skip
def test_all_text_of_xml_is_its_content(markup: str, lines: list[str]) -> None:
    assert main_content(markup, xml=True)[:2] == ("\n".join(lines), None)
    assert [block.text for block in blocks(markup, xml=True)] == lines


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("<head><script/><title>T</title></head>", "T"),
        ("<head><title/></head><body><title>T</title></body>", None),
        ("<head><title>T &amp; U</title><style/></head>", "T & U"),
        ("<head><Title>T</Title></head>", None),
        ("<body><svg><title>T</title></svg></body>", None),
        ("<head><meta charset='utf-8'><link href='/s'><title>T</title></head><hr><br><br></br>", "T"),
    ],
)
def test_xhtml_is_a_page(head: str, title: str | None) -> None:
    page = main_content(f"{XHTML}{head}<body><textarea/><p>{PROSE}</p><script>{PROSE}</script></body></html>", xml=True)
    assert (page.text.strip(), page.title) == (PROSE, title)


@pytest.mark.parametrize("quote", ['"', "'"])
def test_xhtml_may_have_a_prefix(quote: str) -> None:
    plain = f"<head><title>A title</title></head><body><nav><a href='/'>Home</a></nav><p>{PROSE}<br/>{PROSE}</p></body>"
    prefixed = plain.replace("</", "</h.1:").replace("<", "<h.1:").replace("<h.1:/h.1:", "</h.1:")
    bound = f"<h.1:html xmlns:h.1 = {quote}http://www.w3.org/1999/xhtml{quote}>{prefixed}</h.1:html>"
    assert main_content(bound, xml=True) == main_content(f"{XHTML}{plain}</html>", xml=True)
    unbound = f"<h.1:html xmlns:h.1='http://a.example/'>{prefixed}</h.1:html>"
    assert main_content(unbound.encode(), xml=True).text.splitlines() == ["A title", "Home", PROSE, PROSE]


def test_a_drawing_is_a_page_and_its_own_title_that_of_the_page() -> None:
    page = main_content(f"<svg><title>T</title><g><title>U</title><text>{PROSE}</text></g></svg>", xml=True)
    assert page.title == "T"


RSS = "<rss><channel><title>News</title><link>http://n.example</link>{}</channel></rss>"
ATOM = "<feed xmlns='http://www.w3.org/2005/Atom'><title>News</title><id>1</id>{}</feed>"


@pytest.mark.parametrize(
    ("feed", "items", "lines"),
    [
        (RSS, "<item><title>1</title><link>2</link></item><item><title>3</title></item>", ["1", "3"]),
        (RSS, "<item><description>&lt;p&gt;1 &amp;amp; 2&lt;br&gt;3</description></item>", ["1 & 2", "3"]),
        (RSS, "<item><description><![CDATA[<p>1<script>2</script><a href='3]]></description></item>", ["1"]),
        (RSS, "<item><description>1</description><content:encoded>&lt;b>2&lt;/b></content:encoded></item>", ["2"]),
        (RSS, "<item><title>1 &amp;amp; 2</title><guid>3</guid><pubDate>4</pubDate></item>", ["1 & 2"]),
        (RSS, "<item><description>&lt;!-- 1</description></item><item><title>2</title></item>", ["2"]),
        (RSS, "<image><title>1</title></image><item><title/></item>", []),
        ("<rdf:RDF><channel><title>News</title></channel>{}</rdf:RDF>", "<item><title>1</title></item>", ["1"]),
        (ATOM, "<entry><title>1</title><id>2</id><updated>3</updated></entry>", ["1"]),
        (ATOM, "<entry><content type='html'>&lt;b>1&lt;/b> 2</content><summary>3</summary></entry>", ["1 2"]),
        (ATOM, "<entry><summary>1 &lt;b> 2</summary></entry>", ["1 <b> 2"]),
        (ATOM, "<entry><title type='html'>1 &lt;i>2&lt;/i></title></entry>", ["1 2"]),
        (ATOM, "<entry><content type='xhtml'><div><p>1 <b>2</b></p><p>3</p></div></content></entry>", ["1 2", "3"]),
    ],
)  # fmt: skip
def test_of_a_feed_the_items_are_text_and_the_title_is_that_of_the_channel(
    feed: str, items: str, lines: list[str]
) -> None:
    page = main_content(feed.format(items), xml=True)
    assert (page.text.splitlines(), page.title) == (lines, "News")


def test_what_is_read_as_html_stays_so() -> None:
    assert main_content(f"<?xml version='1.0'?><p/>1<title/>2<p>{PROSE}").text.startswith("1")
    assert told_by(parse_xml("<html/>")) is None


def test_values_of_attributes_belong_to_their_elements() -> None:
    page = parse_xml('<html><head><link rel="canonical" href="/a&amp;b"/><link rel="x"')
    assert [(int(page.elements[of, NAME]), page.value(row)) for row, (of, *_) in enumerate(page.values[:, [OF]])] == [
        (hash_of("link"), "canonical"),
        (hash_of("link"), "/a&b"),
    ]


MARKUP = ("<![CDATA[", "]]>", "<!--", "-->", "<a>", "</a>", "<b/>", "<link rel href='", "<?", "</", "x", " ", "<!x[")


@given(st.lists(st.sampled_from(MARKUP), max_size=60).map("".join))
def test_no_document_has_more_rows_than_there_is_room_for(markup: str) -> None:
    page = parse_xml(markup)
    for rows in (page.elements, page.runs, page.values):
        assert rows.base is not None
        assert len(rows) < len(rows.base)
    assert all(0 <= parent < row for row, parent in enumerate(page.elements[1:, PARENT].tolist(), start=1))
    assert all(owner < len(page.elements) for owner in page.runs[:, OWNER].tolist())
    told_by(page)
