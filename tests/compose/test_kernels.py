"""What is compiled beforehand is all that its workers would compile."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import worker
from worker.compose.kernels import PARTS

ROOT: Final = Path(worker.__file__).parents[1]
PROGRAM: Final = (
    "import json, sys; from worker.compose.kernels import main; main(sys.argv[1]); print(json.dumps([*sys.modules]))"
)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_reads_every_module_whose_functions_its_workers_run_compiled(part: str) -> None:
    rooms = ("index",) if part == "index" else ("page", "fingerprint")
    compiled = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for room in rooms
        for path in (ROOT / "worker" / room).rglob("*.py")
        if "\n@compiled(" in path.read_text(encoding="utf-8")
    }
    ended = subprocess.run([sys.executable, "-c", PROGRAM, part], capture_output=True, text=True, check=True, cwd=ROOT)
    assert compiled
    assert compiled <= set(json.loads(ended.stdout))
