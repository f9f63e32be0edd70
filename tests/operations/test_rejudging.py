"""Survivors are judged again by other rules, as far as an index keeps the data that these rules need."""

from __future__ import annotations

import random
from functools import partial

import pytest

from crawler_plugin.wire.errors import Refused
from tests.simulation.plain_index import PlainIndex
from tests.stream.script import policy
from worker.compose import parts
from worker.config import load_settings
from worker.fingerprint.near import SimHashNear
from worker.fingerprint.scheme import Scheme
from worker.fingerprint.scoped import ScopedNear
from worker.index.entries import Survivor
from worker.operations.rejudging import Rejudging, is_judged_again


def scheme(*overrides: str) -> Scheme:
    settings = load_settings(config=None, overrides=overrides, environ={})
    return parts.scheme(settings, parts.recipe(settings))


@pytest.mark.parametrize("override", ["topics.shards=5", "near.ttl_days=7", "near.track_changes=true"])
def test_what_changes_no_rule_asks_for_no_judgement(override: str) -> None:
    assert not is_judged_again(scheme(), scheme(override))


@pytest.mark.parametrize("override", ["near.k=2", "near.threshold=0.7", "near.predicate=simhash"])
def test_rules_over_what_is_kept_judge_again(override: str) -> None:
    assert is_judged_again(scheme(), scheme(override, "topics.shards=5"))


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("features.minimum=5", "features.minimum"),
        ("near.scope=site", "near.scope"),
        ("segment.fold_traditional=false", "segment.fold_traditional"),
        ("page.max_bytes=100000", "page.max_bytes"),
    ],
)
def test_what_needs_pages_is_refused_with_the_way_there(override: str, said: str) -> None:
    with pytest.raises(Refused, match=rf"does not keep .*{said}.*output.mode=count .* `python -m worker switch`"):
        is_judged_again(scheme(), scheme(override))


def test_sketches_that_were_never_made_cannot_be_compared() -> None:
    with pytest.raises(Refused, match="does not keep"):
        is_judged_again(scheme("near.predicate=simhash"), scheme())


def test_those_fall_that_are_near_to_an_earlier_one_that_has_stayed() -> None:
    near = ScopedNear(SimHashNear(2))
    for seed in range(20):
        chance = random.Random(seed)
        rejudging = Rejudging(policy(near=near, shards=5), lambda: PlainIndex(near))
        stay: list[Survivor] = []
        for batch in range(12):
            bits = partial(chance.getrandbits, 8)
            survivors = [
                Survivor((batch, 2 * place), f"http://{batch}-{place}/", bits(), 100 * batch + place, 9, 0)
                for place in range(chance.randint(0, 5))
            ]
            fallen = dict(rejudging(batch, survivors))
            for survivor in survivors:
                earliest = next((kept for kept in stay if near(survivor, kept)), None)
                if earliest is None:
                    stay.append(survivor)
                    assert survivor.order not in fallen
                else:
                    assert fallen.pop(survivor.order)[:2] == (survivor.url, earliest.url)
            assert not fallen
        assert 3 < len(stay) < 20
