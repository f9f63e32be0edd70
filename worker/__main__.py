"""``python -m worker``, and the console script ``crawl-dedup``."""

from __future__ import annotations

import sys

from worker.stopping import AskedToStop


def run() -> int:
    """Run the command line; signals are caught before its modules are imported. Returns the exit code."""
    asked = AskedToStop()
    from worker.cli.main import main

    return main(sys.argv[1:], asked)


if __name__ == "__main__":
    sys.exit(run())
