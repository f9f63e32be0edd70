"""The site of a URL."""

from __future__ import annotations

import re

import pytest

from worker.sites import host_of, server_or_site, site_of, version


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("http://www.example.co.uk:80/a", "example.co.uk"),
        ("http://m.example.co.uk/", "example.co.uk"),
        ("http://shop-1.myshopify.com/", "shop-1.myshopify.com"),
        ("http://a.b.example./", "b.example"),
        ("http://example.notasuffix/", "example.notasuffix"),
        ("http://10.1.2.3/", "10.1.2.3"),
        ("http://[2001:db8::1]/", "2001:db8::1"),
        ("http://localhost:8000/", "localhost"),
        ("http://xn--55qx5d.cn/", "xn--55qx5d.cn"),
        ("http://co.uk/", "co.uk"),
        ("record://id/7", ""),
        ("file:///etc/motd", ""),
        ("http://[/", ""),
        ("", ""),
    ],
)
def test_the_site_is_the_registered_domain(url: str, site: str) -> None:
    assert site_of(host_of(url)) == site


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("http://www.example.co.uk:8000/a", "example.co.uk"),
        ("http://127.0.0.1:8000/a", "127.0.0.1:8000"),
        ("http://[::1]:8000/a", "[::1]:8000"),
        ("http://localhost/a", "localhost"),
        ("http://somebody@localhost:1/a", "localhost:1"),
        ("record://id/7", ""),
        ("a:", ""),
    ],
)
def test_without_a_domain_the_server_stands_for_the_site(url: str, site: str) -> None:
    assert server_or_site(url) == site


@pytest.mark.parametrize("host", ["." * 10_000, "a." * 5_000, "\x00", "а" * 300 + ".example", "*.ck", "-"])
def test_any_host_has_a_site(host: str) -> None:
    assert isinstance(site_of(host), str)


def test_the_list_says_of_which_day_it_is() -> None:
    assert re.fullmatch(r"20\d\d-\d\d-\d\d_\S+", version())
