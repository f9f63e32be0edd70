"""``python -m tools.quality [--raise | --lower-floors | --publish]``: what is found, called falsely and taken out of
pages, beside its floors.

``--raise`` writes down what has become better, ``--lower-floors`` also what has become worse. The project's own pages
are measured, and the sets of labelled pages whose folders ``DEDUP_TEST_DATA`` names.

``--publish`` does as ``--raise``, then measures these sets by all methods and extractors and renews what the handbook
and the README say of it; all sets must be named.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.labelled import VARIABLE, folders
from tools import docs
from tools.quality import floors, measuring


def main(arguments: list[str]) -> int:
    """0 if nothing is worse than its floor, or the requested files are written; 2 for other arguments."""
    if not set(arguments) <= {"--raise", "--lower-floors", "--publish"} or len(arguments) > 1:
        print(__doc__, file=sys.stderr)
        return 2
    sets = {floors.name_of(folder): folder for folder in folders(os.environ.pop(VARIABLE, None))}
    absent = [name for name in floors.LABELLED if name not in sets]
    if arguments == ["--publish"] and absent:
        print(f"{VARIABLE} does not name the pages of {' and '.join(absent)}; add their folders", file=sys.stderr)
        return 2
    missed: list[str] = []
    for name in (floors.OWN, *sets):
        known = floors.read(name)
        measured = floors.measure(name, sets[name]) if name in sets else floors.measure_own()
        for row, figures in measured.items():
            if row[2] in floors.WHOLE:
                print(f"{' · '.join(row):40} " + ", ".join(f"{what} {value:,}" for what, value in figures.items()))
        missed += floors.misses(measured, known)
        if arguments:
            lower = arguments == ["--lower-floors"]
            floors.write(name, floors.renewed(known, measured, lower=lower), sets.get(name))
    print("\n".join(missed) or "nothing is worse than its floor")
    if arguments == ["--publish"]:
        return publish(sets)
    return 1 if missed and not arguments else 0


def publish(sets: dict[str, Path]) -> int:
    """Renew figures, reports and tables of the docs."""
    measuring.measure({name: sets[name] for name in floors.LABELLED})
    return docs.main(["--write"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
