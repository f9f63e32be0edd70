"""``python -m tests.fuzz.one TARGET FOLDER [libFuzzer's options]``: one target in this process, until its time is over.

``FOLDER`` keeps the inputs that reached something new, from run to run. Numba's compiler is off, since atheris cannot
see into compiled code: code that is compiled elsewhere is Python here. Where time is measured, the code is compiled and
not traced.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import atheris

TIMED = ("costs",)
LOADED_ONCE = "worker.page.words.dictionary"
"""Code with hundreds of thousands of steps that do not depend on a page's content."""
ROOT = Path(__file__).resolve().parents[2]


def main(target: str, folder: Path, *options: str) -> None:
    """Begin with the target's seeds; does not return."""
    if target not in TIMED:
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    apart = [LOADED_ONCE, *(modules_with_kernels() if target in TIMED else [])]
    with atheris.instrument_imports(include=["worker", "crawler_plugin"], exclude=apart):
        module = __import__(f"tests.fuzz.{target}", fromlist=[target])
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(module.seeds()):
        (folder / f"seed-{number}").write_bytes(seed)
    atheris.Setup([sys.argv[0], str(folder), *options], module.attack)
    atheris.Fuzz()


def modules_with_kernels() -> list[str]:
    """Names of all modules that use the compiler."""
    files = [file for file in (ROOT / "worker").rglob("*.py") if _has_kernels(file)]
    return [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files]


def _has_kernels(file: Path) -> bool:
    text = file.read_text()
    return "compiled" in text or "@lean" in text or "kernels" in file.parts


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
