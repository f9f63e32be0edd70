"""``python -m tests.quality [--raise | --lower-floors]``: what is found, called falsely and taken out of pages, beside
its floors.

``--raise`` writes down what has become better, ``--lower-floors`` also what has become worse. The project's own pages
are measured, and the sets of labelled pages whose folders ``DEDUP_TEST_DATA`` names.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.labelled import VARIABLE, folders
from tests.quality import floors


def main(arguments: list[str]) -> int:
    """0 if nothing is worse than its floor, or the floors were written; 2 for other arguments."""
    if not set(arguments) <= {"--raise", "--lower-floors"} or len(arguments) > 1:
        print(__doc__, file=sys.stderr)
        return 2
    sets: dict[str, Path | None] = {floors.OWN: None}
    sets |= {floors.name_of(folder): folder for folder in folders(os.environ.pop(VARIABLE, None))}
    missed = []
    for name, folder in sets.items():
        known = floors.read(name)
        measured = floors.measure_own() if folder is None else floors.measure(name, folder)
        for row, figures in measured.items():
            if row[2] in floors.WHOLE:
                print(f"{' · '.join(row):40} " + ", ".join(f"{what} {value:,}" for what, value in figures.items()))
        missed += floors.misses(measured, known)
        if arguments:
            lower = arguments == ["--lower-floors"]
            floors.write(name, floors.renewed(known, measured, lower=lower), folder)
    print("\n".join(missed) or "nothing is worse than its floor")
    return 1 if missed and not arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
