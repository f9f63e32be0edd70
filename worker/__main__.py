"""``python -m worker``."""

from __future__ import annotations

import sys

from worker.compose.stopping import AskedToStop

if __name__ == "__main__":
    asked = AskedToStop()
    from worker.cli.main import main

    sys.exit(main(sys.argv[1:], asked))
