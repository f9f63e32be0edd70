"""The index's memory, compared with the literature's arithmetic; and the needs of a whole crawl."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from crawler_plugin.wire.errors import UsageError
from worker.compose import parts
from worker.compose.machine import PARSER_BYTES, SHARE
from worker.fingerprint.sketch import BANDS, SKETCH_BYTES
from worker.index.entries import COLUMNS, OPTIONAL, Entries
from worker.index.layout import Layout
from worker.sizing.needs import (
    JUDGE_US,
    LOAD,
    MOST_IN_AN_INDEX,
    MOST_WORKERS,
    PEAK,
    WORKER_BYTES,
    WORKERS_TO_COME,
    Crawl,
    Growth,
    RecordsOfPages,
    parser_us,
)
from worker.terminal import aligned, fitted

if TYPE_CHECKING:
    from worker.config import Settings
    from worker.stream.shard.live import Index

SIGNATURES: Final = 50_000_000
SIGNATURE_BYTES: Final = 8
TABLES_IN_LITERATURE: Final = 4
TAG_BYTES: Final = 4
SLOT_BYTES: Final = 4
KEY_BYTES: Final = 2
SAMPLE: Final = 1_000_000
"""Entries that are really stored to measure one. Fewer would show more of the space that is kept to grow: with a fifth
of them, an entry came out a tenth too large, without sketches a third."""

_PORTION: Final = 1000
"""Entries stored at a time, as a worker stores the survivors of a batch."""

PAGE_KB: Final = 42.0
"""Bytes of an HTML page: the mean of 2,211 pages of news and documentation."""

_FIRST_FETCHED: Final = 1_700_000_000_000
_FETCHED_EVERY_MS: Final = 10
"""Milliseconds between two pages, of which up to a thousand come out of turn."""

_OF_A_PAGE: Final = ("site", "title", "doubt")
"""Columns that may be left out, and that pages of sites have."""
_DOUBTED: Final = 0.1
"""Share of pages whose title says nothing of their text."""

_KIB: Final = 1024
_UNITS: Final = ("KiB", "MiB", "GiB", "TiB")
_WHOLE_UP_TO: Final = 2
"""Powers of 1024 up to MiB."""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument(
        "--distinct",
        type=int,
        metavar="N",
        help="survivors in the index; default 50 million, with --records all of them",
    )
    parser.add_argument(
        "--pages-per-day", type=int, metavar="N", help="pages that come from the spiders; plans the crawl"
    )
    parser.add_argument("--records", type=int, metavar="N", help="pages of files; plans `fingerprint` and `judge`")
    parser.add_argument(
        "--page-kb",
        type=float,
        default=PAGE_KB,
        metavar="KB",
        help=f"size of a page's body before compression; default {PAGE_KB:g}",
    )
    parser.add_argument(
        "--peak",
        type=float,
        default=PEAK,
        metavar="TIMES",
        help=f"pages of the busiest hour, as a multiple of the mean; default {PEAK:g}, 1 for a crawl whose pages may "
        "wait",
    )
    parser.add_argument(
        "--growth",
        type=float,
        default=WORKERS_TO_COME,
        metavar="TIMES",
        help="workers in the future, as a multiple of those planned; partitions and shards are chosen for them; "
        f"default {WORKERS_TO_COME:g}, 1 for a crawl that does not grow",
    )
    parser.add_argument(
        "--pages-a-second",
        type=float,
        metavar="N",
        help="pages a second that one core judges, as `bench pipeline` measures on your machine with your pages; "
        "default: as measured here, for pages of this size",
    )
    parser.add_argument(
        "--layout", choices=[layout.value for layout in Layout], help="instead of the setting index.layout"
    )
    parser.add_argument(
        "--sample",
        type=int,
        metavar="N",
        help=f"entries to store for the measured figures, 0 for none; default {SAMPLE:,}, or --distinct if less",
    )


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Print both accounts, and the plan."""
    given = (arguments.pages_per_day, arguments.pages_a_second, arguments.records, arguments.page_kb, arguments.peak)
    if min(number for number in given if number is not None) <= 0 or arguments.growth < 1:
        raise UsageError(
            "--pages-per-day, --records, --page-kb, --peak and --pages-a-second must be above 0, --growth at least 1; "
            "give other numbers"
        )
    distinct = SIGNATURES if arguments.records is None else arguments.records
    distinct = distinct if arguments.distinct is None else arguments.distinct
    sample = min(SAMPLE, distinct) if arguments.sample is None else arguments.sample
    if distinct < 1 or not 0 <= sample <= distinct:
        raise UsageError("--distinct must be at least 1 and --sample between 0 and --distinct; give other numbers")
    settings = load()
    if arguments.layout:
        index = settings.index.model_copy(update={"layout": arguments.layout})
        settings = settings.model_copy(update={"index": index})
    measured_growth = measured(sample, settings) if sample else None
    print(fitted(report(distinct, settings, measured_growth, sample)))
    growth = measured_growth or Growth(0, computed_bytes(settings))
    page_bytes = round(arguments.page_kb * 1000)
    if arguments.pages_per_day:
        crawl = Crawl(
            pages_a_day=arguments.pages_per_day,
            distinct=distinct,
            page_bytes=page_bytes,
            growth=growth,
            sketched=settings.near.predicate == "accurate",
            page_memory=settings.page.memory_mb * _KIB**2,
            retention_days=settings.topics.retention_days,
            replicas=settings.topics.replication_factor,
            speed=arguments.pages_a_second,
            copies=settings.output.mode != "verdicts",
            packed=settings.topics.compression != "none",
            holders=settings.index.replicas,
            peak=arguments.peak,
            to_come=arguments.growth,
        )
        print("", *map(fitted, plan(crawl, settings)), sep="\n")
    if arguments.records:
        records = RecordsOfPages(pages=arguments.records, distinct=distinct, page_bytes=page_bytes, growth=growth)
        print("", *map(fitted, plan_of_records(records)), sep="\n")
    return 0


