"""``python -m tests.simulation``: play schedules outside pytest, replay one, renew the seeds that catch mutations."""

from __future__ import annotations

import argparse
import sys
import time

from tests.simulation import checks
from tests.simulation.mutations.catching import caught
from tests.simulation.mutations.protocol import MUTATIONS, OF_ACCURATE
from tests.simulation.schedule import ACCURATE, REAL, REAL_ACCURATE, SMALL, Scale, Schedule, Violation

SCALES: dict[str, Scale] = {"small": SMALL, "accurate": ACCURATE, "real": REAL, "real-accurate": REAL_ACCURATE}
SEARCHED = 20_000


def violation(seed: int, scale: str) -> str | None:
    """What the schedule of this seed breaks, or None; after it stands how to replay it."""
    try:
        checks.check(Schedule(seed, SCALES[scale]).run())
    except Violation as broken:
        return f"{broken}\n  replay: python -m tests.simulation --scale {scale} --seed {seed}"
    return None


def main(arguments: list[str]) -> int:
    """0 if every schedule keeps every promise, 1 if one does not; of ``--mutations``, whether all were caught."""
    parser = argparse.ArgumentParser("python -m tests.simulation", description=__doc__)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--seed", type=int, help="play this one schedule")
    what.add_argument("--schedules", type=int, default=2000, help="play so many, from seed 0 on (default: 2000)")
    what.add_argument("--mutations", action="store_true", help="print the first seed that catches each mutation")
    parser.add_argument("--scale", choices=sorted(SCALES), default="small", help="default: small")
    chosen = parser.parse_args(arguments)
    if chosen.mutations:
        return search()
    seeds = range(chosen.schedules) if chosen.seed is None else range(chosen.seed, chosen.seed + 1)
    begun = time.perf_counter()
    broken = 0
    for seed in seeds:
        if found := violation(seed, chosen.scale):
            broken += 1
            print(f"seed {seed}: {found}", flush=True)
    seconds = time.perf_counter() - begun
    print(f"{len(seeds)} schedules, {broken} with a violation, {seconds:.1f} s, {len(seeds) / seconds:.0f} a second")
    return 1 if broken else 0


def search() -> int:
    """Print the table of ``test_mutations.FIRST_SEEDS`` as it is now."""
    missed = 0
    for mutation in (*MUTATIONS, *OF_ACCURATE):
        found = caught(mutation, range(SEARCHED), ACCURATE if mutation in OF_ACCURATE else SMALL)
        missed += found is None
        shown = "# not caught" if found is None else f"{found[0]},  # {found[1].splitlines()[0][:80]}"
        print(f'    "{mutation.__name__}": {shown}', flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
