"""The entries that meet a condition; an index forgets these and no others."""

from __future__ import annotations

import numpy as np
import pytest

from crawler_plugin.wire.forgetting import ForgetCondition, Forgotten
from crawler_plugin.wire.urls import canonical_url
from tests.index.titled import pages_of, said
from tests.index.worlds import ENGINES, TINY, every_engine
from tests.oracle import is_forgotten
from worker.fingerprint.hashing import hash_bytes
from worker.fingerprint.near import AccurateNear
from worker.fingerprint.scoped import ScopedNear
from worker.index import forgetting
from worker.index.engine import Engine
from worker.index.entries import Entries, Survivor
from worker.index.forgetting import MOST_BYTES, host_in, in_force, is_met, met, one_more, without
from worker.index.queries import Queries
from worker.index.shard import Shard
from worker.index.urls import Group, UrlRun, pack_urls
from worker.sites import host_of

HOSTS = ("a.example.org", "b.example.org", "example.org", "badexample.org", "x.co.uk", "10.0.0.1:8000")
SITE = ForgetCondition(kind="site", text="example.org")
HOST = ForgetCondition(kind="host", text="a.example.org")
PREFIX = ForgetCondition(kind="url-prefix", text="http://a.example.org/1")
BEFORE = ForgetCondition(kind="before", number=4)
SCOPE = ForgetCondition(kind="scope", number=2**63 + 5)
CONDITIONS = (
    SITE,
    HOST,
    PREFIX,
    BEFORE,
    SCOPE,
    ForgetCondition(kind="scope", number=0),
    ForgetCondition(kind="host", text="c"),
)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "https://user@www.example.org:8443/a?b=c@d.example/#e",
        "http://[2001:db8::1]:8080/a",
        "http://example.org./x",
        "http://10.0.0.1:8000",
        "http://example.org?q=http://other.example/",
        "record://a/b",
        "nothing",
        "",
    ],
)
def test_the_host_of_a_url_is_what_the_rest_of_the_program_takes_for_it(url: str) -> None:
    assert host_in(url) == host_of(url)


def test_a_port_a_user_or_a_query_make_no_other_host_and_other_names_are_other_hosts() -> None:
    met_by = ["http://a.example.org/", "http://a.example.org:81/x", canonical_url("HTTP://A.Example.Org/y")]
    missed = ["http://aa.example.org/", "http://b.example.org/?u=http://a.example.org/", "http://a.example.org.uk/"]
    assert [is_met(HOST, url) for url in met_by + missed] == [True] * 3 + [False] * 3
    assert is_met(SITE, "http://deep.a.example.org/") and is_met(SITE, "http://example.org/")
    assert not is_met(SITE, "http://badexample.org/") and not is_met(SITE, "http://example.org.uk/")
    assert not is_met(ForgetCondition(kind="site", text="co.uk"), "http://x.co.uk/")


