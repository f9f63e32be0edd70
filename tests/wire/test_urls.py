"""One spelling of a URL."""

from __future__ import annotations

import hashlib
import json
import random
import re
from pathlib import Path
from typing import Final

import idna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from w3lib.url import canonicalize_url

from crawler_plugin.wire.urls import (
    ALREADY,
    CANONICALIZATION,
    OF_AN_ID_ALREADY,
    _spelled,
    _split,
    canonical_url,
    without_userinfo,
)
from tests.labelled import URL_TESTS

RECORDED: Final = {"url-1": "692cd464413412f0"}
"""For each version of the rule, a digest of its results for ``odd_urls``: another digest is another version."""
BROWSERS: Final = ("http", "https", "ws", "wss", "ftp")
"""Schemes for which the rule follows the URL standard."""
REFUSED_BY_BROWSERS: Final = re.compile(r"xn--(?:pokxncvks)?[/.]?$|[\ufffd\uffff]|%EF%BF%BD", re.IGNORECASE)
"""Names that cannot exist in DNS: no page was ever fetched from them, so they need no second rule here."""


@pytest.mark.parametrize(
    ("given_url", "canonical"),
    [
        ("https://a.example/", "https://a.example/"),
        ("HTTPS://A.Example/Path", "https://a.example/Path"),
        ("https://a.example", "https://a.example/"),
        ("https://a.example?q=1", "https://a.example/?q=1"),
        ("https://a.example/#part", "https://a.example/"),
        ("https://a.example/?", "https://a.example/"),
        ("https://a.example/?b=2&a=1", "https://a.example/?a=1&b=2"),
        ("https://a.example/?b=2&b=1", "https://a.example/?b=1&b=2"),
        ("https://a.example/?q=", "https://a.example/?q="),
        ("https://a.example/?q", "https://a.example/?q="),
        ("https://a.example/?q=a%20b", "https://a.example/?q=a+b"),
        ("https://a.example/?q[]=%2f/", "https://a.example/?q%5B%5D=%2F%2F"),
        ("https://a.example/?q=%ff", "https://a.example/?q=%FF"),
        ("  https://a.example/a b \n", "https://a.example/a%20b"),
        ("ht\ntps://a.exa\tmple/a\r\nb", "https://a.example/ab"),
        ("https://a.example/页", "https://a.example/%E9%A1%B5"),
        ("https://a.example/%e9%a1%b5", "https://a.example/%E9%A1%B5"),
        ("https://a.example/%41%7e%2d%28", "https://a.example/A~-("),
        ("https://a.example/a%2fb%3Fc%23d%25e", "https://a.example/a%2Fb%3Fc%23d%25e"),
        ("https://a.example/100%|[x]", "https://a.example/100%25%7C%5Bx%5D"),
        ("https://a.example:443/x", "https://a.example/x"),
        ("http://a.example:80/x", "http://a.example/x"),
        ("https://a.example:/x", "https://a.example/x"),
        ("https://a.example:0000443/x", "https://a.example/x"),
        ("https://a.example:80/x", "https://a.example:80/x"),
        ("https://a.example:8080/a/../b", "https://a.example:8080/b"),
        ("https://a.example/a/./%2E%2e/b/..", "https://a.example/"),
        ("https://a.example/../../..", "https://a.example/"),
        ("https://a.example//a//b/", "https://a.example//a//b/"),
        ("https:\\\\a.example\\b\\..\\c?d\\e", "https://a.example/c?d%5Ce="),
        ("https:a.example/x", "https://a.example/x"),
        ("https:////a.example/x", "https://a.example/x"),
        ("https://a.example./x", "https://a.example/x"),
        ("https://a.example.:443/x", "https://a.example/x"),
        ("https://user:secret@a.example/x", "https://a.example/x"),
        ("https://user@a.example:443/x", "https://a.example/x"),
        ("https://a:b@c:d@a.example/x", "https://a.example/x"),
        ("https://a.example\\@b.example/x", "https://a.example/@b.example/x"),
        ("https://münchen.example/", "https://xn--mnchen-3ya.example/"),
        ("https://MÜNCHEN.example/", "https://xn--mnchen-3ya.example/"),
        ("https://mu\u0308nchen.example/", "https://xn--mnchen-3ya.example/"),
        ("https://m%C3%BCnchen.example/", "https://xn--mnchen-3ya.example/"),
        ("https://XN--MNCHEN-3YA.example/", "https://xn--mnchen-3ya.example/"),
        ("https://新闻。例子/", "https://xn--efvy88h.xn--fsqu00a/"),
        ("https://straße.example/", "https://xn--strae-oqa.example/"),
        ("https://ａ．example/", "https://a.example/"),
        ("https://a\u00ad.example/", "https://a.example/"),
        ("http://127.0.0.1/", "http://127.0.0.1/"),
        ("http://127.1/", "http://127.0.0.1/"),
        ("http://0x7F.0.0.01/", "http://127.0.0.1/"),
        ("http://2130706433./", "http://127.0.0.1/"),
        ("http://[2001:DB8:0:0::1]:80/", "http://[2001:db8::1]/"),
        ("http://[::FFFF:1.2.3.4]/", "http://[::ffff:102:304]/"),
        ("http://a_b.example/", "http://a_b.example/"),
        ("file:///folder/page.html", "file:///folder/page.html"),
        ("S3://Bucket/a/../b", "s3://bucket/a/../b"),
        ("record://id/..", "record://id/.."),
        ("record://u%40id/", "record://u%40id/"),
        ("record://id/a%2Fb", "record://id/a%2Fb"),
    ],
)
def test_spellings_of_one_page_become_one(given_url: str, canonical: str) -> None:
    assert canonical_url(given_url) == canonical
    assert canonical_url(canonical) == canonical