def computed_bytes(settings: Settings) -> int:
    """Bytes for each entry by the types of its columns and tables, without URL."""
    return sum(size for _, size in _of_an_entry(settings))


def _of_an_entry(settings: Settings) -> Iterator[tuple[str, int]]:
    for name, dtype in COLUMNS.items():
        yield f"column {name}", dtype.itemsize
    for name in _OF_A_PAGE:
        yield f"column {name}", OPTIONAL[name].itemsize
    tables = len(Layout(settings.index.layout).arrangements)
    yield f"{tables} tables of a tag and a slot each", tables * (TAG_BYTES + SLOT_BYTES)
    if settings.near.track_changes:
        yield "the table of URLs, of a tag and a slot", TAG_BYTES + SLOT_BYTES
    if settings.near.predicate == "accurate":
        yield "sketch", SKETCH_BYTES
        yield f"{BANDS} tables of half a key and a slot each", BANDS * (KEY_BYTES + SLOT_BYTES)


def measured(sample: int, settings: Settings) -> Growth:
    """How a shard of the predicate and layout in force grows, including space to grow, without URLs.

    The size of an entry is measured on the later half of ``sample`` entries: a shard has tables that are as large for a
    thousand entries as for a million. Fingerprints are random; tokens and times are like those of a crawl, since full
    parts of these columns are packed.
    """
    random = np.random.default_rng(1)
    sketched = settings.near.predicate == "accurate"
    shard = parts.new_index(settings)()
    half = sample // 2
    store_random(shard, random, 0, half, sketched)
    by_half = shard.nbytes
    store_random(shard, random, half, sample, sketched)
    entry = (shard.nbytes - by_half) / (sample - half)
    return Growth(max(0.0, shard.nbytes - sample * entry), entry)


