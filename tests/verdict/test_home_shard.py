"""Which one shard stores a survivor."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from worker.messages import MAX_U64, Claim
from worker.verdict.decide import home_shard


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


@pytest.mark.parametrize("shards", [1, 2, 3, 7, 8, 64])
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
