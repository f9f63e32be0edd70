"""Verdicts as a scan writes them, made by the shard and the fingerprinter that a scan uses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from crawler_plugin.wire.messages import Claim
from crawler_plugin.wire.outcomes import NOWHERE, Verdict
from tests.local.crawled import BEGUN, crawl
from tests.stream.script import policy
from worker.compose import parts
from worker.config import Settings
from worker.fingerprint.fingerprinter import Fingerprinter
from worker.index.shard import Shard
from worker.local.in_process_fingerprints import InProcess
from worker.local.page import FetchedPage
from worker.local.single_shard import SingleShard
from worker.results.rows import scan_line
from worker.stream.partition.fingerprint_pool import FingerprintPool
from worker.stream.shard.memory_limit import MemoryLimit
from worker.verdict.claims import Claims
from worker.verdict.told import told

SETTINGS: Final = Settings.model_validate({"index": {"memory_mb": 0}})
NEAR: Final = parts.near(SETTINGS)


class Scan(NamedTuple):
    """Rows, and for each the place of its survivor among them: its own place for a survivor, None for a dead page."""

    rows: list[Verdict]
    survivors: list[int | None]


def scan(claims: Iterable[Claim], *, file: str = "pages.warc", ids: bool = True) -> Scan:
    """The verdicts on these pages in their order. Without ``ids`` survivors are named by their URL alone."""
    shard = SingleShard(replace(policy(), shards=1, near=NEAR), lambda: Shard.by(NEAR), MemoryLimit(0, sketched=True))
    made = Scan([], [])
    for number, claim in enumerate(claims):
        decided = shard.decide(Claims.of([claim]))
        (decision,) = decided.decisions
        shard.take(decided)
        original = decision.original
        survivor = number if original is None else sum(original.order)
        made.survivors.append(None if claim.dead else survivor)
        made.rows.append(
            told(decision).having(
                file=file,
                offset=100 * number,
                id=f"page-{number}",
                duplicate_of_id=f"page-{survivor}" if ids and original is not None else None,
                fetched=claim.clock,
                order=NOWHERE,  # stands in no line
            )
        )
    return made


def claims_of(pages: Sequence[FetchedPage]) -> list[Claim]:
    """The claims of the pages, one page per hour."""
    pool = FingerprintPool(InProcess(Fingerprinter(parts.recipe(SETTINGS))), 1 << 23)
    claims: list[Claim] = []
    for number, page in enumerate(pages):
        pool.submit(page.record(number, BEGUN + 3_600_000 * number))
        claims += pool.claims()
    return claims


@cache
def crawled(seed: int, count: int = 150, *, ids: bool = True) -> Scan:
    """A crawl of texts with edits, pages that were fetched again and some unreadable pages."""
    return scan(claims_of([page for page, _ in crawl(seed, count)]), ids=ids)


def written(rows: Iterable[Verdict], folder: Path) -> Path:
    """The file of these verdicts."""
    path = folder / "verdicts.jsonl"
    path.write_bytes(b"".join(map(scan_line, rows)))
    return path
