"""The scopes in which pages are compared."""

from __future__ import annotations

import pytest

from worker.stream.partition.scopes import ALL_PAGES, ScopeOf, everywhere, of_header, of_host, of_site, within

SITE = of_site()


@pytest.mark.parametrize(
    ("a", "b", "same_host", "same_site"),
    [
        ("http://example.org/", "https://example.org:8443/page", True, True),
        ("http://www.example.org/", "http://news.example.org/", False, True),
        ("http://a.example.co.uk/", "http://b.example.co.uk/", False, True),
        ("http://one.co.uk/", "http://two.co.uk/", False, False),
        ("http://one.github.io/", "http://two.github.io/", False, False),
        ("http://www.news.com.cn/", "http://bbs.news.com.cn/", False, True),
        ("http://xn--fsqu00a.xn--fiqs8s/", "http://www.xn--fsqu00a.xn--fiqs8s/", False, True),
        ("http://10.1.2.3/", "http://10.9.2.3/", False, False),
        ("http://[::1]:80/", "http://[::1]/", True, True),
        ("http://localhost/", "http://localhost:8000/", True, True),
        ("http://co.uk/", "http://uk/", False, False),
        ("http://example.org./", "http://example.org/", True, True),
    ],
)
def test_hosts_and_sites(a: str, b: str, same_host: bool, same_site: bool) -> None:
    assert (of_host()(a, ()) == of_host()(b, ())) is same_host
    assert (SITE(a, ()) == SITE(b, ())) is same_site
    assert everywhere(a, ()) == everywhere(b, ()) == ALL_PAGES


@pytest.mark.parametrize("url", ["file:///etc/motd", "http://[/"])
def test_a_url_without_a_host_is_in_the_scope_of_all_such(url: str) -> None:
    assert of_host()(url, ()) == SITE(url, ()) == ALL_PAGES


def test_of_a_header_its_last_value_counts_and_pages_without_it_are_together() -> None:
    of_spider = of_header("spider")
    assert of_spider("http://a/", [("spider", b"news")]) == of_spider(
        "http://b/", [("spider", b"x"), ("spider", b"news")]
    )
    assert of_spider("http://a/", [("spider", b"news")]) != of_spider("http://a/", [("spider", b"board")])
    assert of_spider("http://a/", [("Spider", b"news")]) == of_spider("http://a/", ()) == ALL_PAGES


def test_with_a_key_the_same_pages_are_together_by_other_bits() -> None:
    key, headers = bytes(range(16)), [("spider", b"news")]
    for public, keyed in (
        (of_host(), of_host(key)),
        (of_site(), of_site(key)),
        (of_header("spider"), of_header("spider", key)),
    ):
        assert keyed("http://a.example/1", headers) == keyed("http://a.example/2", headers)
        assert keyed("http://a.example/", headers) != public("http://a.example/", headers)
        assert keyed("http://a.example/", headers) != keyed("http://b.example.org/", [("spider", b"board")])
        assert keyed("file:///etc/motd", ()) == ALL_PAGES
        assert "\\x0" not in repr(keyed)


@pytest.mark.parametrize("whole", [everywhere, of_host(), of_header("spider")])
def test_a_page_that_names_a_scope_is_apart_from_all_but_its_like_within_the_whole(whole: ScopeOf) -> None:
    part = within(whole)
    here, spider = "http://a.example/", ("spider", b"news")
    other = "http://b.example/" if whole is not everywhere else here
    headers = {name: [spider, ("dedup-scope", name.encode())] for name in ("shop", "board")}
    assert part(here, [spider]) == whole(here, [spider]) == part(here, [spider, ("dedup-scope", b"")])
    assert len({part(here, told) for told in ([spider], *headers.values())}) == 3
    assert part(here, headers["shop"]) == part(here + "other", headers["shop"])
    is_one = whole(here, [spider]) == whole(other, [spider])
    assert (part(here, headers["shop"]) == part(other, headers["shop"])) is is_one
    keyed = within(whole, bytes(range(16)))
    assert keyed(here, headers["shop"]) not in {part(here, headers["shop"]), keyed(here, headers["board"])}
