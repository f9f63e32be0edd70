"""The predicates split into conditions, compared with the predicates themselves."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

from worker.fingerprint.conditions import rules
from worker.fingerprint.near import HAMMING_RATIO, AccurateNear, SimHashNear
from worker.fingerprint.sketch import SKETCH_BYTES


@dataclass(frozen=True)
class Record:
    fingerprint: int | None
    text_hash: int
    tokens: int
    sketch: bytes = b""
    bands: bytes = b""
    site: int = 0
    title: int = 0
    title_words: int = 0
    doubt: int = 0


def test_what_was_found_stands_beside_what_is_asked() -> None:
    one = Record(0b111, 1, 60, bytes(32), bytes(32))
    other = Record(0b000, 2, 50, bytes(32), bytes(32))
    hamming, sketch = rules(AccurateNear(), one, other)
    assert [(condition.found, condition.holds) for condition in hamming.conditions] == [
        ("3", True),
        ("60 and 50", True),
        ("128, a similarity of 1.00", True),
        ("two sites", True),
    ]
    assert [condition.found for condition in sketch.conditions] == [
        "8 of 8",
        "128, a similarity of 1.00",
        "60 and 50",
        "two sites",
    ]


def records(chance: random.Random) -> list[Record]:
    """Records, some of which are near to each other by one rule or another."""
    word, sketch = chance.getrandbits(64), chance.randbytes(SKETCH_BYTES - 1) + b"\x01"
    found = []
    for _ in range(6):
        kept = bytearray(sketch)
        for place in chance.sample(range(SKETCH_BYTES - 1), chance.choice((0, 5, 12, 30))):
            kept[place] = chance.getrandbits(8)
        fingerprint = word
        for bit in chance.sample(range(64), chance.choice((0, 2, 4, 20))):
            fingerprint ^= 1 << bit
        bare = chance.random() < 0.2
        found.append(
            Record(
                None if bare else fingerprint,
                chance.randrange(2),
                chance.choice((0, 50, 60, 90)),
                b"" if bare else bytes(kept),
                b"" if bare else chance.choice((bytes(range(32)), chance.randbytes(32))),
            )
        )
    return found


@pytest.mark.parametrize("near", [SimHashNear(3), SimHashNear(3, HAMMING_RATIO), AccurateNear()], ids=repr)
def test_two_records_are_near_where_a_rule_holds_and_the_first_is_the_reason(near: SimHashNear | AccurateNear) -> None:
    chance = random.Random(3)
    reasons = set()
    for _ in range(200):
        some = records(chance)
        for a in some:
            for b in some:
                match = near(a, b)
                holding = [rule.name for rule in rules(near, a, b) if rule.holds]
                assert (match is not None) is bool(holding)
                if match is not None:
                    reasons.add(match.reason)
                    assert match.reason.split("-")[0] == holding[0].split("-")[0] or match.distance == 0
    assert {"exact-text", "exact-bytes"} <= reasons
    assert ("sketch" in reasons) is isinstance(near, AccurateNear)
