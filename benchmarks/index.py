"""``python -m benchmarks index``: store and look up, compared with the indexes that pip installs.

All contenders stand in one process and take turns, so that other work of the machine falls on all of them alike.
Rates are by CPU time of one thread; medians of the rounds.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np

from benchmarks import index_codes, index_contenders, report
from benchmarks.index_codes import Codes
from benchmarks.index_contenders import CONTENDERS, PORTION, U64, Contender, ThisIndex
from crawler_plugin.wire.errors import UsageError
from worker.compose import parts
from worker.config import Settings
from worker.evaluate.circumstances import machine
from worker.sizing.pages import pages_of

SIZES: Final = (100_000, 1_000_000, 10_000_000, 50_000_000)
ASKED: Final = 20_000
BATCH: Final = 1000
LEAST_SECONDS: Final = 0.2
"""Seconds for which a look-up is repeated: shorter times are the clock's own noise."""
TURNS: Final = 5
"""How often all are asked in turn in a round: filling takes minutes, while the machine changes within seconds."""
SINGLES: Final = 5000
"""Single look-ups that are timed one by one for the percentiles."""
PLANTED: Final = 500
"""Pairs at each distance; recall of a part in five hundred is seen."""
BRUTE_FORCE_UP_TO: Final = 1_000_000
"""Entries up to which every pair is compared for the truth; above, only planted pairs are known."""
BRUTE_FORCED: Final = 200
_TEXTS: Final = 200_000


