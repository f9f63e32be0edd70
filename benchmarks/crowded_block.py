"""``python -m benchmarks crowded-block``: look-ups where many entries, a tenth or a quarter, share a block of 16 bits.

Codes of real pages are not uniform: templates and short texts crowd into few blocks. All codes
that are looked up here lie in the crowd: the worst case for a page. And one text under as many titles as there are
entries (``one_text``).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from benchmarks import index, index_codes, index_contenders, one_text, report
from benchmarks.index import ASKED, IndexSpeed
from benchmarks.index_contenders import PORTION, ThisIndex
from crawler_plugin.wire.errors import UsageError
from worker.compose import parts
from worker.config import Settings
from worker.evaluate.circumstances import machine

SHARES: Final = (0.10, 0.25)
ENTRIES: Final = 1_000_000


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: how many entries, which contenders, and where the results go."""
    parser.add_argument("--entries", type=int, default=ENTRIES, metavar="N", help=f"entries (default: {ENTRIES:,})")
    index.add_common_options(parser)


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Measure uniform codes and crowded ones, print and write both and their ratio."""
    settings = load()
    entries = arguments.entries
    if entries < PORTION or arguments.rounds < 1:
        raise UsageError(f"--entries must be at least {PORTION} and --rounds at least 1; give larger numbers")
    contenders, absent = index_contenders.chosen(arguments.against)
    taking_part = [kind for kind in contenders if kind.at_most >= entries]
    results: list[IndexSpeed] = []
    inputs = {"uniform": index_codes.uniform(entries, ASKED)}
    inputs |= {f"{share:.0%} in one block": index_codes.crowded(entries, share, ASKED) for share in SHARES}
    for name, codes in inputs.items():
        for measured in index.measure(name, codes, taking_part, arguments.rounds):
            results.append(measured)
            line = json.dumps(dataclasses.asdict(measured)) if arguments.json else index.line_of(measured)
            print(line, flush=True)
    titled = one_text.measure(parts.near(settings), entries, arguments.rounds)
    for each in titled:
        print(json.dumps(dataclasses.asdict(each)) if arguments.json else one_text.line_of(each), flush=True)
    versions = [index_contenders.version_of(kind) for kind in taking_part]
    if arguments.out:
        text = f"One text under {entries:,} titles of one site, predicate {settings.near.predicate}"
        section = (text, report.table(one_text.HEADINGS, one_text.rows_of(titled), texts=2))
        _write(arguments.out, results, versions, absent, arguments.rounds, section)
    if not arguments.json:
        print(*absent, machine(versions), sep="\n")
    return 0


def _write(
    out: Path,
    results: Sequence[IndexSpeed],
    versions: list[str],
    absent: list[str],
    rounds: int,
    titled: tuple[str, str],
) -> None:
    columns = ("", "adds/s", "longest, ms", "batch/s", "single/s", "p99, µs", "slower than uniform", "×")
    uniform = {each.contender: each for each in results if each.codes == "uniform"}
    sections = []
    for name in dict.fromkeys(each.codes for each in results):
        here = {each.contender: each for each in results if each.codes == name}
        mine = here[ThisIndex.name]
        rows = [
            (
                each.contender,
                report.short(each.adds),
                f"{each.pause_ms:.1f}",
                report.short(each.batch),
                report.short(each.singles),
                f"{each.single_p99_us:,.1f}",
                f"{uniform[each.contender].batch / each.batch:,.1f}",
                "1" if each is mine else f"{mine.batch / each.batch:,.0f}",
            )
            for each in here.values()
        ]
        sections.append((f"{mine.entries:,} entries, {name}", report.table(columns, rows)))
    report.write(
        out,
        title="Look-ups in a crowded block",
        how=f"`python -m benchmarks crowded-block`, {rounds} rounds, medians: CPU time of one thread, all in one "
        "process in turn. Part of the entries share their lowest 16 bits, and so do all codes that are looked up.",
        versions=versions,
        absent=absent,
        sections=[*sections, titled],
    )
