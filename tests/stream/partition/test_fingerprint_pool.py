"""From consumed records to claims: a record that is not a page becomes a dead claim, and a bad page costs only
itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from crawler_plugin.wire.errors import PageError
from crawler_plugin.wire.messages import NOT_STORED, PARDONED, Claim
from crawler_plugin.wire.page_headers import Headers, PageMeta
from crawler_plugin.wire.topics import DAY_MS
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.stream.log import Record
from worker.stream.partition.fingerprint_pool import FingerprintPool, Source
from worker.stream.partition.record_sizes import largest_output
from worker.stream.policy import MAX_URL_BYTES

PATIENCE = 60.0
MOST_BYTES = 20_000
NOW = 1_700_000_000_000
URL = [("url", b"http://a.example/")]
FOUND = Fingerprinted(fingerprint=0xF0, text_hash=7, tokens=9, language="en", reason=None)

Pages = list[tuple[Source, bytes, PageMeta]]


def record(offset: int = 0, value: bytes | None = b"page", headers: Headers = URL, **fields: Any) -> Record:
    return Record(3, offset, b"key", value, headers, NOW, **fields)


class Scripted:
    """A pool that takes ``most`` pages and returns the results in its script, one entry per call; time passes in it."""

    def __init__(self, most: int = 100, script: Sequence[int] = ()) -> None:
        self.most = most
        self.script = list(script)
        self.waiting: Pages = []
        self.taken: Pages = []
        self.now = 0.0
        self.waits: list[float] = []

    @property
    def outstanding(self) -> int:
        return len(self.waiting)

    @property
    def capacity(self) -> int:
        return self.most - len(self.waiting)

    def submit(self, source: Source, body: bytes, meta: PageMeta) -> None:
        assert self.capacity
        self.waiting.append((source, body, meta))
        self.taken.append((source, body, meta))

    def results(self, timeout: float = 0.0) -> list[tuple[Source, Fingerprinted | PageError]]:
        self.waits.append(timeout)
        count = self.script.pop(0) if self.script else 0
        self.now += timeout if not count else 0.001
        done, self.waiting = self.waiting[:count], self.waiting[count:]
        return [(source, FOUND) for source, _, _ in done]

    def parsing(self, ttl: int | None = None) -> FingerprintPool:
        return FingerprintPool(self, MOST_BYTES, lambda: self.now, ttl=ttl)  # type: ignore[arg-type]


def test_a_claim_has_the_place_of_its_page_and_the_canonical_url() -> None:
    pool = Scripted(script=[1])
    parsing = pool.parsing()
    headers = [("url", b"HTTP://A.example/x?b=2&a=1#part"), ("status", b"200"), ("theirs", b"\xff")]
    parsing.submit(record(17, b"<p>text</p>", headers))
    ((_, body, meta),) = pool.taken
    assert (body, meta.url, meta.status) == (b"<p>text</p>", "http://a.example/x?a=1&b=2", 200)
    assert parsing.claims() == [
        Claim(
            partition=3,
            offset=17,
            clock=NOW,
            url="http://a.example/x?a=1&b=2",
            fingerprint=0xF0,
            text_hash=7,
            tokens=9,
            language="en",
            status=200,
        )
    ]
    assert not parsing.busy


@pytest.mark.parametrize(
    ("said", "flags"),
    [
        ([], 0),
        ([("dedup-store", b"yes"), ("dedup-pardon", b"no")], 0),
        ([("dedup-store", b"no")], NOT_STORED),
        ([("dedup-pardon", b"yes")], PARDONED),
        ([("dedup-pardon", b"yes"), ("dedup-store", b"no")], NOT_STORED | PARDONED),
        ([("dedup-store", b"no"), ("dedup-store", b"yes")], 0),
        ([("dedup-store", b"?"), ("dedup-store", b"no")], NOT_STORED),
        ([("Dedup-Store", b"no"), ("dedup_store", b"no")], 0),
    ],
)
def test_a_claim_has_the_flags_that_the_headers_of_its_page_say(said: list[tuple[str, bytes]], flags: int) -> None:
    parsing = Scripted(script=[1]).parsing()
    parsing.submit(record(headers=[*URL, *said]))
    (claim,) = parsing.claims()
    assert (claim.dead, claim.flags) == (None, flags)


@pytest.mark.parametrize(
    ("fetched", "clock"),
    [
        (None, NOW),
        (b"0", 0),
        (str(NOW - 5).encode(), NOW - 5),
        (str(NOW + DAY_MS).encode(), NOW + DAY_MS),
        (str(NOW + DAY_MS + 1).encode(), NOW + DAY_MS),
        (b"4070908800000", NOW + DAY_MS),  # 2099
        (str(2**63 - 1).encode(), NOW + DAY_MS),
        (str(-(2**63)).encode(), -(2**63)),
    ],
)
def test_the_clock_is_the_fetch_time_but_not_far_past_the_brokers(fetched: bytes | None, clock: int) -> None:
    pool = Scripted(script=[1])
    parsing = pool.parsing()
    parsing.submit(record(headers=[*URL, ("fetched", fetched)] if fetched else URL))
    assert [claim.clock for claim in parsing.claims()] == [clock]


def test_the_clock_of_a_page_that_is_fetched_far_in_the_future_is_bounded_by_the_ttl() -> None:
    pool = Scripted(script=[1])
    parsing = pool.parsing(ttl=DAY_MS // 2)
    parsing.submit(record(headers=[*URL, ("fetched", b"253402300799000")]))
    assert [claim.clock for claim in parsing.claims()] == [NOW + DAY_MS // 20]


FOREIGN: dict[str, tuple[Record, str]] = {
    "no headers": (record(headers=[]), "bad-headers"),
    "no url": (record(headers=[("status", b"200")]), "bad-headers"),
    "a null url": (record(headers=[("url", None)]), "bad-headers"),  # type: ignore[list-item]
    "a url that is not UTF-8": (record(headers=[("url", b"http://\xff/")]), "bad-headers"),
    "a flag that is neither yes nor no": (record(headers=[*URL, ("dedup-store", b"NO")]), "bad-headers"),
    "a flag of another kind": (record(headers=[*URL, ("dedup-store", b"\xff" * 9000)]), "bad-headers"),
    "a flag without a value": (record(headers=[*URL, ("dedup-pardon", None)]), "bad-headers"),  # type: ignore[list-item]
    "an empty url": (record(headers=[("url", b"")]), "bad-url"),
    "a relative url": (record(headers=[("url", b"/path")]), "bad-url"),
    "a url that cannot be split": (record(headers=[("url", b"http://[::1/")]), "bad-url"),
    "a long url": (record(headers=[("url", b"http://a/" + b"x" * MAX_URL_BYTES)]), "bad-url"),
    "a null value": (record(value=None), "no-body"),
    "a value too large to pass on": (record(value=b"x" * (MOST_BYTES + 1)), "oversize"),
    "headers too large to pass on": (record(headers=[*URL, ("theirs", b"x" * MOST_BYTES)]), "oversize"),
    "a name too large to pass on": (record(headers=[*URL, ("x" * MOST_BYTES, b"")]), "oversize"),
    "a key too large to pass on": (record()._replace(key=b"x" * MOST_BYTES), "oversize"),
    "too large without a url": (record(value=b"x" * MOST_BYTES, headers=[]), "oversize"),
    "a url too large to pass on": (record(headers=[("url", b"http://a/" + b"x" * MOST_BYTES)]), "oversize"),
    "too large beside the largest verdict": (record(value=b"x" * (MOST_BYTES - MAX_URL_BYTES)), "oversize"),
    "a record too large to be read": (record(value=b"", headers=[], oversize=1 << 30), "oversize"),
    "a record the client cannot read": (record(value=None, headers=[], unreadable="so it goes"), "unreadable-record"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_page_is_a_dead_claim_that_no_parser_sees(kind: str) -> None:
    given, reason = FOREIGN[kind]
    pool = Scripted()
    parsing = pool.parsing()
    parsing.submit(given)
    assert parsing.busy
    (claim,) = parsing.claims()
    assert (claim.partition, claim.offset, claim.clock) == (3, 0, NOW)
    assert claim.dead is not None
    assert claim.dead.startswith(f"{reason}: ")
    assert not pool.taken
    assert not parsing.busy


def test_the_largest_body_and_the_longest_url_pass() -> None:
    pool = Scripted(script=[2])
    parsing = pool.parsing()
    most = MOST_BYTES - largest_output(b"key", b"x" * MOST_BYTES, URL) + MOST_BYTES
    assert MOST_BYTES - 2 * MAX_URL_BYTES - 1000 < most < MOST_BYTES - 2 * MAX_URL_BYTES
    parsing.submit(record(0, b"x" * most))
    parsing.submit(record(1, b"", [("url", b"http://a/" + b"x" * (MAX_URL_BYTES - len("http://a/")))]))
    assert [claim.dead for claim in parsing.claims()] == [None, None]


def test_a_page_keeps_its_url_and_clock_when_it_dies_in_its_parser() -> None:
    class Failing(Scripted):
        def results(self, timeout: float = 0.0) -> list[tuple[Source, Fingerprinted | PageError]]:
            done, self.waiting = self.waiting, []
            return [(source, PageError("parser-raised", "x" * 1000)) for source, _, _ in done]

    parsing = Failing().parsing()
    parsing.submit(record(headers=[*URL, ("fetched", b"5")]))
    (claim,) = parsing.claims()
    assert (claim.url, claim.clock, claim.fingerprint) == ("http://a.example/", 5, None)
    assert claim.dead == "parser-raised: " + "x" * 300, "a detail is cut: claims travel in batches"


def test_pages_wait_in_line_for_a_pool_that_is_full_and_all_come_back() -> None:
    pool = Scripted(most=2, script=[2, 2, 1])
    parsing = pool.parsing()
    for offset in range(5):
        parsing.submit(record(offset))
    assert pool.outstanding == 2
    claims = [claim.offset for _ in range(3) for claim in parsing.claims()]
    assert claims == [0, 1, 2, 3, 4]
    assert not parsing.busy


def test_claims_gathers_for_the_time_given_and_not_longer_than_there_are_pages() -> None:
    pool = Scripted(script=[1, 0, 1, 1])
    parsing = pool.parsing()
    for offset in range(3):
        parsing.submit(record(offset))
    assert [claim.offset for claim in parsing.claims(0.010)] == [0]
    assert pool.now == pytest.approx(0.010)
    assert [claim.offset for claim in parsing.claims(0.010)] == [1, 2]
    assert pool.now < 0.020


def test_without_pages_under_way_claims_does_not_wait() -> None:
    pool = Scripted()
    assert pool.parsing().claims(5.0) == []
    assert pool.now <= 5.0
    assert len(pool.waits) == 1
