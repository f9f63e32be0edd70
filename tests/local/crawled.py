"""Pages of a small crawl: texts with edits, copies elsewhere, pages fetched again, and some that cannot be read."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict
from typing import cast

from worker.local import FetchedPage
from worker.local.page import AboutPage

BEGUN = 1_700_000_000_000
"""Milliseconds since 1970 UTC."""
HOUR = 3_600_000
BEGINS, ENDS = ("har", "sau", "mas", "lan", "cop", "val"), ("bour", "cer", "tern", "per", "ley", "wick")
WORDS = [begin + end for begin in BEGINS for end in ENDS]
CHARACTERS = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余成岁律吕调阳云腾致雨露结为霜金生丽水玉出昆冈"


def about(page: FetchedPage) -> AboutPage:
    """The data on a page in addition to its URL and body."""
    said = asdict(page)
    return cast(AboutPage, {name: said[name] for name in AboutPage.__annotations__})


def texts(chance: random.Random, count: int) -> list[str]:
    """Long and short ones, a quarter of them Chinese."""
    found = []
    for _ in range(count):
        length = chance.choice((0, 2, 20, 60, 60, 150))
        if chance.random() < 0.25:
            found.append("".join(chance.choice(CHARACTERS) for _ in range(2 * length)))
        else:
            found.append(" ".join(chance.choice(WORDS) for _ in range(length)))
    return found


def edited(text: str, chance: random.Random) -> str:
    """The text with some words replaced; often with none replaced."""
    parts, joint = (text.split(), " ") if " " in text else (list(text), "")
    for _ in range(chance.choice((0, 0, 1, 3, 10)) if parts else 0):
        parts[chance.randrange(len(parts))] = chance.choice(WORDS)
    return joint.join(parts)


def crawl(seed: int, count: int, *, odd: bool = False) -> Iterator[tuple[FetchedPage, int]]:
    """Pages, each with the time at which it came. With ``odd`` some have no body or no URL, as crawls may find them but
    calls do not get them."""
    chance = random.Random(seed)
    known = texts(chance, max(4, count // 6))
    urls = [f"http://{chance.choice('abc')}.site{n % 3}.example/{n}" for n in range(max(4, count // 2))]
    before: list[tuple[str, str]] = []
    for number in range(count):
        now = BEGUN + number * HOUR
        text = edited(chance.choice(known), chance)
        fetched = chance.choice((None, now, now, now - chance.randrange(200) * HOUR, now + 10_000 * HOUR))
        headers = {"spider": chance.choice(("news", "shop"))} if chance.random() < 0.8 else {}
        url = chance.choice(urls)
        if before and chance.random() < 0.2:
            url, text = chance.choice(before)
        before.append((url, text))
        body = f"<html><head><title>t</title></head><body><article><p>{text}</p></article></body></html>"
        match chance.randrange(24):
            case 0 | 1 if not odd:
                yield FetchedPage(url, b"%PDF-1.7 " + bytes(9), fetched=fetched, headers=headers), now
            case 0:
                yield FetchedPage(url, fetched=fetched, headers=headers), now
            case 1:
                yield FetchedPage("no/absolute/url", body, fetched=fetched), now
            case 2:
                yield FetchedPage(url, body, fetched=fetched, headers=headers | {"status": "200 OK"}), now
            case 3:
                yield FetchedPage(url, b"\x00\x01\x02" * chance.randrange(3), fetched=fetched), now
            case 4 | 5 | 6:
                yield FetchedPage(url, text=text, fetched=fetched, headers=headers), now
            case 7:
                yield FetchedPage(url + "?b=2&a=1#part", body, fetched=fetched, headers=headers), now
            case 8:
                encoded = body.encode("gb18030")
                yield FetchedPage(url, encoded, encoding="gb18030", fetched=fetched, headers=headers), now
            case _:
                page = FetchedPage(url, body, content_type="text/html", fetched=fetched, headers=headers)
                yield page, now


def shop(pages: int, common: int = 250, own: int = 20) -> list[FetchedPage]:
    """Products of a shop in a template with a long text, so that they are judged as one page. The text repeats each
    title, and the titles are alike: so nothing shows that the text may be the shop's."""
    chance = random.Random(5)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 9))) for _ in range(4000)]
    everywhere = " ".join(chance.choices(words, k=common))
    return [
        FetchedPage(
            f"https://shop.example/products/{name}-{number}",
            f"<html><head><title>Hand made harbour lamp {name} {number} | Shop</title></head><body><article>"
            f"<h1>Lamp {name}</h1><p>A hand made harbour lamp {name}: {' '.join(chance.choices(words, k=own))}</p>"
            f"<p>{everywhere}</p></article></body></html>",
            content_type="text/html",
        )
        for number, name in enumerate(chance.choices(words, k=pages))
    ]


def network(sites: int = 2, products: int = 150, text: int = 84) -> list[FetchedPage]:
    """Shops of one network, in turn: each product's page is the same text of ``text`` words, and each product has a
    name that is unique in all shops."""
    chance = random.Random(11)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 9))) for _ in range(4000)]
    everywhere, names = " ".join(words[:text]), words[text:]
    return [
        FetchedPage(
            f"https://www.shop{site}.example/products/{name}",
            f"<html><head><title>{name.title()} {names[-number - 1].title()} | Shop {site}</title></head>"
            f"<body><article><p>{everywhere}</p></article></body></html>",
            content_type="text/html",
        )
        for number in range(products)
        for site in range(sites)
        for name in names[sites * number + site : sites * number + site + 1]
    ]
