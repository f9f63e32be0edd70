"""``python -m benchmarks ceiling``: how many pages a second any number of workers can order.

Every worker pays for its own share of the pages, and for every claim of all workers. This benchmark
measures the second cost, with as many shards as there are workers, and eight at least, which they share. ``python -m
worker bench pipeline`` measures the first one, which is an argument here. The ceiling is reckoned from both: where each
worker's one core is full.
"""

from __future__ import annotations

import argparse
import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from benchmarks import report
from benchmarks.claim_cost import ClaimCost, measure
from crawler_plugin.wire.errors import UsageError
from worker.compose import parts
from worker.compose.step import policy
from worker.config import Settings

FEWEST_SHARDS: Final = 8
_DECODE, _ASK, _ANSWERS, _DECIDE = range(4)


@dataclass(frozen=True)
class Ceiling:
    """The ceiling of ``workers``; ``page_us`` is the cost of a page to its owner, in microseconds of its core."""

    workers: int
    page_us: float
    cost: ClaimCost

    @property
    def claim_us(self) -> float:
        """The cost of a claim of any worker to each of them."""
        steps = list(self.cost.microseconds.values())
        shards_each = math.ceil(self.cost.shards / self.workers)
        return steps[_DECODE] + shards_each * steps[_ASK] + steps[_ANSWERS] + steps[_DECIDE]

    @property
    def pages_a_second(self) -> float:
        """Pages a second of all workers together, where their cores are full."""
        return 1e6 / (self.page_us / self.workers + self.claim_us)

    @property
    def bytes_a_second(self) -> float:
        """Bytes a second that each worker then reads from both logs."""
        return self.pages_a_second * (self.cost.bytes_a_claim + self.cost.answer_bytes_a_claim)

    @property
    def wait(self) -> float:
        """Seconds from a worker's full batch to its decision, where each worker has one in flight before it."""
        return self.workers * self.cost.claims_a_batch / self.pages_a_second


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: how many workers, and the cost of a page."""
    parser.add_argument(
        "--page-us", type=float, required=True, metavar="MICROSECONDS", help="of the owner's core, a page"
    )
    parser.add_argument("--workers", default="1,3,10,30,100,200,400", metavar="N,N,…", help="(default: %(default)s)")
    parser.add_argument("--entries", type=int, default=1_000_000, metavar="N", help="in a shard (default: 1,000,000)")
    parser.add_argument("--batches", type=int, default=30, help="to measure (default: 30)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write Markdown and a picture here")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Measure, reckon and print."""
    try:
        numbers = [int(number) for number in arguments.workers.split(",")]
    except ValueError:
        raise UsageError(f"--workers {arguments.workers} is no list of numbers; give one such as 1,10,100") from None
    if min(*numbers, arguments.entries, arguments.batches) < 1 or arguments.page_us <= 0:
        raise UsageError("--workers, --entries, --batches and --page-us must be positive; give larger numbers")
    settings = load()
    scheme = parts.scheme(settings, parts.recipe(settings))
    rules = policy(settings, scheme, secrets.token_bytes(8))
    ceilings = []
    for number in numbers:
        sharded = replace(rules, shards=max(number, FEWEST_SHARDS))
        ceilings.append(Ceiling(number, arguments.page_us, measure(sharded, arguments.entries, arguments.batches)))
    print(table(ceilings))
    if arguments.out is not None:
        _write(arguments.out, ceilings)
    return 0


def table(ceilings: Sequence[Ceiling]) -> str:
    """A Markdown table with a row for each number of workers."""
    columns = ("workers", "shards", "µs a claim", "pages/s", "wait, s", "bytes a claim", "of answers",
               "MB/s each reads", "MB/s all read")  # fmt: skip
    rows = [
        (
            f"{each.workers}",
            f"{each.cost.shards}",
            f"{each.claim_us:.2f}",
            f"{each.pages_a_second:,.0f}",
            f"{each.wait:.2f}",
            f"{each.cost.bytes_a_claim:.0f}",
            f"{each.cost.answer_bytes_a_claim:.0f}",
            f"{each.bytes_a_second / 1e6:.1f}",
            f"{each.workers * each.bytes_a_second / 1e6:,.0f}",
        )
        for each in ceilings
    ]
    return report.table(columns, rows)


def _write(out: Path, ceilings: Sequence[Ceiling]) -> None:
    lines = {
        "pages a second": [(each.workers, each.pages_a_second) for each in ceilings],
        "if other workers' claims cost nothing": [
            (each.workers, each.workers * 1e6 / each.page_us) for each in ceilings
        ],
    }
    first = ceilings[0]
    report.write(
        out,
        title="How many pages a second the order takes",
        how=(
            "`python -m benchmarks ceiling`: the cost of a claim to every worker was measured, with "
            f"{first.cost.entries:,} entries a shard, {first.cost.claims_a_batch} claims a batch, three of ten near to "
            f"a survivor. The {first.page_us:.0f} µs that a page costs its owner were measured before. Everything else "
            "is computed from these two, for workers that each use one full core, parsers not counted; batches are "
            "full then, too."
        ),
        versions=(),
        absent=(),
        sections=[("Pages a second", table(ceilings))],
        plot=report.plot(out.with_suffix(".svg"), lines, x="workers", y="pages a second"),
    )
