"""``python -m tools.simulation``: play schedules outside pytest, replay one, renew the seeds that catch mutations."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from pathlib import Path

from tests.guarantees import Violation
from tests.simulation.mutations.table import BY_A_TEST, HEAD, TABLE, all_mutations, first_seeds, notice, row
from tests.simulation.plays import PLAYS


def violation(seed: int, play: str) -> str | None:
    """The promise that the schedule of this seed breaks, followed by how to replay it; or None."""
    try:
        PLAYS[play](seed)
    except Violation as broken:
        return f"{broken}\n  replay: python -m tools.simulation --play {play} --seed {seed}"
    return None


def main(arguments: list[str]) -> int:
    """0 if every schedule keeps every promise, 1 if one does not; with ``--mutations``, whether all were caught."""
    parser = argparse.ArgumentParser("python -m tools.simulation", description=__doc__)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--seed", type=int, help="play this one schedule")
    what.add_argument("--schedules", type=int, default=2000, help="play so many, from seed 0 on (default: 2000)")
    what.add_argument("--mutations", action="store_true", help="look for a seed that notices each mutation")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where --mutations writes its table")
    parser.add_argument("--play", choices=sorted(PLAYS), default="small", help="default: small")
    chosen = parser.parse_args(arguments)
    if chosen.mutations:
        return search(chosen.out)
    seeds = range(chosen.schedules) if chosen.seed is None else range(chosen.seed, chosen.seed + 1)
    begun = time.perf_counter()
    broken = 0
    for seed in seeds:
        if found := violation(seed, chosen.play):
            broken += 1
            print(f"seed {seed}: {found}", flush=True)
    seconds = time.perf_counter() - begun
    print(f"{len(seeds)} schedules, {broken} with a violation, {seconds:.1f} s, {len(seeds) / seconds:.0f} a second")
    return 1 if broken else 0


def search(out: Path | None) -> int:
    """Search every mutation; print the rows of the table, or write it."""
    rows, missed, seeds = [], 0, first_seeds() if TABLE.exists() else {}
    for play, mutation in all_mutations():
        if mutation.__name__ in BY_A_TEST:
            rows.append(row(mutation, None))
        elif noticed := notice(play, mutation, seeds.get(mutation.__name__, 0)):
            rows.append(row(mutation, noticed))
        else:
            missed += 1
            print(f"not noticed: {mutation.__name__}", flush=True)
            continue
        print(rows[-1], end="", flush=True)
    if out is not None and not missed:
        out.write_text(HEAD + "".join(rows), "utf-8")
    return 1 if missed else 0


if __name__ == "__main__":
    logging.getLogger("worker").setLevel(logging.CRITICAL)  # faults here happen on purpose
    sys.exit(main(sys.argv[1:]))