def store_random(shard: Index, random: np.random.Generator, begin: int, end: int, sketched: bool) -> None:
    """Entries ``begin`` to ``end`` of an imagined crawl, as a worker stores them."""
    for start in range(begin, end, _PORTION):
        count = min(_PORTION, end - start)
        entries = _random_entries(random, start, count)
        if sketched:
            bands = random.integers(0, 2**32, (count, BANDS), np.uint32)
            entries = replace(entries, bands=bands, sketch=random.integers(0, 2**64, (count, 4), np.uint64))
        shard.store(entries)


def report(distinct: int, settings: Settings, growth: Growth | None, sample: int) -> str:
    """Both accounts as aligned lines; sizes are rounded up."""
    layout, shards = Layout(settings.index.layout), settings.topics.shards
    total = computed_bytes(settings)
    literature = [
        (f"{distinct:,} signatures of 64 bits", distinct * SIGNATURE_BYTES),
        (f"in {TABLES_IN_LITERATURE} tables", distinct * SIGNATURE_BYTES * TABLES_IN_LITERATURE),
    ]
    of_an_entry = [(label, str(size)) for label, size in _of_an_entry(settings)]
    lines = [
        "The literature's arithmetic (signatures alone: no URL, no order, no time), computed",
        *_figures((label, in_units(size)) for label, size in literature),
        "",
        f"This index, predicate {settings.near.predicate}, layout {layout.value}, bytes an entry before it is packed, "
        "computed from its columns' types",
        *_figures([*of_an_entry, ("together", str(total)), (f"{distinct:,} entries", in_units(distinct * total))]),
    ]
    if growth is not None:
        measured_figures = (
            ("bytes an entry, of the later half of them", f"{growth.entry:.1f}"),
            ("for each shard in addition, however few entries it has", in_units(growth.empty)),
            (f"{distinct:,} entries in {shards} shards", in_units(growth.of(distinct, shards))),
        )
        lines += [
            "",
            f"This index, measured: {sample:,} random entries stored, packed, with the space kept to grow",
            *_figures(measured_figures),
        ]
    lines += ["", "URLs come on top; they are kept compressed. Memory divides by the number of workers."]
    return "\n".join(lines)


def plan(crawl: Crawl, settings: Settings) -> Iterator[str]:
    """The crawl's needs, as aligned lines; figures are rounded up. A last line says if they are too much."""
    yield f"A crawl of {crawl.pages_a_day:,} pages a day ({crawl.mean:,.1f} a second), {crawl.distinct:,} different"
    yield from _figures(crawl_rows(crawl, settings))
    if crawl.is_past_the_ceiling:
        most = f"{LOAD * crawl.ordered(crawl.workers):,.0f}"
        yield (
            f"warning: past the ceiling. The busiest hour has {crawl.rate:,.0f} pages a second, and {MOST_WORKERS} "
            f"workers, the largest number considered, order {most}: each of them reads every claim, so more of them "
            "help little. For pages that are in files already use `fingerprint` and `judge` (--records). Split a crawl "
            "into groups that need no comparison, such as languages, with a topics.prefix each, and size each of them. "
            "If pages may wait at busy hours, give a smaller --peak."
        )


