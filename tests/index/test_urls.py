import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.errors import UnreadableRecord
from worker.index.urls import GROUP_SIZE, Group, UrlRun, UrlStore, pack_group, pack_urls

ODD = ["https://a.example/", "", "https://例え.example/路径?q=é", "zero\0inside", "\0", "x" * 10_000]


def numbered(count: int, start: int = 0) -> list[str]:
    return [f"https://example.org/page/{number}" for number in range(start, start + count)]


def crawl_urls(count: int) -> list[str]:
    """URLs as news sites, shops and forums have them, from a fixed seed."""
    chance = random.Random(7)
    hosts = [f"https://www.{name}{number}.example" for name in ("news", "shop", "forum", "docs") for number in range(8)]
    words = ("climate", "market", "report", "city", "election", "final", "science", "music", "review", "guide")

    def one() -> str:
        host, kind = chance.choice(hosts), chance.randrange(4)
        if kind == 0:
            day = f"{chance.randint(2015, 2025)}/{chance.randint(1, 12):02}/{chance.randint(1, 28):02}"
            return f"{host}/{day}/{'-'.join(chance.choices(words, k=6))}"
        if kind == 1:
            return f"{host}/a/{chance.randrange(10**9)}_{chance.randrange(10**6)}"
        if kind == 2:
            return f"{host}/{chance.choice(words)}/article-{chance.randrange(10**7)}.html"
        return f"{host}/view?cat={chance.choice(words)}&id={chance.randrange(10**7)}&page={chance.randrange(9)}"

    return [one() for _ in range(count)]


@pytest.mark.parametrize("count", [0, 1, GROUP_SIZE - 1, GROUP_SIZE, GROUP_SIZE + 1, 3 * GROUP_SIZE])
def test_packed_urls_read_as_they_were(count: int) -> None:
    urls = numbered(count)
    run = UrlRun.from_packed(pack_urls(urls), count)
    assert list(run) == urls
    assert [run[index] for index in range(count)] == urls


def test_odd_urls_survive_packing() -> None:
    assert list(UrlRun.from_packed(pack_urls(ODD), len(ODD))) == ODD


@given(st.integers(0, 700), st.integers(0, 700), st.integers(0, 700))
def test_a_slice_of_a_run_is_the_slice_of_its_list(count: int, low: int, high: int) -> None:
    urls = numbered(count)
    run = UrlRun.from_packed(pack_urls(urls), count)
    assert list(run[low:high]) == urls[low:high]
    assert list(UrlRun.joined([run[low:high], tuple(urls), run[high:]])) == urls[low:high] + urls + urls[high:]


def test_a_run_has_no_url_past_its_ends() -> None:
    run = UrlRun.from_packed(pack_urls(numbered(3)), 3)
    assert run[-1] == numbered(3)[-1]
    for index in (3, -4):
        with pytest.raises(IndexError):
            run[index]
    with pytest.raises(ValueError, match="step"):
        run[::2]


@pytest.mark.parametrize(
    "stored",
    [b"", b"not zlib", zlib.compress(b"one\0"), zlib.compress(b"one\0two"), zlib.compress(b"\xff\xfe\0\0")],
    ids=["empty", "foreign", "one too few", "no end", "not UTF-8"],
)
def test_a_torn_group_is_unreadable(stored: bytes) -> None:
    with pytest.raises(UnreadableRecord):
        UrlRun([Group(stored, 2, 0, 2)])[0]


def test_a_missing_group_is_noticed_without_opening_any() -> None:
    with pytest.raises(UnreadableRecord, match="1 groups of URLs for 257"):
        UrlRun.from_packed((b"never opened",), 257)


@given(
    st.lists(
        st.tuples(st.sampled_from(("plain", "packed", "sliced", "drop")), st.integers(0, 600)), min_size=1, max_size=12
    )
)
def test_a_store_is_a_list_that_forgets_its_oldest(steps: list[tuple[str, int]]) -> None:
    store, model, next_number = UrlStore(), list[str](), 0
    for what, count in steps:
        urls = numbered(count, next_number)
        if what == "drop":
            store.drop(min(count, len(model)))
            del model[:count]
            urls = []
        elif what == "plain":
            store.extend(urls)
        else:
            run = UrlRun.from_packed(pack_urls(urls), count)
            low = 100 if what == "sliced" else 0
            store.extend(run[low:])
            urls = urls[low:]
        model += urls
        next_number += count
        assert len(store) == len(model)
        assert list(store.run()) == model
        for index in {0, len(model) // 2, len(model) - 1} & set(range(len(model))):
            assert store[index] == model[index]
    with pytest.raises(IndexError):
        store[len(model)]


def test_a_run_taken_from_a_store_stays_as_it_was() -> None:
    store = UrlStore()
    store.extend(numbered(300))
    before = store.run()
    store.drop(290)
    store.extend(numbered(400, 300))
    assert list(before) == numbered(300)


def test_dropped_urls_give_their_memory_back() -> None:
    store = UrlStore()
    store.extend(numbered(20 * GROUP_SIZE))
    full = store.compressed_bytes
    store.drop(19 * GROUP_SIZE + 5)
    assert store.compressed_bytes < full / 10


def test_a_crawls_urls_take_at_most_30_bytes_each() -> None:
    urls = crawl_urls(4096)
    store = UrlStore()
    store.extend(urls)
    assert store.compressed_bytes <= 30 * len(urls)
    assert sum(map(len, pack_urls(urls))) <= 30 * len(urls)


def test_groups_from_a_block_are_kept_as_they_came() -> None:
    packed = pack_urls(numbered(2 * GROUP_SIZE))
    store = UrlStore()
    store.extend(UrlRun.from_packed(packed, 2 * GROUP_SIZE))
    assert [group.stored for group in store.run().groups] == list(packed)
    assert pack_group(numbered(GROUP_SIZE)) == packed[0]


def test_urls_from_many_small_blocks_are_compressed_together() -> None:
    urls = crawl_urls(2000)
    store = UrlStore()
    for start in range(0, len(urls), 5):
        store.extend(UrlRun.from_packed(pack_urls(urls[start : start + 5]), 5))
    assert list(store.run()) == urls
    assert len(store.run().groups) == -(-len(urls) // GROUP_SIZE)
    assert store.compressed_bytes <= 30 * len(urls)
