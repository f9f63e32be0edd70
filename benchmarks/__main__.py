"""``python -m benchmarks NAME``: finds the benchmark, reads settings, turns errors into exit codes as commands do."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Final

from worker.cli.main import CommandParser, add_settings_options, exit_code, loader

PROGRAM: Final = "python -m benchmarks"


BENCHMARKS: Final = {
    "fingerprint": "text to fingerprint, compared with packages for the same task",
    "index": "store and look up, compared with other packages' indexes",
    "crowded-block": "look-ups in a crowded block, compared with other indexes",
    "seeded-records": "files with any number of records like those of real pages, for judge",
    "claim-cost": "what a claim costs every worker, however many there are",
    "ceiling": "how many pages a second any number of workers can order",
    "senders": "how long claims wait while many workers send them, over a real broker",
    "deciders": "how long claims wait if as many workers decide as send, by a simulated clock",
    "latency": "from a page's publication to its verdict, at steady rates",
    "crawl-rate": "what a crawl feels of the plugin, and of waiting for verdicts",
    "live-copy": "how long verdicts stand still when a copied index takes over",
    "failover": "how long verdicts stand still when a worker dies or comes, with one holder a shard and with two",
    "extraction-rules": "what each rule of extraction does to labelled pages",
    "soft-404": "which pages are taken for error pages by mistake, and which error pages are missed",
    "worst-pages": "what a page costs at most, with pages made to be expensive",
    "chains": "how many pages chains of near pairs would throw away that are near to no kept page",
    "hostile": "what pages, URLs and strings can cost at most, at three sizes",
    "serve": "verdicts over HTTP, compared with judge_all on the same pages",
    "scan": "verdicts on files, compared with workers on Kafka and with other packages",
    "restore": "rebuild the index from a real topic, and from snapshots",
}
"""What can be measured; the module of this name has ``configure(parser)`` and ``run(arguments, load)``."""


def main(argv: Sequence[str]) -> int:
    """Measure and print; the exit codes are those of ``python -m worker``."""
    return exit_code(lambda: _run(argv))


def _run(argv: Sequence[str]) -> int:
    width = max(map(len, BENCHMARKS))
    names = "".join(f"  {name:{width}}  {summary}\n" for name, summary in BENCHMARKS.items())
    top = CommandParser(
        prog=PROGRAM,
        description="Measures this project next to its peers, and its parts one by one.",
        epilog=f"benchmarks:\n{names}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("name", choices=BENCHMARKS, metavar="NAME", help="one of those below, followed by its options")
    name = top.parse_args(argv[:1]).name
    module = importlib.import_module(f"benchmarks.{name.replace('-', '_')}")
    parser = CommandParser(prog=f"{PROGRAM} {name}", description=BENCHMARKS[name], allow_abbrev=False)
    module.configure(parser)
    add_settings_options(parser)
    arguments = parser.parse_args(argv[1:])
    code: int = module.run(arguments, loader(arguments))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