def worlds(chance: np.random.Generator, count: int) -> list[Survivor]:
    """Titled pages of a few hosts, a few per batch; the site of most is known."""
    found = []
    for number, page in enumerate(pages_of(chance, count)):
        host = HOSTS[int(chance.integers(0, len(HOSTS)))]
        site = 0 if chance.random() < 0.1 else 1 + hash_bytes(host.encode()) % 1000
        url = f"http://{host}/{chance.integers(0, 40)}"
        found.append(page._replace(order=(number // 4, number % 4), url=url, site=site, fetched=number // 9))
    return found


@pytest.mark.parametrize("many", [0, 1000])
@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda one: f"{one.kind} {one.text}")
def test_pages_that_meet_a_condition_are_found_however_their_urls_are_packed(
    condition: ForgetCondition, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forgetting, "_MANY", many)
    rows = worlds(np.random.default_rng(7), 700)
    plain = Entries.from_rows(rows)
    packed = UrlRun.joined([UrlRun.from_packed(pack_urls(plain.urls[:600]), 600)[:590], plain.urls[590:]])
    wanted = [is_forgotten(condition, row) for row in rows]
    for urls in (plain.urls, packed):
        entries = Entries(**{**vars(plain), "urls": urls})
        assert met(condition, entries, 700).tolist() == wanted
        assert met(condition, entries, 333).tolist() == wanted[:333]


def test_where_a_site_is_known_only_urls_of_that_and_of_unknown_sites_are_opened() -> None:
    urls = ["http://a.example.org/", "http://a.example.org/", "http://a.example.org/"]
    rows = [
        Survivor((0, n), url, n, n, 9, 0, site=site) for n, (url, site) in enumerate(zip(urls, (5, 6, 0), strict=True))
    ]
    found = met(ForgetCondition(kind="host", text="a.example.org", site=2), Entries.from_rows(rows), 3)
    assert found[[0, 2]].all()
    groups = [Group(b"no group", 1, 0, 1), *UrlRun.joined([tuple(urls[1:])]).groups]
    damaged = Entries(**{**vars(Entries.from_rows(rows)), "urls": UrlRun(groups)})
    assert met(HOST, damaged, 3).tolist() == [False, True, True]


def test_a_zero_byte_in_a_url_is_found_packed_or_not() -> None:
    urls = ["http://a/\0b/1", "http://a/", "b/2"]
    entries = Entries.from_rows([Survivor((0, n), url, n, n, 9, 0) for n, url in enumerate(urls)])
    packed = Entries(**{**vars(entries), "urls": UrlRun.from_packed(pack_urls(urls), 3)})
    for text, wanted in (("http://a/\0b", [True, False, False]), ("http://a/", [True, True, False])):
        for each in (entries, packed):
            assert met(ForgetCondition(kind="url-prefix", text=text), each, 3).tolist() == wanted


def test_only_batches_before_the_record_are_forgotten() -> None:
    entries = Entries.from_rows([Survivor((batch, 0), "http://a.example.org/", batch, 0, 9, 0) for batch in range(5)])
    assert without(entries, ()) is entries
    kept = without(entries, (Forgotten(HOST, 3, 0), Forgotten(PREFIX, 5, 0)))
    assert kept.batch.tolist() == [3, 4]
    assert list(kept.urls) == ["http://a.example.org/"] * 2


def test_what_was_forgotten_is_named_until_all_before_it_has_expired() -> None:
    known = Forgotten(HOST, 3, 10), Forgotten(SITE, 4, 20)
    assert in_force(known, 10**9, None) == known
    assert in_force(known, 30, 20) == known
    assert in_force(known, 31, 20) == known[1:]


def test_the_same_condition_counts_once_and_too_much_is_refused() -> None:
    known = one_more((Forgotten(HOST, 3, 10), Forgotten(SITE, 4, 20)), Forgotten(HOST, 5, 20))
    assert known == (Forgotten(SITE, 4, 20), Forgotten(HOST, 5, 20))
    long = [Forgotten(ForgetCondition(kind="host", text=f"{n}" + "é" * 2000), n, 0) for n in range(5)]
    assert sum(each.condition.nbytes for each in long) > MOST_BYTES
    assert one_more(long[:-1], long[-1]) is None
    assert one_more(long[:-1], Forgotten(long[0].condition, 9, 0)) is not None


@every_engine
def test_an_index_finds_what_one_finds_that_never_held_what_was_forgotten(engine: Engine | None) -> None:
    chance = np.random.default_rng(5)
    rows = worlds(chance, 300)
    asked = [*worlds(chance, 80), *rows[::5]]

    def empty() -> Shard:
        return Shard.by(ScopedNear(AccurateNear(3)), engine=engine, sizes=TINY, by_url=True)

    def latest(shard: Shard) -> list[object]:
        hashes = np.array([hash_bytes(one.url.encode()) for one in asked], np.uint64)
        found = shard.latest_of(lambda query: asked[query].url, hashes, Queries.of(asked))
        return [(query, found.order(query)) for query in found.hits()]

    shard = empty()
    half = [row for row in rows if row.order[0] < 37]
    shard.store(half)
    shard.expire(2)
    handed_out = shard.entries()
    before, live = list(handed_out), [row for row in half if row.order[0] > 2]
    for condition in (HOST, SCOPE, HOST, ForgetCondition(kind="before", number=7)):
        kept = [row for row in live if not is_forgotten(condition, row)]
        assert shard.remove(condition) == len(live) - len(kept)
        live = kept
    assert list(handed_out) == before
    live += rows[len(half) :]
    shard.store(rows[len(half) :])
    other = empty()
    other.store(live)
    assert list(shard.entries()) == list(other.entries())
    assert [one.order for one in shard.entries()] == [one.order for one in live]
    assert said(shard, asked) == said(other, asked)
    assert latest(shard) == latest(other)
    shard.expire(40)
    other.expire(40)
    assert list(shard.entries()) == list(other.entries())
    assert said(shard, asked) == said(other, asked)


def test_nothing_to_forget_is_no_difficulty() -> None:
    shard = Shard.by(ScopedNear(AccurateNear(3)), engine=next(iter(ENGINES.values())))
    assert [shard.remove(condition) for condition in CONDITIONS] == [0] * len(CONDITIONS)
    assert not len(shard.entries())


def test_no_title_stands_for_what_a_removed_entry_has_in_place_of_its_scope() -> None:
    """The mask of a title is a bijection of 64 bits: when it is undone, the mark is not a 32-bit number."""
    mixed = 255
    for shift, factor in ((31, 0x94D049BB133111EB), (27, 0xBF58476D1CE4E5B9), (30, 0x9E3779B97F4A7C15)):
        undone = mixed
        for _ in range(64 // shift + 1):
            undone = mixed ^ (undone >> shift)
        mixed = undone * pow(factor, -1, 2**64) % 2**64
    assert mixed >= 2**32
