"""Shops and papers whose pages differ in little, alone and in networks, in the order of a crawl."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from typing import Final

import pytest

from worker.config import Settings
from worker.local import Deduplicator, FetchedPage

PRODUCTS: Final = 60
KEPT: Final = PRODUCTS - 3
"""How many products of a shop are kept: a template is recognised by three other titles."""
CHANCE: Final = random.Random(37)
WORDS: Final = ["".join(CHANCE.choice("bdfgklmnprstv") + CHANCE.choice("aeiou") for _ in range(3)) for _ in range(900)]
TEMPLATE: Final = " ".join(CHANCE.choice(WORDS) for _ in range(84))
TITLES: Final = ("{shop} | {name}", "{name} | {shop}", "{name}_{shop}", "{shop}")


def sentence(chance: random.Random, words: int) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(words))


def page(host: str, number: int, title: str, heading: str, text: str) -> FetchedPage:
    body = f"<title>{title}</title><main><h1>{heading}</h1><p>{text}</p></main>"
    return FetchedPage(f"https://www.{host}/p/{number}", body.encode(), content_type="text/html")


def products(host: str, shop: str, title: str, own: int, named: bool) -> list[FetchedPage]:
    """Pages of products. With ``named`` each product's own words begin with its name."""
    chance = random.Random(f"{host} {own}")
    found = []
    for number in range(PRODUCTS):
        name = f"{sentence(chance, 2).title()} {chance.randrange(10, 99)}"
        text = f"{name if named else ''} {sentence(chance, own)}. {TEMPLATE}."
        found.append(page(host, number, title.format(shop=shop, name=name), name, text))
    return found


def kept(pages: Iterable[FetchedPage]) -> Counter[str]:
    """How many pages of each host are unique."""
    with Deduplicator(config=Settings()) as seen:
        judged = [(page, seen.judge(page.url, page.body, content_type="text/html")) for page in pages]
    return Counter((page.url or "").split("/")[2] for page, verdict in judged if verdict.verdict == "unique")


@pytest.mark.parametrize(("own", "named"), [(15, False), (15, True), (30, True)], ids=["short", "named", "long"])
@pytest.mark.parametrize("title", TITLES)
def test_a_shop_keeps_its_products(title: str, own: int, named: bool) -> None:
    pages = products("harbour-tools.example", "Harbour Tools", title, own, named)
    assert kept(pages)["www.harbour-tools.example"] >= KEPT


@pytest.mark.parametrize("title", TITLES)
def test_a_network_of_shops_keeps_the_products_of_each(title: str) -> None:
    shops = [
        ("harbour-tools.example", "Harbour Tools"),
        ("coast-garden.example", "Coast Garden"),
        ("fjord.test", "Fjord"),
    ]
    sites = [products(host, shop, title, 15, named=False) for host, shop in shops]
    one_by_one = kept(page for site in sites for page in site)
    in_turn = kept(page for pages in zip(*sites, strict=True) for page in pages)
    for host, _ in shops:
        assert min(one_by_one[f"www.{host}"], in_turn[f"www.{host}"]) >= KEPT, (host, one_by_one, in_turn)


def test_papers_of_one_house_share_articles_and_keep_their_own() -> None:
    chance = random.Random(5)
    hosts = ("harbour-post.example", "coast-daily.example", "fjord-times.test")
    shared = [(sentence(chance, 5).title(), sentence(chance, 220)) for _ in range(60)]
    pages = []
    for host in hosts:
        paper = host.split(".")[0].replace("-", " ").title()
        number = 0
        for headline, text in shared:
            pages.append(page(host, number, f"{paper} | {headline}", headline, text))
            number += 1
        for _ in range(100):
            headline = sentence(chance, 4).title()
            pages.append(page(host, number, f"{paper} | {headline}", headline, f"{sentence(chance, 40)}. {TEMPLATE}."))
            number += 1
    chance.shuffle(pages)
    found = kept(pages)
    assert found.total() <= 60 + 3 * 100
    assert all(found[f"www.{host}"] >= 97 for host in hosts)
    with Deduplicator(config=Settings()) as seen:
        judged = [(page, verdict) for page, verdict in seen.judge_all(pages)]
    of_shared = [verdict for page, verdict in judged if int((page.url or "").rsplit("/", 1)[1]) < 60]
    assert Counter(verdict.verdict for verdict in of_shared) == {"unique": 60, "duplicate": 120}
