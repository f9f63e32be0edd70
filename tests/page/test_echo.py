"""Which address a short page repeats, and which it is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.page.echo import MOST_WORDS, without_echo

OWN = "https://a.example/shop/a%20long-name.html?id=7"


@pytest.mark.parametrize(
    "address",
    [
        "/old/press/2009/a-long-name.html",
        "/shop/item.php?id=77",
        "/foo.html",
        "/x?y=1",
        "/über/uns",
        "/%C3%BCber/uns",
        "https://b.example/old/press.html",
        "http://www.b.example/",
        "www.b.example/old",
        "/shop/a%20long-name.html",
        "/shop/a long-name.html?id=7",
        OWN,
    ],
)
@pytest.mark.parametrize(
    "says",
    [
        "The page {} does not exist or has been moved.",
        "Not Found: the requested URL ({}) was not found on this server.",
        "Seite „{}“ wurde hier leider nicht mehr gefunden.",
        "Страница {}, которую вы ищете, не найдена здесь",
        "页面 {} 不存在，请检查地址是否正确。",
        '{{"status": 404, "error": "not found here at all", "path": "{}"}}',
    ],
)
def test_the_address_that_an_error_page_names_is_left_out(says: str, address: str) -> None:
    assert without_echo(says.format(address), OWN) == says.format(" ").replace("{{", "{").replace("}}", "}")


def test_two_spellings_of_one_address_are_one() -> None:
    text = "The page http://www.b.example/old/x.html (/old/x.html) was not found on this server."
    assert without_echo(text) == "The page   ( ) was not found on this server."


@pytest.mark.parametrize(
    "text",
    [
        "The page /about is gone for now.",
        "The page /about/ is gone for now.",
        "We walk 4 km/h and/or 1/2 of it, on 24/12/2025 at 10 / 11.",
        "/etc/passwd",
        "Watch this: https://b.example/video-1",
        "See /one/page and /other/page for all of it.",
        "Read https://b.example/1 and https://b.example/2 as well, both are good.",
        "Nothing was found for a-long-name here.",
        "Model AB-1234 is in stock, five euros each.",
        "A text without any address.",
        "",
        "word " * MOST_WORDS + "and the page /old/press.html",
        "The page /old/press.html " + "x" * 5000,
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert without_echo(text, "https://a.example/about") == text


def test_a_url_that_cannot_be_read_repeats_nothing() -> None:
    assert without_echo("The page /old is gone", "http://[/old-name") == "The page /old is gone"


@given(st.text(alphabet="a/.:?= \n<htps"), st.text(alphabet="a/:?%2"))
def test_nothing_is_added(text: str, url: str) -> None:
    assert len(without_echo(text, url)) <= len(text)
