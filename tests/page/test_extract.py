"""Pages as they come: markup, plain text, other data, and hostile pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.errors import PageError
from worker.page.extract import LEAST_ALONE, RULE, Extracted, extract, from_text
from worker.page.main_text.title_evidence import LONGEST_TITLE, read_title

ARTICLE = "<p>" + "</p><p>".join(f"This is sentence {n} of an article about tropical fish." for n in range(9)) + "</p>"
PAGE = f"""<!DOCTYPE html><html><head><title> Tropical &amp; fish </title><style>p {{color: red}}</style></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/about">About us</a></li></ul></nav>
<script>var tracking = 1;</script><main><article>{ARTICLE}<ul><li>an item</li></ul>
<img alt="a picture"></article></main>
<footer>Imprint and privacy</footer></body></html>"""


def test_of_a_page_the_main_content_is_kept() -> None:
    page = extract(PAGE.encode(), content_type="text/html")
    assert "sentence 0" in page.text
    assert "sentence 8" in page.text
    for left_out in ("Home", "tracking", "Imprint", "color", "a picture", "•"):
        assert left_out not in page.text
    assert page.title == "Tropical & fish"
    assert page.encoding == "utf-8"
    assert not page.truncated


def test_a_page_of_links_does_not_become_its_navigation() -> None:
    page = b"<html><body><nav><a href=/1>One</a> <a href=/2>Two</a></nav></body></html>"
    assert extract(page, content_type="text/html").text.strip() == ""


@pytest.mark.parametrize("content_type", [None, "", "text/html", "application/xhtml+xml", "application/octet-stream"])
def test_markup_is_found_whatever_the_content_type(content_type: str | None) -> None:
    found, expected = (extract(PAGE.encode(), content_type=each) for each in (content_type, "text/html"))
    assert found._replace(verbatim=True) == expected
    assert found.verbatim is (content_type != "application/xhtml+xml"), "which is read as HTML once more"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("plain words", None),
        ("a < b and b > a, <yes>", None),
        ("<p>shown as it is</p>", "text/plain"),
        ("# heading\n<br>", "text/markdown; charset=utf-8"),
        ('{"text": "<p>网页</p>"}', "application/json"),
        ('{"a": "<p>"}', "application/ld+json"),
        ("", None),
    ],
)
def test_plain_text_passes_through(body: str, content_type: str | None) -> None:
    assert extract(body.encode(), content_type=content_type) == Extracted(body, "utf-8")


def test_xml_is_read_as_markup() -> None:
    feed = '<?xml version="1.0" encoding="gb2312"?><rss><item><description>网页的编码</description></item></rss>'
    page = extract(feed.encode("gb18030"), content_type="application/rss+xml")
    assert page.text.strip() == "网页的编码"


@pytest.mark.parametrize("codec", ["utf-8", "utf-16"])
def test_a_feed_that_is_called_html_is_a_feed(codec: str) -> None:
    feed = f"<!--{'图' * 1000}--><rss><channel><item><title>网页的编码</title></item></channel></rss>"
    assert extract(feed.encode(codec), content_type="text/html").text.strip() == "网页的编码"


@pytest.mark.parametrize(
    "content_type",
    [
        "image/png",
        "image/svg+xml",
        "application/pdf",
        "video/mp4",
        "APPLICATION/ZIP",
        "font/woff2",
        "application/msword",
    ],
)
def test_a_content_type_of_no_text_is_refused(content_type: str) -> None:
    with pytest.raises(PageError) as refused:
        extract(PAGE.encode(), content_type=content_type)
    assert refused.value.reason == "not-text"


@pytest.mark.parametrize(
    "body",
    [
        b"%PDF-1.7 ...",
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff\xe0",
        b"GIF89a",
        b"PK\x03\x04",
        b"\x1f\x8b\x08\x00",
        b"\x00\x00\x00\x20ftypmp42",
        bytes(range(256)) * 8,
    ],
)
@pytest.mark.parametrize("content_type", [None, "text/html", "application/octet-stream"])
def test_binary_bytes_are_refused_whatever_they_are_called(body: bytes, content_type: str | None) -> None:
    with pytest.raises(PageError) as refused:
        extract(body, content_type=content_type)
    assert refused.value.reason == "not-text"


@pytest.mark.parametrize(
    ("codec", "content_type", "encoding", "meta"),
    [
        ("gb18030", "text/html; charset=gb2312", None, None),
        ("gb18030", "text/html; charset=utf-8", None, "gbk"),
        ("gb18030", "text/html; charset=iso-8859-1", "cp1252", None),
        ("gb18030", "text/html", None, None),
        ("utf-8", "text/html; charset=gbk", "gbk", "gbk"),
        ("utf-16-le", "text/html", None, "utf-8"),
        ("big5hkscs", "text/html", "big5", None),
    ],
)
def test_two_copies_in_different_encodings_have_the_same_text(
    codec: str, content_type: str, encoding: str | None, meta: str | None
) -> None:
    article = "<p>文件上的字很多，我有一本大的本子，可以用到生活中，你也可以看一看。</p>" * 5
    page = (
        f"<html><head>{f'<meta charset={meta}>' if meta else ''}</head><body><article>{article}</article></body></html>"
    )
    copy = extract(page.encode(codec), content_type=content_type, encoding=encoding)
    assert copy.encoding == codec
    assert copy.text == extract(article.encode(), content_type="text/html").text


def test_a_korean_page_without_a_label_is_told_from_western_ones() -> None:
    korean = "<p>한국어 웹페이지의 인코딩을 판별하는 것은 오래된 문제입니다.</p>" * 3
    assert extract(korean.encode("cp949")).encoding == "cp949"


@pytest.mark.parametrize(("codec", "text"), [("cp1251", "русского"), ("koi8-r", "русского"), ("cp1253", "ελληνικά")])
def test_scripts_of_single_bytes_are_detected(codec: str, text: str) -> None:
    sentence = {
        "русского": "Кодировка русского текста — это старая проблема, которую надо решать автоматически. ",
        "ελληνικά": "Η κωδικοποίηση για τα ελληνικά είναι ένα παλιό πρόβλημα που πρέπει να λυθεί αυτόματα. ",
    }[text]
    assert text in extract((sentence * 3).encode(codec, "replace")).text


@pytest.mark.parametrize("content_type", ["text/xhtml", "application/html", "text/plain", "application/json", "*/*"])
def test_a_document_is_read_as_one_whatever_the_server_calls_it(content_type: str) -> None:
    found, expected = (extract(PAGE.encode(), content_type=each) for each in (content_type, "text/html"))
    assert found._replace(verbatim=True) == expected
    assert found.verbatim is (content_type != "application/xhtml+xml"), "which is read as HTML once more"


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", None])
def test_two_spellings_of_json_have_one_text(content_type: str | None) -> None:
    spelled = extract(rb'{"html": "<p>\u7f51\u9875</p>"}', content_type=content_type)
    assert spelled == extract('{"html": "<p>网页</p>"}'.encode(), content_type=content_type)
    assert spelled.text == '{"html": "<p>网页</p>"}'


def test_an_error_page_is_one_whatever_address_it_repeats() -> None:
    page = "<title>{0} not found here</title><main><p>The page {0} has been moved or deleted.</p></main>"
    addresses = ["/old/press.html", "/shop/item.php?id=7", "/a-name"]
    pages = [extract(page.format(one).encode(), url=f"https://a.example{one}") for one in addresses]
    assert len({(page.text, page.title) for page in pages}) == 1


def test_of_a_longer_body_only_the_beginning_is_read() -> None:
    page = extract(b"word " * 1000 + b"end", content_type="text/plain", max_bytes=5000)
    assert page.text == "word " * 1000
    assert page.truncated


def test_text_of_a_spider_is_taken_as_it_is() -> None:
    assert from_text("<b>网页\0</b>") == Extracted("<b>网页</b>", "str")
    assert from_text("abcdef", max_chars=3) == Extracted("abc", "str", truncated=True)


def test_the_extractor_names_its_rules_and_versions() -> None:
    assert RULE.startswith("content-9/words-5/announced-6/echo-1/decode-3/chardetng-")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", ""),
        (b"\0" * 100, ""),
        ("😀👩‍👩‍👧❤️".encode(), "😀👩‍👩‍👧❤️"),
        (b"a" * 1_000_000, "a" * 1_000_000),
        (b"<div>" * 10_000 + b"hello" + b"</div>" * 10_000, "hello"),
        (b"<b>" * 10_000 + b"hello", "hello"),
        (b'<p title="' + b"x" * 100_000_000 + b'">hello</p>', ""),  # cut in the middle of the attribute
        (b'<p title="' + b"x" * 1_000_000 + b'">hello</p>', "hello"),
        (b"<!--" * 100_000, ""),
        (b"<" * 100_000, "<" * 100_000),
        (b"<div>" * 80_000 + b"hello" + b"</span></div>" * 80_000, "hello"),
        (b"<b>" * 80_000 + b"</i>hello", "hello"),
        (b"<p>a&#" + b"9" * 4_301 + b";b</p>", "a\ufffdb"),
        (b"<table><tr><td>" * 80_000 + b"hello", "hello"),
        (b"<p>caf\xc3\xa9 \xe8\x80 " + "网页".encode() * 20 + b"</p>", "café \ufffd " + "网页" * 20),
    ],
    ids=lambda value: repr(value[:12]),
)
def test_hostile_pages_have_a_text(body: bytes, text: str) -> None:
    assert extract(body).text.strip() == text


@pytest.mark.parametrize(
    "body",
    [
        f"<title>{'ab' * 1_000_000}</title>" + "<br>ab" * 350_000,
        f"<title>{' '.join(map(hex, range(200_000)))}</title><p>{'0xzz ' * 500_000}",
        f"<title>{' ' * 1_000_000}-{' -' * 1_000_000}</title><p>hello",
    ],
    ids=["long-title-many-lines", "many-words-long-text", "signs-and-blanks"],
)
def test_of_a_title_the_beginning_is_compared_with_the_text(body: str) -> None:
    page = extract(body.encode())
    assert len(page.title or "") <= LONGEST_TITLE
    assert len(" ".join(page.thing.tokens)) <= LONGEST_TITLE


SHORT = "<title>Strip #1201 | Comics 24</title><main><h1>Strip</h1><img src=/s/ab12.png><p>Click on it.</p></main>"


def test_a_short_text_is_shown_with_the_number_of_its_title_and_with_pictures() -> None:
    assert extract(SHORT.encode()).shown == ("1201", "ab12")
    of_site = extract(SHORT.replace(" #1201", "").encode(), url="https://comics24.example/")
    assert of_site.shown == ("ab12",), "the number is that of the site's name"
    assert extract(SHORT.replace("Click on it.", "Click on this strip. " * 9).encode()).shown == ("1201", "ab12")
    assert extract(SHORT.replace("Click on it.", "Click on this strip, then on another. " * 9).encode()).shown == ()


HEAD = (
    '<title>{}</title><meta property="og:site_name" content="Harbour Post"><p>' + "Few fish live in the dead sea. " * 9
)


def test_the_head_and_the_address_tell_the_name_of_the_site() -> None:
    by_head = extract(HEAD.format("Harbour Post | Fish").encode(), url="https://a.example/")
    by_host = extract(
        HEAD.replace("og:site", "x").format("Fish - Harbour").encode(), url="https://www.harbour.example/"
    )
    assert by_head.thing == by_host.thing == read_title("Fish")
    assert not by_head.doubted and not by_host.doubted


def test_a_text_is_doubted_by_its_title_alone() -> None:
    assert extract(HEAD.format("Harbour Post | Whales").encode()).doubted
    assert not extract(HEAD.format("").encode()).doubted, "there is nothing to doubt it by"
    assert extract(HEAD.format("Harbour Post").encode()).doubted
    assert not from_text("Few fish").doubted


NAMED_BY_SITE = "<title>Harbour Post</title>"
FISH = "<p>" + "Few fish live in the dead sea. " * 9
HEADED = "<h1>Fish of the sea</h1>"


@pytest.mark.parametrize(
    ("heading", "thing", "doubted"),
    [
        (HEADED, "Fish of the sea", False),
        (f"<header>{HEADED}</header>", "Fish of the sea", False),
        (f"<h1> </h1>{HEADED}", "Fish of the sea", False),
        ("<h1>Whales | Harbour Post</h1>", "Whales", True),
        (f"<h1><a href=/>Sea</a></h1>{HEADED}", "Fish of the sea", False),
        ("<h1><a href=/>Fish</a></h1>", "", True),
        ("<h1 hidden>Fish</h1>", "", True),
        ("<h1>Fish <span hidden>and whales</span>of the <b>sea</b></h1>", "Fish of the sea", False),
        ("<h1>Harbour</h1>", "", True),
        ("<h2>Fish</h2>", "", True),
        ("", "", True),
        ("<h1> </h1>" * 99_999, "", True),
    ],
    ids=lambda value: str(value)[:50],
)
def test_under_the_site_s_name_alone_the_heading_stands_for_the_title(heading: str, thing: str, doubted: bool) -> None:
    page = extract(f"{NAMED_BY_SITE}{heading}{FISH}".encode(), url="https://harbour-post.example/1")
    assert (page.thing.first, page.doubted, page.title) == (thing, doubted, "Harbour Post")
    assert page.all_shown
    assert not extract(f"<title>Fish</title>{heading}{FISH}".encode(), url="https://a.example/1").all_shown


def test_without_a_heading_a_long_text_is_its_page_s_own_and_links_are_not() -> None:
    def doubted(words: int, link: str = "") -> bool:
        prose = "".join(f"<p>{link}{' '.join(['fish swim in the sea'] * 2)}" for _ in range(words // 10))
        return extract(f"{NAMED_BY_SITE}<main>{prose}".encode(), url="https://harbour-post.example/1").doubted

    assert [doubted(words) for words in (LEAST_ALONE - 10, LEAST_ALONE)] == [True, False]
    assert doubted(2 * LEAST_ALONE, "<a href=/1>")


def test_all_that_is_shown_tells_short_pages_under_the_site_s_name_apart() -> None:
    def shown(body: str) -> str:
        return extract(f"{NAMED_BY_SITE}{body}{FISH}".encode(), url="https://harbour-post.example/").all_shown

    one = shown("<a href=/?sid=1>Home</a><script>now(1)</script><div hidden>1</div>")
    assert one == shown("<a href=/?sid=2>Home</a><script>now(2)</script><div hidden>2</div>")
    assert one == shown("\n<a href=/>&nbsp; Home</a> <br>")
    assert one != shown("<a href=/?sid=1>Start</a>")


def test_fifty_megabytes_of_text_are_cut_to_the_limit() -> None:
    page = extract(b"hello world " * 4_200_000)
    assert (len(page.text), page.truncated) == (4 * 1024 * 1024, True)


@given(st.binary(max_size=300), st.sampled_from([None, "text/html", "text/plain", "application/xml"]))
def test_any_bytes_are_a_text_or_a_reason(body: bytes, content_type: str | None) -> None:
    try:
        page = extract(b"<p>" + body, content_type=content_type)
    except PageError as error:
        assert error.reason in ("not-text", "unparsable")
    else:
        assert "\0" not in page.text
