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
    "fingerprint": "text to fingerprint, beside what pip installs for the same",
    "index": "store and look up, beside other indexes that pip installs",
    "crowded-block": "look-ups in a crowded block, beside other indexes",
    "seeded-records": "files of records as those of real pages, as many as wanted, for judge",
    "claim-cost": "what a claim costs every worker, however many there are",
    "ceiling": "how many pages a second any number of workers can order",
    "senders": "how long claims wait while many workers send them, over a real broker",
    "deciders": "how long they wait where as many workers decide as send, by a reckoned clock",
    "latency": "from a page's publication to its verdict, at steady rates",
    "crawl-rate": "what a crawl feels of the plugin, and of waiting for verdicts",
    "live-copy": "how long verdicts stand still when a copied index takes over",
    "failover": "how long verdicts stand still when a worker dies or comes, with one holder a shard and with two",
    "extraction-rules": "what each rule of extraction does to labelled pages",
    "soft-404": "which pages are called none that are some, and the other way",
    "worst-pages": "what a page costs at most, of pages that are made to cost",
    "chains": "what chains of near pairs would throw away that is near to no page that is kept",
    "hostile": "what pages, URLs and strings can cost at most, at three sizes",
    "serve": "verdicts over HTTP, beside judge_all on the same pages",
    "scan": "verdicts on files, beside the workers on Kafka and other packages",
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
        description="Measures this project beside its peers, and its parts one by one.",
        epilog=f"benchmarks:\n{names}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("name", choices=BENCHMARKS, metavar="NAME", help="one of those below; its options stand behind it")
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
