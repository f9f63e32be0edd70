"""The protocol in a world with one page per batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from crawler_plugin.wire.messages import Block, Claim
from tests.stream.script import policy
from worker.fingerprint.near import AccurateNear
from worker.fingerprint.scoped import ScopedNear
from worker.index.shard import Shard
from worker.local.single_shard import SingleShard
from worker.stream.log_follower import DecidedBatch
from worker.stream.policy import Policy
from worker.stream.shard.memory_limit import MIB, MemoryLimit, OverMemoryLimit
from worker.verdict.claims import Claims

NEAR = ScopedNear(AccurateNear(3))
POLICY = replace(policy(), shards=1, near=NEAR)

SKETCH = b"\x01" * 31 + b"\x00"


def new_index() -> Shard:
    return Shard.by(NEAR)


def single(rules: Policy = POLICY, blocks: Sequence[Block] = (), limit: int = 0) -> SingleShard:
    return SingleShard(rules, new_index, MemoryLimit(limit, sketched=True), blocks)


def claim(url: str, fingerprint: int | None, clock: int = 0, **fields: Any) -> Claim:
    given: dict[str, Any] = {"partition": 0, "offset": 99, "text_hash": fingerprint or 0, "tokens": 9} | fields
    return Claim(url=url, fingerprint=fingerprint, clock=clock, **given)


def judged(shard: SingleShard, *claims: Claim) -> list[str]:
    found: list[str] = []
    for one in claims:
        decided = shard.decide(Claims.of([one]))
        shard.has_room_for(decided)
        shard.take(decided)
        found.append(decided.decisions.rows[0].outcome)
    return found


A, B, A_AGAIN, C = claim("a", 0), claim("b", 1), claim("a", 0b111), claim("c", 0b1111111)


def test_each_page_is_judged_by_those_before_it_under_a_number_of_its_own() -> None:
    shard = single()
    assert judged(shard, A, B, A_AGAIN, C) == ["unique", "duplicate", "refetch", "unique"]
    assert shard.judged == 4
    assert shard.decide(Claims.of([B])).decisions.rows[0].order == (4, 0)


def test_pages_that_are_judged_together_count_one_by_one() -> None:
    shard = single()
    assert judged(shard, A) == ["unique"]
    decided = shard.decide(Claims.of([C, B, claim("d", 0b1111110)]))
    shard.take(decided)
    assert shard.judged == 4
    originals = [decision.original for decision in decided.decisions]
    assert [original and sum(original.order) for original in originals] == [None, 0, 1]
    assert judged(shard, claim("e", 0b1111110)) == ["duplicate"]
    shard.seal()
    assert single(blocks=list(shard.sealed)).judged == 5


def test_a_page_comes_again_if_its_survivor_has_its_url_whether_stored_or_judged_together() -> None:
    shard = single()
    judged(shard, A, C)
    far = 0xFF << 40
    asked = [
        A_AGAIN,
        B,
        claim("c", 0b1111111),
        claim("n", far),
        claim("n", far),
        claim("m", far),
        claim("", None, dead="x"),
    ]
    decisions = shard.decide(Claims.of(asked)).decisions
    wanted = ["refetch", "duplicate", "refetch", "unique", "refetch", "duplicate", "dead"]
    assert [one.outcome for one in decisions] == wanted
    assert decisions.again.tolist() == [outcome == "refetch" for outcome in wanted]


def test_to_decide_changes_nothing() -> None:
    shard = single()
    assert [decision.outcome for _ in range(3) for decision in shard.decide(Claims.of([A])).decisions] == ["unique"] * 3
    assert shard.judged == 0


def test_the_sealed_blocks_hold_all_pages_and_go_on_from_each_other() -> None:
    shard = single()
    shard.seal()
    assert not shard.sealed, "nothing was judged"
    judged(shard, A, B)
    shard.seal()
    judged(shard, A_AGAIN)
    shard.seal()
    judged(shard, C)
    shard.seal()
    assert [(block.after, block.to, block.count) for block in shard.sealed] == [(-1, 1, 1), (1, 2, 0), (2, 3, 1)]
    again = single(blocks=list(shard.sealed))
    assert again.judged == 4
    assert judged(again, B, claim("d", 0b1111110)) == ["duplicate", "duplicate"]


def test_a_page_of_the_far_future_moves_the_log_s_time_by_a_tenth_of_the_ttl() -> None:
    shard = single(replace(POLICY, ttl=10))
    pages = [claim("a", 0, 100), claim("b", 0b11111, 1 << 50), claim("c", 0, 100), claim("d", 0b11111, 1 << 50)]
    assert judged(shard, *pages) == ["unique", "unique", "duplicate", "duplicate"]
    decided = shard.decide(Claims.of([claim("e", 0, 1 << 50), claim("f", 0, 1 << 50)]))
    assert [decision.claim.clock for decision in decided.decisions] == [103, 104]


def test_what_does_not_fit_is_refused_before_it_counts() -> None:
    shard = single(limit=9 * MIB)
    with pytest.raises(OverMemoryLimit, match="not judged"):
        judged(shard, *(claim(f"{n}", n * 0x9E3779B97F4A7C15 & (1 << 64) - 1) for n in range(30_000)))
    count = shard.judged
    assert count > 1000
    assert judged(shard, claim("copy", 0)) == ["duplicate"], "a page that is not stored needs no room"
    shard.seal()
    with pytest.raises(OverMemoryLimit, match="the state holds"):
        single(blocks=list(shard.sealed), limit=MIB)


def test_what_has_expired_makes_room() -> None:
    shard = single(replace(POLICY, ttl=1000), limit=9 * MIB)
    texts = [n * 0x9E3779B97F4A7C15 & (1 << 64) - 1 for n in range(30_000)]
    with pytest.raises(OverMemoryLimit):
        judged(shard, *(claim(f"{n}", text, 0 if n < 4000 else 1000) for n, text in enumerate(texts)))
    assert shard.judged > 4000
    new = [claim(f"new {n}", ~text & (1 << 64) - 1, 1900) for n, text in enumerate(texts[:200])]
    with pytest.raises(OverMemoryLimit):
        judged(shard, new[0])
    assert judged(shard, claim("copy", texts[4000], 1900)) == ["duplicate"], "from here on the first 4,000 are expired"
    assert judged(shard, *new) == ["unique"] * 200


def similarities(decided: DecidedBatch) -> list[float | None]:
    return [decision.similarity for decision in decided.decisions]


@pytest.mark.parametrize(
    ("fields", "others", "similar"),
    [
        ({}, {}, 1.0),
        ({}, {"text_hash": 5}, None),
        ({"sketch": SKETCH}, {"sketch": SKETCH, "text_hash": 5}, 1.0),
        ({"sketch": SKETCH}, {"text_hash": 5}, None),
    ],
    ids=["equal texts", "no sketches", "equal sketches", "one sketch"],
)
def test_similarity_is_told_where_something_tells(
    fields: dict[str, Any], others: dict[str, Any], similar: float | None
) -> None:
    shard = single()
    judged(shard, C, claim("a", 0, **fields))
    stored_before = claim("b", 0, **others)
    assert similarities(shard.decide(Claims.of([stored_before, claim("z", 0xFF << 40)]))) == [similar, None]
    together = claim("x", 0xFFFF << 30, **fields), claim("y", 0xFFFF << 30, **({"text_hash": 0xFFFF << 30} | others))
    assert similarities(shard.decide(Claims.of(together))) == [None, similar]


def test_a_dead_page_is_similar_to_none() -> None:
    shard = single()
    decided = shard.decide(Claims.of([claim("", None, dead="bad-url: x")]))
    assert (decided.decisions.rows[0].outcome, similarities(decided)) == ("dead", [None])
