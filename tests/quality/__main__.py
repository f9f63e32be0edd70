"""``python -m tests.quality [--raise | --lower-floors]``: recall and false positives beside their floors.

``--raise`` writes down what has become better, ``--lower-floors`` also what has become worse. The labelled pages are
measured where ``DEDUP_TEST_DATA`` names their folder.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.quality import floors


def main(arguments: list[str]) -> int:
    """0 if nothing is worse than its floor, or the floors were written; 2 for other arguments."""
    if not set(arguments) <= {"--raise", "--lower-floors"} or len(arguments) > 1:
        print(__doc__, file=sys.stderr)
        return 2
    measured = floors.measure_own()
    folder = os.environ.pop("DEDUP_TEST_DATA", None)
    if folder:
        measured |= floors.measure(floors.LABELLED, Path(folder))
    known = floors.read()
    missed = 0
    for name, figures in measured.items():
        misses = figures.misses(known[name]) if name in known else ["no floor yet"]
        missed += bool(misses)
        print(f"{' · '.join(name):40} {figures.recall:.4f} {figures.edited:.4f} {figures.false_positives:3d}  ", end="")
        print("; ".join(misses) or "ok")
    if arguments:
        floors.write(floors.renewed(known, measured, lower=arguments == ["--lower-floors"]))
        return 0
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
