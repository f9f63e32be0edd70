"""``python -m tests.fuzz [--seconds N] [TARGET ...]``: each target for its share of the time, two at once."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from tests.fuzz import TARGETS

ROOT: Final = Path(__file__).resolve().parents[2]
AT_ONCE: Final = 2
LONGEST_INPUT: Final = 8192
START_SECONDS: Final = 120
"""The time for imports and seeds, on a busy machine."""


class Ended(NamedTuple):
    """The result of a target: the end of its output, and the input on which it failed."""

    target: str
    code: int
    said: str
    found: bytes | None


def run(target: str, seconds: float, corpus: Path, seed: int = 0) -> Ended:
    """Run one target in a process of its own; ``seed`` 0 means another seed each time."""
    found = corpus / f"{target}.found"
    options = [
        f"-max_total_time={max(1, round(seconds))}",
        f"-max_len={LONGEST_INPUT}",
        f"-exact_artifact_path={found}",
        f"-artifact_prefix={corpus}/",  # for inputs that are only slow
        f"-seed={seed}",
        "-timeout=30",
        "-rss_limit_mb=3000",
        "-print_final_stats=1",
        "-close_fd_mask=0",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.one", target, str(corpus / target), *options],
        cwd=ROOT,
        capture_output=True,
        timeout=seconds + START_SECONDS,
        check=False,
    )
    said = (done.stdout + done.stderr).decode(errors="replace")
    return Ended(target, done.returncode, said[-6000:], found.read_bytes() if found.exists() else None)


def run_all(targets: list[str], seconds: float, corpus: Path, seed: int = 0) -> list[Ended]:
    """Run all targets, in ``seconds`` by the clock together."""
    share = seconds * AT_ONCE / len(targets)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda target: run(target, share, corpus, seed), targets))


def main(argv: list[str]) -> int:
    """1 if something was found, else 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; default: all")
    parser.add_argument("--seconds", type=float, default=600.0, help="for all together (default: 600)")
    parser.add_argument("--corpus", type=Path, help="folder that keeps what was learnt; default: a temporary one")
    arguments = parser.parse_args(argv)
    unknown = set(arguments.targets) - set(TARGETS)
    if unknown:
        parser.error(f"there is no target {', '.join(sorted(unknown))}; there is {', '.join(TARGETS)}")
    with tempfile.TemporaryDirectory() as temporary:
        corpus = (arguments.corpus or Path(temporary)).absolute()
        corpus.mkdir(parents=True, exist_ok=True)
        ended = run_all(arguments.targets or list(TARGETS), arguments.seconds, corpus)
    for each in ended:
        units = [line.split()[-1] for line in each.said.splitlines() if "number_of_executed_units" in line]
        print(f"{each.target}: {'ok' if not each.code else 'FOUND'}, {units[-1] if units else '?'} inputs")
        if each.code:
            print(f"{each.said}\ninput: {each.found!r}")
    return int(any(each.code for each in ended))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