@pytest.mark.parametrize(
    "url",
    [
        *("", "a.example", "/path", "//a.example/", "mailto:a@b.example", "页", "://a.example/", "1http://a.example/"),
        *("https://", "https:///", "https:///?q", "https://u:p@/", "https://u:p@:80/", "record://", "record://u:p@"),
        *("https://a.example:65536/", "https://a.example:x/", "https://a.example:²/", "https://a.example:-1/"),
        *("https://a b.example/", "https://a%00.example/", "https://a|b.example/", "https://a.example%20/"),
        *("https://℀.example/", "https://" + "ü" * 300 + ".example/", "https://a.example/\ud800", "https://\ud800/"),
        *("http://256.1.1.1/", "http://1.2.3.4.5/", "http://x.9/", "http://09/", "http://1..2/", "http://4294967296"),
        *("http://[::1", "http://[::1]x/", "http://[fe80::1%25eth0]/", "http://[1.2.3.4]/", "http://" + "9" * 9999),
    ],
    ids=ascii,
)
def test_a_url_that_is_not_absolute_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="not an absolute URL"):
        canonical_url(url)


@pytest.mark.parametrize(
    ("url", "without"),
    [
        ("https://a.example/x#y", "https://a.example/x#y"),
        ("https://medium.example/@me/x?mail=a@b#@", "https://medium.example/@me/x?mail=a@b#@"),
        ("https://user:secret@A.example:443/x?b=@&a#@y", "https://A.example:443/x?b=@&a#@y"),
        ("HTTPS:\\\\user:sec@ret@a.example\\x", "https://a.example/x"),
        ("https:user:secret@a.example", "https://a.example"),
        (" ht\ttps://user:sec\nret@a.example/", "https://a.example/"),
        ("s3://key:secret@bucket/x", "s3://bucket/x"),
        ("https://user:sec/ret@a.example/", "a.example/"),
        ("https://user:sec?ret@a.example/", "a.example/"),
        ("user:secret@a.example/x", "a.example/x"),
        ("https://user:secret@/", "/"),
    ],
)
def test_user_names_and_passwords_are_taken_out_of_a_url(url: str, without: str) -> None:
    assert without_userinfo(url) == without
    assert without_userinfo(without) == without


@pytest.mark.parametrize("url", ["https://user:secret@/", "user:secret@a.example", "https://user:sec/ret@a.example:x/"])
def test_what_is_said_of_a_url_that_is_refused_shows_no_password(url: str) -> None:
    with pytest.raises(ValueError, match="not an absolute URL") as refused:
        canonical_url(url)
    assert "ret" not in str(refused.value)


@given(
    scheme=st.sampled_from(["https", "HTTP", "ws", "record"]),
    authority=st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    path=st.text(st.sampled_from("aB./\\%24eEfF?&=+#@:;|~ \t页ß"), max_size=30),
)
def test_the_canonical_spelling_is_its_own_in_ascii_and_without_userinfo(
    scheme: str, authority: str, path: str
) -> None:
    try:
        once = canonical_url(f"{scheme}://{authority}/{path}")
    except ValueError:
        return
    assert canonical_url(once) == once
    assert once.isascii()
    assert "@" not in once.split("/")[2]


@given(st.from_regex(ALREADY, fullmatch=True) | st.from_regex(OF_AN_ID_ALREADY, fullmatch=True))
def test_what_is_taken_for_canonical_is_so(url: str) -> None:
    assert _spelled(_split(url)) == url


@given(
    host=st.from_regex(r"[a-zA-Z0-9]{1,20}\.example", fullmatch=True),
    path=st.from_regex(r"(?:[a-zA-Z0-9~(),:'!$*=-]|%20|%2F|%3f|%E9%a1%B5){0,30}", fullmatch=True),
    query=st.dictionaries(st.text("abcABC+ 页", min_size=1, max_size=5), st.text("abc+ 页", max_size=5), max_size=4),
)
def test_what_crawls_meet_is_spelled_as_by_w3lib(host: str, path: str, query: dict[str, str]) -> None:
    url = f"https://{host}/{path}?" + "&".join(f"{name}={value}" for name, value in query.items())
    assert canonical_url(url) == canonicalize_url(url)


