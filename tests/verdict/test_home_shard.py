"""The shard that stores a survivor."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from msgspec import structs

from crawler_plugin.wire.forgetting import MAX_U64
from crawler_plugin.wire.messages import Claim
from worker.index.queries import Queries
from worker.verdict.decide import home_shard, home_shards


def claim(fingerprint: int | None, text_hash: int = 0) -> Claim:
    return Claim(partition=3, offset=5, clock=0, url="u", fingerprint=fingerprint, text_hash=text_hash)


# The golden ratio's multiplier is 0x9E3779B97F4A7C15: its top bits are 1001 1110, those of its double 0011 1100.
@pytest.mark.parametrize(
    ("fingerprint", "shards", "home"),
    [(0, 8, 0), (1, 1, 0), (1, 2, 0b1), (1, 8, 0b100), (1, 16, 0b1001), (2, 2, 0), (2, 8, 0b001), (2, 16, 0b0011)],
)
def test_shards_are_pinned_since_the_index_topic_outlives_the_program(fingerprint: int, shards: int, home: int) -> None:
    assert home_shard(claim(fingerprint), shards) == home


@pytest.mark.parametrize("value", [0, 1, 0xFFFF, 1 << 63, MAX_U64])
def test_a_page_without_fingerprint_lives_where_its_text_does(value: int) -> None:
    assert home_shard(claim(None, text_hash=value), 8) == home_shard(claim(value, text_hash=99), 8)


def test_nothing_but_content_says_where_a_page_lives() -> None:
    one = Claim(partition=0, offset=1, clock=2, url="a", fingerprint=77, text_hash=5, tokens=1)
    two = Claim(partition=9, offset=8, clock=7, url="b", fingerprint=77, text_hash=6, tokens=3, language="zh")
    assert home_shard(one, 8) == home_shard(two, 8)


@pytest.mark.parametrize("shards", [2, 7, 64])
@pytest.mark.parametrize("kind", ["random", "counting", "high bits only"])
def test_every_shard_gets_its_share(kind: str, shards: int) -> None:
    chance = random.Random(1)
    count = 64_000
    values = {
        "random": [chance.getrandbits(64) for _ in range(count)],
        "counting": list(range(count)),
        "high bits only": [number << 48 for number in range(count)],
    }[kind]
    homes = Counter(home_shard(claim(value), shards) for value in values)
    assert set(homes) == set(range(shards))
    assert max(homes.values()) < 1.2 * count / shards
    assert min(homes.values()) > 0.8 * count / shards


def test_one_doubted_text_under_many_titles_lives_in_all_shards_and_under_one_title_in_one() -> None:
    doubted = [structs.replace(claim(77), doubt=1, title=number) for number in range(1, 4000)]
    homes = Counter(home_shard(one, 8) for one in doubted)
    assert len(homes) == 8
    assert max(homes.values()) < 1.2 * len(doubted) / 8
    template = structs.replace(doubted[0], doubt=2, site=5, tokens=3, url="another")
    assert home_shard(template, 8) == home_shard(doubted[0], 8)


def test_an_announced_text_lives_in_one_shard_under_any_title() -> None:
    assert {home_shard(structs.replace(claim(77), title=number, site=number), 8) for number in range(99)} == {
        home_shard(claim(77), 8)
    }


@pytest.mark.parametrize("shards", [1, 3, 8])
def test_the_shards_of_columns_are_those_of_their_rows(shards: int) -> None:
    chance = random.Random(shards)
    rows = [
        structs.replace(
            claim(chance.choice((None, chance.getrandbits(64))), text_hash=chance.getrandbits(64)),
            title=chance.choice((0, chance.getrandbits(32))),
            doubt=chance.randrange(3),
        )
        for _ in range(500)
    ]
    assert home_shards(Queries.of(rows), shards).tolist() == [home_shard(row, shards) for row in rows]
