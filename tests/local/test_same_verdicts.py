"""The same order of pages gives the same verdicts here as on workers over the logs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import pytest

from crawler_plugin.wire.page_headers import text_headers
from crawler_plugin.wire.topics import OUTPUT_MARGIN_BYTES, VERDICTS
from tests.local.crawled import BEGUN, HOUR, crawl
from tests.simulation.checks import dead_letters, everything
from tests.stream.script import Stage
from worker.compose import parts
from worker.config import Settings
from worker.fingerprint.fingerprinter import Fingerprinter
from worker.local import Deduplicator, FetchedPage, Verdict
from worker.local.in_process_fingerprints import InProcess
from worker.sizing.pages import Page
from worker.stream.log import Record
from worker.stream.partition.fingerprint_pool import FingerprintPool
from worker.stream.shard.live import Index

TOGETHER: Final = 50
"""Pages that are published before the workers go on."""


SAME: Final = (
    "url",
    "verdict",
    "duplicate_of",
    "distance",
    "similarity",
    "reason",
    "detail",
    "fingerprint",
    "language",
    "tokens",
    "previous",
    "changed",
)
"""The parts of a verdict that both sides must agree on."""
Outcome = dict[str, Any]


pytestmark = pytest.mark.usefixtures("read_here")


class Workers(Stage):
    """One worker over the logs, one partition of pages, one shard; it reads real pages."""

    def __init__(self, settings: Settings, claims_a_batch: int) -> None:
        self.settings = settings
        made = parts.recipe(settings)
        ttl = settings.near.ttl_days
        ttl_ms = None if ttl is None else int(ttl * 24 * HOUR)
        most = settings.topics.max_message_bytes + OUTPUT_MARGIN_BYTES
        fingerprinter = Fingerprinter(made)
        scope_of = parts.scope_of(settings, made)
        self.new_fingerprinting = lambda: FingerprintPool(InProcess(fingerprinter), most, scope_of=scope_of, ttl=ttl_ms)
        self._new_index = parts.new_index(settings)
        super().__init__(partitions=1, shards=1, near=parts.near(settings), ttl=ttl_ms, claims_a_batch=claims_a_batch)

    def new_index(self) -> Index:
        return self._new_index()

    def verdicts_on(self, records: list[Record]) -> list[Outcome]:
        """Publish the pages and let the worker judge them."""
        for begin in range(0, len(records), TOGETHER):
            for record in records[begin : begin + TOGETHER]:
                self.world.publish(0, record.key or b"", record.value, record.headers, record.timestamp)
            self.commit()
        found: dict[int, Outcome] = {}
        for seen in everything(self.world, VERDICTS):
            verdict = Verdict.decode(seen.value)
            found[verdict.source[1]] = verdict.row(SAME)
        for (_, offset), seen in dead_letters(self.world):
            found[offset] = Verdict.of_dead_letter(text_headers(seen.headers)).row(SAME)
        assert sorted(found) == list(range(len(records)))
        return [found[offset] for offset in sorted(found)]


def both(pages: list[tuple[FetchedPage, int]], settings: Settings, claims_a_batch: int) -> Counter[str]:
    """Compare both sides; returns how often each kind and each reason was seen."""
    workers = Workers(settings, claims_a_batch)
    theirs = workers.verdicts_on([page.record(number, now) for number, (page, now) in enumerate(pages)])
    moment = 0.0

    def coming() -> Iterator[FetchedPage]:
        nonlocal moment
        for page, now in pages:
            moment = now / 1000
            yield page

    with Deduplicator(config=settings, clock=lambda: moment) as local:
        ours = [verdict.row(SAME) for _, verdict in local.judge_found(coming())]
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        assert one == other, f"page {number}"
    workers.check()
    return Counter(word for each in ours for word in (each["verdict"], each["reason"]))


def settings(**near: Any) -> Settings:
    plain = {"index": {"memory_mb": 0}, "page": {"processes": 1}}
    return Settings.model_validate({"near": near} | plain)


@pytest.mark.parametrize("claims_a_batch", [1, 16])
@pytest.mark.parametrize(
    "near",
    [
        {"predicate": "accurate"},
        {"predicate": "simhash", "scope": "host"},
        {"predicate": "accurate", "scope": "site"},
        {"predicate": "accurate", "scope": "header:spider"},
    ],
    ids=lambda near: " ".join(near.values()),
)
def test_verdicts_are_those_of_workers_that_read_the_same_order(near: dict[str, Any], claims_a_batch: int) -> None:
    seen = both(list(crawl(1, 300, odd=True)), settings(**near), claims_a_batch)
    kinds = ("unique", "duplicate", "refetch", "dead", "exact-text", "hamming", "bad-url", "no-body")
    assert all(seen[kind] > 2 for kind in kinds), seen
    assert seen["sketch"] > 2 or near["predicate"] == "simhash"


def test_pages_that_are_pardoned_or_not_stored_are_so_here_as_there() -> None:
    chance = random.Random(5)
    said: list[dict[str, bool]] = [{}, {}, {}, {"store": False}, {"pardon": True}, {"store": False, "pardon": True}]
    pages = [(replace(page, **chance.choice(said)), now) for page, now in crawl(1, 300, odd=True)]  # type: ignore[arg-type]
    seen = both(pages, settings(), claims_a_batch=16)
    kinds = ("unique", "duplicate", "refetch", "not-stored", "pardoned", "first", "exact-text", "same-url")
    assert all(seen[kind] > 5 for kind in kinds), seen


@pytest.mark.parametrize("days", [2, 4])
def test_what_has_expired_for_workers_has_expired_here(days: float) -> None:
    """Expiry goes by batches; the workers' batches hold one page each, as here. Cases that the broker's time bounds
    there and the log's own time bounds here are left out: fetch times in the future, and pages that come a tenth of
    that time apart."""
    pages = [
        (page if page.fetched is None or page.fetched <= now else replace(page, fetched=None), now)
        for page, now in crawl(2, 300, odd=True)
    ]
    seen = both(pages, settings(ttl_days=days), claims_a_batch=1)
    for_ever = both(pages, settings(), claims_a_batch=1)
    assert seen["unique"] > for_ever["unique"] > 10
    assert seen["duplicate"] > 10


@pytest.mark.data
def test_real_pages_get_the_verdicts_of_the_workers(real_pages: list[Page]) -> None:
    some = real_pages[:: max(1, len(real_pages) // 150)][:150]
    first = [FetchedPage(meta.url, body, content_type=meta.content_type) for meta, body in some]
    elsewhere = [replace(page, url=f"{page.url}?again=1") for page in first]
    pages = [*first, *elsewhere, *first]
    seen = both([(page, BEGUN + number) for number, page in enumerate(pages)], settings(), claims_a_batch=32)
    assert seen["unique"] > 50
    assert seen["refetch"] > 50
    assert seen["duplicate"] > 50