@dataclass(frozen=True)
class IndexSpeed:
    """One contender at one size. Rates a second of CPU time; times in microseconds; ``pause_ms`` the longest ``add``.

    ``found`` is the share of planted pairs found at distances 0 to ``K`` + 1: the last should not be. ``wrong`` counts
    differences from brute force, None where that was not feasible. ``own_bytes`` and ``resident_bytes`` an entry.
    """

    codes: str
    entries: int
    contender: str
    adds: float
    pause_ms: float
    singles: float
    single_p50_us: float
    single_p99_us: float
    batch: float
    resident_bytes: float
    own_bytes: float | None
    found: tuple[float, ...]
    wrong: int | None
    rounds: int = 3


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: how many entries, which contenders, and where the results go."""
    sizes = ", ".join(f"{size:,}" for size in SIZES)
    parser.add_argument(
        "--entries", type=int, action="append", metavar="N", help=f"entries; repeatable (default: {sizes})"
    )
    parser.add_argument("--docs", type=Path, help="also codes of real texts, from docs.jsonl.xz in this folder")
    add_common_options(parser)


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of both benchmarks that compare with peers."""
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds; the median counts (default: 3)")
    parser.add_argument(
        "--against", action="append", metavar="PACKAGE", help="only this peer; repeatable (default: all installed)"
    )
    parser.add_argument("--json", action="store_true", help="an object a contender and line")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write the results as Markdown, with a plot next to it"
    )


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Measure, print, write."""
    settings = load()
    sizes = arguments.entries or SIZES
    if min(sizes) < PORTION or arguments.rounds < 1:
        raise UsageError(f"--entries must be at least {PORTION} and --rounds at least 1; give larger numbers")
    contenders, absent = index_contenders.chosen(arguments.against)
    results: list[IndexSpeed] = []
    for name, codes in _inputs(settings, sizes, arguments.docs):
        taking_part = [kind for kind in contenders if kind.at_most >= len(codes.stored)]
        for measured in measure(name, codes, taking_part, arguments.rounds):
            results.append(measured)
            print(json.dumps(dataclasses.asdict(measured)) if arguments.json else line_of(measured), flush=True)
    versions = [index_contenders.version_of(kind) for kind in contenders]
    if arguments.out:
        _write(arguments.out, results, absent)
    if not arguments.json:
        print(*absent, machine(versions), sep="\n")
    return 0


def _inputs(settings: Settings, sizes: Sequence[int], docs: Path | None) -> Iterator[tuple[str, Codes]]:
    for size in sizes:
        yield "uniform", index_codes.uniform(size, ASKED)
    if docs is not None:
        yield "texts", index_codes.of_texts(parts.recipe(settings), pages_of(docs, None), _TEXTS, ASKED)


def measure(name: str, codes: Codes, kinds: Sequence[type[Contender]], rounds: int) -> list[IndexSpeed]:
    """All contenders on the same codes, taking turns.

    1. In each round each is filled anew, then all are asked in turn, ``TURNS`` times.
    2. After the last round: planted pairs, and brute force where it is feasible.
    """
    fillings: dict[type[Contender], list[Filling]] = {kind: [] for kind in kinds}
    timings: dict[type[Contender], list[Timing]] = {kind: [] for kind in kinds}
    held: dict[type[Contender], Contender] = {}
    for _ in range(rounds):
        for kind in kinds:
            held.pop(kind, None)
            held[kind], filling = fill(kind, codes.stored)
            fillings[kind].append(filling)
        for kind in list(kinds) * TURNS:
            timings[kind].append(ask(held[kind], codes.asked))
    wrong = _wrong(codes, list(held.values()))
    results = []
    for kind in kinds:
        filled, timing = fillings[kind], timings[kind]
        planted = [
            index_codes.planted(codes.stored, distance, _fewer(PLANTED, timing[-1].batch))
            for distance in range(index_contenders.K + 2)
        ]
        own = held[kind].own_bytes
        results.append(
            IndexSpeed(
                codes=name,
                entries=len(codes.stored),
                contender=kind.name,
                adds=median(each.adds for each in filled),
                pause_ms=median(each.pause_ms for each in filled),
                singles=median(each.singles for each in timing),
                single_p50_us=median(each.p50_us for each in timing),
                single_p99_us=median(each.p99_us for each in timing),
                batch=median(each.batch for each in timing),
                resident_bytes=median(each.resident_bytes for each in filled) / len(codes.stored),
                own_bytes=None if own is None else own / len(codes.stored),
                found=tuple(float(held[kind].finds(each).mean()) for each in planted),
                wrong=wrong.get(kind),
                rounds=rounds,
            )
        )
    return results


@dataclass(frozen=True)
class Filling:
    """``adds`` a second of CPU time; ``pause_ms`` the longest of all calls, in CPU time; memory of the contender."""

    adds: float
    pause_ms: float
    resident_bytes: int


@dataclass(frozen=True)
class Timing:
    """Look-ups a second, one by one and in batches; percentiles of the single ones in microseconds."""

    singles: float
    p50_us: float
    p99_us: float
    batch: float


def fill(kind: type[Contender], codes: U64) -> tuple[Contender, Filling]:
    """A new contender with all codes, added in portions."""
    before = index_contenders.resident_bytes()
    contender = kind()
    longest = total = 0
    for start in range(0, len(codes), PORTION):
        portion = codes[start : start + PORTION]
        begun = time.thread_time_ns()
        contender.add(portion)
        took = time.thread_time_ns() - begun
        longest = max(longest, took)
        total += took
    after = index_contenders.resident_bytes()
    return contender, Filling(len(codes) / (total / 1e9), longest / 1e6, max(0, after - before))


def ask(contender: Contender, asked: U64) -> Timing:
    """Look up singly and in batches of ``BATCH`` (fewer where that takes seconds), again and again for a while."""
    begun = time.process_time_ns()
    contender.many(asked[:8])  # work of the first look-up alone is no look-up's time
    size = _fewer(BATCH, 8e9 / max(1, time.process_time_ns() - begun))
    batches = [asked[start : start + size] for start in range(0, len(asked) - size + 1, size)]
    batch = rate_of(contender.many, batches, size)
    queries = [contender.query_of(code) for code in asked[:SINGLES].tolist()]
    singles = rate_of(contender.one, queries, 1)
    each = _each_ns(contender.one, queries)
    return Timing(singles, float(np.percentile(each, 50)) / 1e3, float(np.percentile(each, 99)) / 1e3, batch)


def rate_of(call: Callable[[Any], Any], inputs: Sequence[Any], size: int) -> float:
    """Look-ups a second of CPU time; stops in the middle of the inputs when it takes long."""
    done = 0
    begun = time.process_time_ns()
    while True:
        for given in inputs:
            call(given)
            done += size
            took = time.process_time_ns() - begun if size > 1 or done % 16 == 0 else 0
            if took >= LEAST_SECONDS * 1e9:
                return done / (took / 1e9)


def _each_ns(call: Callable[[Any], Any], queries: Sequence[Any]) -> list[int]:
    """Nanoseconds of single look-ups, by the wall: the clock of CPU time costs as much as a look-up."""
    times = []
    deadline = time.perf_counter_ns() + int(1e9)
    for query in queries:
        begun = time.perf_counter_ns()
        call(query)
        ended = time.perf_counter_ns()
        times.append(ended - begun)
        if ended > deadline:
            break
    return times


def _fewer(wanted: int, a_second: float) -> int:
    """As many look-ups as take a second or two at most, at least 8."""
    return int(min(wanted, max(8.0, a_second)))


def _wrong(codes: Codes, contenders: Sequence[Contender]) -> dict[type[Contender], int]:
    if len(codes.stored) > BRUTE_FORCE_UP_TO:
        return {}
    asked = codes.asked[:BRUTE_FORCED]
    truth = index_codes.near_by_brute_force(codes.stored, asked)
    return {type(contender): int((contender.finds(asked) != truth).sum()) for contender in contenders}


def line_of(measured: IndexSpeed) -> str:
    """The result as a line for people."""
    recall = "/".join(f"{share:.0%}" for share in measured.found)
    truth = "" if measured.wrong is None else f", {measured.wrong} differ from brute force"
    return (
        f"{measured.codes} {measured.entries:,}: {measured.contender}: {measured.adds / 1e6:.2f}M adds/s (longest "
        f"{measured.pause_ms:.1f} ms), single {measured.singles:,.0f}/s (p50 {measured.single_p50_us:.1f}, p99 "
        f"{measured.single_p99_us:.1f} us), batch {measured.batch:,.0f}/s, {measured.resident_bytes:.0f} B an entry, "
        f"found at 0 to {index_contenders.K + 1}: {recall}{truth}"
    )


def _write(out: Path, measured: Sequence[IndexSpeed], absent: list[str]) -> None:
    """Write the Markdown file, and the plot of batches by size next to it."""
    kept = report.together(out, [dataclasses.asdict(each) for each in measured], _KEY)
    results = sorted((IndexSpeed(**row) for row in kept), key=lambda each: (each.codes != "uniform", each.entries))
    measured_kinds = {each.contender for each in results}
    versions = [index_contenders.version_of(kind) for kind in CONTENDERS if kind.name in measured_kinds]
    ours = {(each.codes, each.entries): each for each in results if each.contender == ThisIndex.name}
    sections = []
    for (codes, entries), mine in ours.items():
        rows = [_row(each, mine) for each in results if (each.codes, each.entries) == (codes, entries)]
        kind = "codes of real texts" if codes == "texts" else "uniform codes"
        rounds = f"{mine.rounds} rounds" if mine.rounds > 1 else "one round"
        sections.append((f"{entries:,} entries, {kind}, {rounds}", report.table(_COLUMNS, rows)))
    lines: dict[str, list[tuple[float, float]]] = {}
    for each in results:
        if each.codes == "uniform":
            lines.setdefault(each.contender, []).append((each.entries, each.batch))
    plot = report.plot(out.with_suffix(".svg"), lines, x="entries", y="look-ups a second and core, in batches of 1000")
    report.write(
        out,
        title="The index and its peers",
        how="`python -m benchmarks index`, medians of the rounds, in each of which all are asked in turn "
        f"{TURNS} times: CPU time of one thread, all in one process; half of the codes looked up are near to an entry. "
        "B an entry is resident memory. Here an entry also keeps order, source, time, text hash and URL hash; for the "
        "peers it is the code and a number. “Longest” is the longest of all calls that add 1024 entries.",
        versions=versions,
        absent=absent,
        sections=sections,
        plot=plot,
    )


_KEY: Final = ("codes", "entries", "contender")
_COLUMNS: Final = (
    "", "adds/s", "longest, ms", "single/s", "p50, µs", "p99, µs", "batch/s", "B an entry", "found at 0 1 2 3 | 4", "×",
)  # fmt: skip


def _row(each: IndexSpeed, mine: IndexSpeed) -> tuple[str, ...]:
    found = [f"{share:.1%}".replace(".0%", "%") for share in each.found]
    return (
        each.contender,
        report.short(each.adds),
        f"{each.pause_ms:.1f}",
        report.short(each.singles),
        f"{each.single_p50_us:.1f}",
        f"{each.single_p99_us:.1f}",
        report.short(each.batch),
        f"{each.resident_bytes:.0f}",
        " ".join(found[:-1]) + " / " + found[-1],
        "1" if each is mine else f"{mine.batch / each.batch:,.1f} (single {mine.singles / each.singles:,.1f})",
    )
