"""The latest survivor of a URL: the table of URLs finds it, whatever was stored, loaded and expired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.index.worlds import TINY, WRAPPING, asking, every_engine, page, random
from worker.fingerprint.hashing import hash_bytes
from worker.index.engine import Engine, TableSizes
from worker.index.entries import Entries, Survivor
from worker.index.shard import Shard

URLS = [f"http://{name}.example/" for name in "abcd"]
batches = st.lists(
    st.tuples(st.sampled_from(URLS), st.integers(0, 3), st.integers(0, 1), st.integers(0, 2), st.integers(0, 2)),
    max_size=6,
)
steps = st.lists(
    st.tuples(st.sampled_from(("store", "load", "store", "load", "rebuild")), batches)
    | st.tuples(st.just("expire"), st.integers(-1, 12)),
    max_size=12,
)


def hashes_of(pages: Sequence[Survivor]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array([hash_bytes(one.url.encode()) for one in pages], np.uint64)


def latest(
    shard: Shard, asked: Sequence[Survivor], expired_up_to: int = -1
) -> list[tuple[tuple[int, int], bool] | None]:
    """Order of the latest entry of each page's URL, and whether the texts are equal."""
    found = shard.latest_of(lambda query: asked[query].url, hashes_of(asked), asking(asked), expired_up_to)
    hits = set(found.hits())
    return [(found.order(query), bool(found.exact[query])) if query in hits else None for query in range(len(asked))]


def latest_by_definition(
    stored: Sequence[Survivor], asked: Sequence[Survivor], expired_up_to: int
) -> list[tuple[tuple[int, int], bool] | None]:
    found = []
    for one in asked:
        same = [e for e in stored if (e.url, e.scope) == (one.url, one.scope) and e.order[0] > expired_up_to]
        found.append((same[-1].order, same[-1].text_hash == one.text_hash) if same else None)
    return found


@every_engine
@pytest.mark.parametrize("sizes", [TINY, WRAPPING], ids=["tiny", "wrapping"])
@settings(max_examples=40, deadline=None)
@given(steps=steps, expired_up_to=st.integers(-1, 12))
def test_the_latest_of_a_url_is_its_definition(
    engine: Engine | None, sizes: TableSizes, steps: list[tuple[str, object]], expired_up_to: int
) -> None:
    def new() -> Shard:
        return Shard(k=1, engine=engine, sizes=sizes, by_url=True)

    shard, model = new(), list[Survivor]()
    asked = [page(text << 9, text_hash=text)._replace(url=url, scope=1, title=2) for url in URLS for text in (0, 1)]
    for number, (what, given_values) in enumerate(steps):
        if what == "expire":
            assert isinstance(given_values, int)
            model = [entry for entry in model if entry.order[0] > given_values]
            shard.expire(given_values)
            continue
        assert isinstance(given_values, list)
        rows = [
            page(text << 9, order=(number, place), text_hash=text)._replace(
                url=url, scope=scope, title=title, doubt=doubt
            )
            for place, (url, text, scope, title, doubt) in enumerate(given_values)
        ]
        shard.store(rows) if what == "store" else shard.load([Entries.from_rows(rows)])
        model += rows
        if what == "rebuild":
            kept = shard.entries()
            shard = new()
            shard.load(kept)
        assert latest(shard, asked, expired_up_to) == latest_by_definition(model, asked, expired_up_to)
        for url in URLS:
            of_url = [entry for entry in model if entry.url == url and entry.order[0] > expired_up_to]
            slot = shard.latest_with(url, expired_up_to)
            assert (None if slot < 0 else shard.survivor(slot)) == (of_url[-1] if of_url else None)


@every_engine
def test_another_url_of_the_same_hash_is_no_earlier_text(engine: Engine | None) -> None:
    rows = [page(number << 9, order=(number, 0))._replace(url=url) for number, url in enumerate(["a", "b", "b", "c"])]
    entries = Entries.from_rows(rows)
    shard = Shard(engine=engine, by_url=True)
    shard.store(replace(entries, url_hash=np.full(4, 7, np.uint64)))
    for url, wanted in (("a", 0), ("b", 2), ("c", 3), ("d", None)):
        found = shard.latest_of([url].__getitem__, np.full(1, 7, np.uint64), asking(rows[:1]))
        assert [found.order(query)[0] for query in found.hits()] == ([] if wanted is None else [wanted])
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("worker.index.shard.hash_bytes", lambda content: 7)
            assert shard.latest_with(url) == (-1 if wanted is None else wanted)


@every_engine
def test_the_tokens_of_what_was_found_are_told(engine: Engine | None) -> None:
    shard = Shard(engine=engine, by_url=True)
    shard.store(
        [page(number << 9, order=(1, number))._replace(url=str(number), tokens=70 + number) for number in (0, 1)]
    )
    asked = [page(0)._replace(url="1")]
    found = shard.latest_of(lambda query: "1", hashes_of(asked), asking(asked))
    assert [shard.tokens(found.slot(query)) for query in found.hits()] == [71]


def test_a_shard_without_the_table_says_so() -> None:
    with pytest.raises(ValueError, match="make it with by_url=True"):
        Shard().latest_of("".__getitem__, np.zeros(0, np.uint64), asking([]))


@pytest.mark.parametrize("bulk", [True, False], ids=["loaded", "stored"])
def test_the_table_takes_at_most_twelve_bytes_an_entry(bulk: bool) -> None:
    count, chance = 200_000, np.random.default_rng(3)
    taken = []
    for by_url in (True, False):
        shard = Shard(by_url=by_url)
        for begin in range(0, count, count if bulk else 4000):
            number = np.arange(begin, begin + (count if bulk else 4000))
            shard.store(
                Entries(
                    batch=number // 1000,
                    place=(number % 1000).astype(np.uint32),
                    fingerprint=random(chance, len(number)),
                    bare=np.zeros(len(number), np.bool_),
                    text_hash=random(chance, len(number)),
                    tokens=np.full(len(number), 9, np.uint32),
                    url_hash=random(chance, len(number)),
                    fetched=number,
                    urls=("https://example.org/",) * len(number),
                )
            )
        taken.append(shard.nbytes)
    assert (taken[0] - taken[1]) / count <= 12