@given(
    st.text(
        st.characters(exclude_categories=["Cs", "Cn", "Co", "Cc"], exclude_characters="/\\?#@:[]%ϲϹ𝛓𝜍𝝇𝞁𝞻"), max_size=9
    )
)
def test_names_of_hosts_are_folded_as_by_uts_46(name: str) -> None:
    try:
        folded = idna.uts46_remap(f"a{name}b", std3_rules=False, transitional=False)
    except idna.IDNAError:
        return
    ascii_name = ".".join(f"xn--{e.encode('punycode').decode()}" if not e.isascii() else e for e in folded.split("."))
    try:
        assert canonical_url(f"https://a{name}b.example/") == f"https://{ascii_name}.example/"
    except ValueError:
        assert not re.fullmatch(r"[^\x00-\x20\x7f#%/:<>?@\[\\\]^|]+", folded)


@pytest.mark.data("standards")
def test_what_browsers_take_for_one_url_is_one(standards: Path) -> None:
    cases = [case for case in json.loads((standards / URL_TESTS).read_text()) if isinstance(case, dict)]
    absolute = [case for case in cases if case["input"].strip().partition(":")[0].lower() in BROWSERS]
    held = 0
    for case in absolute:
        if case.get("base") is not None or REFUSED_BY_BROWSERS.search(case["input"]):
            continue
        held += 1
        if case.get("failure"):
            with pytest.raises(ValueError, match="not an absolute URL"):
                canonical_url(case["input"])
        else:
            assert canonical_url(case["input"]) == canonical_url(case["href"]), case["input"]
    assert held > 250


def odd_urls(count: int) -> list[str]:
    """URLs with all features that the rule handles, drawn with a fixed seed."""
    chance = random.Random(35)
    hosts = ["A.example", "a.example.", "münchen.example", "XN--MNCHEN-3YA.example", "ｅ.example", "straße.example"]
    hosts += [
        "127.1",
        "0x7f.1",
        "1.2.3.4.",
        "[::1]",
        "[::ffff:1.2.3.4]",
        "a_b",
        "a%2Eb",
        "新闻。例子",
        "ΑΣ.gr",
        "a\u00ad",
    ]
    parts = (
        ["http://", "https://", "HTTPS:\\\\", "ftp:", "ws:/", "record://", "file://", "\thttps:///"],
        ["", "", "user@", "u:p@", "a@b:c@", "%40@"],
        hosts,
        ["", "", "", ":", ":80", ":443", ":021", ":8080"],
    )
    path = ["/", "/a", "/..", "/.", "/%2e%2E", "//", "\\b", "/%41", "/%2f", "/%zz", "/a b", "/é", "/~(;,)", "/|[", "/@"]
    query = ["", "&", "a", "a=", "b=2", "b=1", "c=%20+", "d=é", "e=%ff", "f=/?:@", "%3D=&", "g==="]
    fragments = ["", "", "#", "#x", "#?y@"]
    urls = []
    for _ in range(count):
        begin = "".join(map(chance.choice, parts))
        middle = "".join(chance.choices(path, k=chance.randrange(5)))
        end = "&".join(chance.choices(query, k=chance.randrange(4)))
        urls.append(begin + middle + ("?" + end if end else "") + chance.choice(fragments))
    return urls


def test_the_rule_is_the_one_that_its_name_stands_for() -> None:
    """When this fails, either undo the change or give the rule another name: an index knows its URLs by that name."""
    urls = odd_urls(2000)
    spelled = "\n".join(map(canonical_url, urls))
    assert hashlib.blake2b(spelled.encode(), digest_size=8).hexdigest() == RECORDED[CANONICALIZATION]
    assert len(set(urls)) > 1900
    assert 1000 < len(set(spelled.splitlines())) < len(set(urls))


def test_no_url_is_looked_at_for_long_to_see_that_it_is_canonical() -> None:
    assert ALREADY.fullmatch("https://" + "a-" * 50_000 + "/" + "b/" * 50_000 + "?" + "c" * 100_000 + "#") is None


@pytest.mark.parametrize(
    "url",
    [
        "https://a.example/" + "%41/../" * 100_000,
        "https://a.example/?" + "a=%41&" * 100_000,
        "https://" + "a." * 300_000 + "example/",
        "https://" + "@" * 1_000_000 + "a.example/",
        "https://a.example:" + "0" * 1_000_000 + "443/",
        "https:" + "\\" * 1_000_000 + "a.example/",
        " " * 1_000_000 + "https://a.example/" + "\t" * 1_000_000,
        "https://" + "ü." * 500_000,
        "https://[" + ":" * 1_000_000 + "]/",
        "http://" + "1." * 500_000 + "1",
        "http://" + "1" * 1_000_000,
    ],
    ids=["dots", "query", "host", "userinfo", "port", "slashes", "blanks", "IDN", "IPv6", "numbers", "number"],
)
def test_a_url_of_a_million_characters_is_spelled_or_refused_in_line_with_its_length(url: str) -> None:
    """A rule with quadratic time would take hours here, and run into pytest's limit."""
    try:
        assert len(canonical_url(url)) <= 3 * len(url)
    except ValueError as refused:
        assert len(str(refused)) < 1000