def crawl_rows(crawl: Crawl, settings: Settings) -> list[tuple[str, str]]:
    """The needs, and how much of each."""
    days, copies = crawl.retention_days, crawl.replicas
    full = crawl.rate / crawl.ordered(crawl.workers)
    packed = f"pages in zstd, outputs: {settings.topics.compression}"
    return [
        (
            f"cores, {LOAD:.0%} in use at {crawl.peak:g} times the mean (--peak)",
            f"{crawl.cores:,}",
        ),
        (f"of them for parsers, {crawl.page_us[1]:,.0f} µs a page", f"{crawl.parser_cores:,}"),
        (f"workers, at least: their own core {full:.0%} in use", f"{crawl.workers:,}"),
        (
            f"topics.partitions, at least; workers to come: {crawl.to_come:g} times (--growth)",
            f"{crawl.partitions:,}",
        ),
        ("topics.shards, at least; both are chosen once", f"{crawl.shards:,}"),
        (
            "seconds until a worker has restored its shards from the topic, at most",
            f"{math.ceil(crawl.restore_seconds):,}",
        ),
        (
            f"memory of the index with URLs{', held twice' * (crawl.holders - 1)}, divided by the workers",
            in_units(crawl.index_bytes),
        ),
        (f"memory of parsers, one a core: {in_units(PARSER_BYTES)} and page.memory_mb", in_units(crawl.parser_bytes)),
        ("memory of each worker besides its index", in_units(WORKER_BYTES)),
        ("memory of pages on their way, each worker: commit.megabytes", in_units(settings.commit.megabytes * _KIB**2)),
        (f"into the brokers at the busiest hour, a second; {packed}", in_units(crawl.in_bytes)),
        ("out of the leaders of both logs, to all workers, a second", in_units(crawl.order_bytes)),
        (f"on the brokers: {days:g} days (topics.retention_days), copies: {copies}", in_units(crawl.log_bytes)),
        (f"on the brokers: the index, for good, copies: {copies}", in_units(crawl.index_topic_bytes)),
    ]


def plan_of_records(needed: RecordsOfPages) -> Iterator[str]:
    """The archive's needs, as aligned lines; figures are rounded up. A last line says if they are too much."""
    yield f"An archive of {needed.pages:,} pages, {needed.distinct:,} different (`fingerprint`, then `judge`)"
    yield from _figures(records_rows(needed))
    if needed.is_too_much:
        yield (
            f"warning: one `judge` holds at most {MOST_IN_AN_INDEX:,} survivors. Divide the records into groups that "
            "need no comparison, such as languages, judge each group by itself, and size each of them."
        )


def records_rows(needed: RecordsOfPages) -> list[tuple[str, str]]:
    """The needs, and how much of each."""
    return [
        (
            f"core hours to read, {parser_us(needed.page_bytes):,.0f} µs a page, on any number of machines",
            f"{math.ceil(needed.reading_hours):,}",
        ),
        ("records on disk", in_units(needed.disk_bytes)),
        (f"core hours to judge, {JUDGE_US:g} µs a record, on one machine", f"{math.ceil(needed.judging_hours):,}"),
        ("memory of the index there; the pages' URLs and ids are on disk", in_units(needed.index_bytes)),
        (f"memory of that machine, {SHARE:.0%} of it for the index (index.memory_mb)", in_units(needed.machine_bytes)),
    ]


def _figures(rows: Iterable[tuple[str, str]]) -> list[str]:
    return aligned(rows, right=(1,), indent="  ")


def in_units(size: float) -> str:
    """``size`` bytes in binary units, rounded up: to whole MiB, above them to tenths (memory must suffice)."""
    power = min(max((int(size).bit_length() - 1) // 10, 1), len(_UNITS))
    digits = 0 if power <= _WHOLE_UP_TO else 1
    rounded_up = math.ceil(size / _KIB**power * 10**digits) / 10**digits
    return f"{rounded_up:,.{digits}f} {_UNITS[power - 1]}"


def _random_entries(random: np.random.Generator, start: int, count: int) -> Entries:
    def values() -> NDArray[np.uint64]:
        return random.integers(0, 2**64, count, dtype=np.uint64)

    return Entries(
        batch=np.full(count, start, np.int64),
        place=np.arange(count, dtype=np.uint32),
        fingerprint=values(),
        bare=np.zeros(count, np.bool_),
        text_hash=values(),
        tokens=random.integers(50, 5000, count, dtype=np.uint32),
        url_hash=values(),
        fetched=_FIRST_FETCHED
        + (np.arange(start, start + count) + random.integers(0, 1000, count)) * _FETCHED_EVERY_MS,
        urls=("",) * count,
        site=random.integers(1, 2**32, count, dtype=np.uint32),
        title=random.integers(1, 2**32, count, dtype=np.uint32),
        title_words=values(),
        doubt=(random.random(count) < _DOUBTED).astype(np.uint8),
    )
