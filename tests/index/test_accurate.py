"""A shard with ``accurate`` finds the entries that the predicate calls near, whatever the records; within a scope,
where there are scopes; and however many entries share a band's key."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fingerprint.definition.sketch import bands, sketch
from tests.index.test_blocks import header
from tests.index.worlds import TINY, every_engine
from tests.simulation.plain_index import PlainIndex
from worker.fingerprint.hashing import hash_words
from worker.fingerprint.near import AccurateNear, SimHashNear
from worker.fingerprint.scoped import ScopedNear
from worker.index.blocks import pack, unpack
from worker.index.engine import Engine
from worker.index.entries import Entries, Survivor
from worker.index.queries import Queries
from worker.index.shard import Shard

ENDLESS = hash_words([f"word {number % 150}" for number in range(400)])
COUNTS = (1, 2, 7, 13, 14, 15, 16, 21, 22, 23, 24, 32, 33, 60)
"""Numbers of tokens on both sides of every limit between kinds of sketches, and of bands' bigrams and trigrams."""
windows = st.tuples(st.integers(0, 40), st.sampled_from(COUNTS))
scopes = st.sampled_from((0, 1, 2**64 - 1))


@st.composite
def records(draw: st.DrawFn) -> Survivor:
    """A page with any of fingerprint, sketch and bands, from a text that has much in common with others."""
    start, count = draw(windows)
    tokens = ENDLESS[start : start + count]
    bare = draw(st.integers(0, 4)) == 0
    return Survivor(
        order=(0, 0),
        url="http://a/",
        fingerprint=None if bare else draw(st.sampled_from((0, 7, 15, 2**63, 2**64 - 1))),
        text_hash=draw(st.integers(0, 2)),
        tokens=count if draw(st.booleans()) else draw(st.sampled_from((0, 9, 30, 40))),
        fetched=0,
        sketch=b"" if draw(st.integers(0, 5)) == 0 else sketch(tokens),
        bands=b"" if draw(st.integers(0, 5)) == 0 else bands(tokens),
        scope=draw(scopes),
    )


def placed(pages: Sequence[Survivor], batch: int) -> list[Survivor]:
    return [page._replace(order=(batch, place), url=f"http://{batch}/{place}") for place, page in enumerate(pages)]


def said(index: Shard | PlainIndex, asked: Sequence[Survivor], expired_up_to: int) -> list[object]:
    found = index.earliest_near(Queries.of(asked), expired_up_to)
    return [
        (query, found.order(query), found.distance_of(query), found.reason(query), index.url(found.slot(query)))
        for query in found.hits()
    ]


@every_engine
@pytest.mark.parametrize("scoped", [False, True], ids=["one scope", "scopes"])
@settings(max_examples=40, deadline=None)
@given(
    batches=st.lists(st.lists(records(), max_size=14), min_size=1, max_size=5),
    asked=st.lists(records(), min_size=1, max_size=12),
    k=st.integers(0, 3),
    hidden=st.integers(-1, 4),
    expired=st.integers(-1, 3),
    accurate=st.sampled_from((True, True, True, False)),
)
def test_a_shard_and_the_plain_index_say_the_same(
    engine: Engine | None,
    scoped: bool,
    batches: list[list[Survivor]],
    asked: list[Survivor],
    k: int,
    hidden: int,
    expired: int,
    accurate: bool,
) -> None:
    near = ScopedNear(AccurateNear(k) if accurate else SimHashNear(k))
    shard, plain = Shard.by(near, engine=engine, sizes=TINY), PlainIndex(near)
    for number, pages in enumerate(batches):
        rows = placed(pages if scoped else [page._replace(scope=0) for page in pages], number)
        shard.store(rows)
        plain.store(rows)
    asked = asked + [page for pages in batches for page in pages[:2]]
    asked = asked if scoped else [page._replace(scope=0) for page in asked]
    for up_to in (-1, expired):
        assert shard.expire(up_to) == plain.expire(up_to)
        # Slots differ after expiry; the entries in them do not.
        assert said(shard, asked, hidden) == said(plain, asked, hidden)
    kept = list(shard.entries())
    assert [(row.order, row.scope, row.tokens, row.fingerprint, row.text_hash) for row in kept] == [
        (row.order, row.scope, row.tokens, row.fingerprint, row.text_hash) for row in plain.entries()
    ]
    if accurate:
        assert [row.sketch for row in kept] == [row.sketch for row in plain.entries()]
        again = Shard.by(near, engine=engine)
        again.load(unpack(pack(shard.entries(), header(after=-1, to=9, clocks=clocks_of(kept)))))
        assert said(again, asked, hidden) == said(plain, asked, hidden)


def clocks_of(rows: Sequence[Survivor]) -> tuple[tuple[int, int], ...]:
    return tuple((batch, 0) for batch in sorted({row.order[0] for row in rows}))


def test_copies_in_thousands_of_scopes_do_not_make_one_another_slow() -> None:
    shard = Shard.by(ScopedNear(AccurateNear(3)))
    text = ENDLESS[:40]
    page = Survivor((0, 0), "http://a/", 5, 5, 40, 0, sketch(text), bands(text))
    spread = np.random.default_rng(3).integers(1, 2**64, 3000, np.uint64).tolist()
    rows = [page._replace(order=(1, place), scope=scope) for place, scope in enumerate(spread)]
    shard.store(rows)
    before = shard.candidates
    found = shard.earliest_near(Queries.of(rows))
    assert [found.order(query) for query in found.hits()] == [row.order for row in rows]
    assert (shard.candidates - before) / len(rows) < 50
    assert list(shard.entries()) == rows


def test_a_page_without_fingerprint_is_found_by_its_sketch() -> None:
    text = ENDLESS[:8]
    bare = Survivor((0, 0), "http://a/", None, 1, 8, 0, sketch(text), bands(text))
    shard = Shard.by(ScopedNear(AccurateNear(3)))
    shard.store(Entries.from_rows([bare]))
    found = shard.earliest_near(Queries.of([bare._replace(fingerprint=5, text_hash=2), bare._replace(text_hash=3)]))
    assert found.hits() == [0, 1]
    assert [(found.distance_of(query), found.reason(query)) for query in found.hits()] == [(None, "sketch")] * 2
