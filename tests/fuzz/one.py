"""``python -m tests.fuzz.one TARGET FOLDER [libFuzzer's options]``: one target in this process, until its time is over.

``FOLDER`` keeps the inputs that reached something new, from run to run. Without numba's compiler, of which atheris sees
nothing: what is compiled elsewhere is Python here.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["NUMBA_DISABLE_JIT"] = "1"

import atheris


def main(target: str, folder: Path, *options: str) -> None:
    """Begin with the target's seeds; does not return."""
    with atheris.instrument_imports(include=["worker", "crawler_plugin"]):
        module = __import__(f"tests.fuzz.{target}", fromlist=[target])
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(module.seeds()):
        (folder / f"seed-{number}").write_bytes(seed)
    atheris.Setup([sys.argv[0], str(folder), *options], module.attack)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
