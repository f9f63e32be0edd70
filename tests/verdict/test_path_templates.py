"""What differs from page to page is a placeholder."""

from __future__ import annotations

import pytest

from worker.verdict.path_templates import Address, address_of


@pytest.mark.parametrize(
    ("url", "template"),
    [
        ("https://a.example", "a.example"),
        ("https://A.example:8080/Shop/4711", "a.example/Shop/{number}"),
        (
            "https://a.example/2023/11/14/some-long-title-of-news.html",
            "a.example/{number}/{number}/{number}/{words}.html",
        ),
        ("https://a.example/2023-11-14/x", "a.example/{date}/x"),
        ("https://a.example/20231114.html", "a.example/{date}.html"),
        ("https://a.example/item/3f2504e0-4f89-11d3-9a0c-0305e82c3301", "a.example/item/{id}"),
        ("https://a.example/c/deadbeef01/", "a.example/c/{id}/"),
        ("https://a.example/v/dQw4w9WgXcQ2", "a.example/v/{id}"),
        ("https://a.example/page12.html?b=2&a=1&b=3#top", "a.example/page{number}.html?a&b"),
        ("https://a.example/about-us", "a.example/about-us"),
        ("https://a.example/%E5%A4%A9%E5%9C%B0%E7%8E%84%E9%BB%84", "a.example/{words}"),
        ("https://a.example/" + "x/" * 20, "a.example/x/x/x/x/x/x/x/x/…"),
        ("not a url", "{words}"),
        ("http://[broken/", "(no URL)"),
    ],
)
def test_a_template_is_host_path_and_names_of_the_query(url: str, template: str) -> None:
    assert address_of(url).template == template


def test_the_host_is_told_apart() -> None:
    assert address_of("https://a.example/1") == Address("a.example", "a.example/{number}")
    assert address_of("mail").host == ""
