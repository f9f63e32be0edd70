"""The kernels compiled beforehand are all that workers would compile."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
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
    rooms = ("index", "fingerprint", "verdict") if part == "index" else ("page",)
    compiled = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for room in rooms
        for path in (ROOT / "worker" / room).rglob("*.py")
        if "\n@compiled(" in path.read_text(encoding="utf-8")
    }
    ended = subprocess.run([sys.executable, "-c", PROGRAM, part], capture_output=True, text=True, check=True, cwd=ROOT)
    assert compiled
    assert compiled <= set(json.loads(ended.stdout.splitlines()[-1]))


def test_what_the_cache_lacks_is_compiled_by_processes_of_their_own_that_tell_how_far_they_are(tmp_path: Path) -> None:
    kept = Path(os.environ.get("NUMBA_CACHE_DIR", "nowhere"))
    if kept.is_dir():  # compiled by ``python -m tests``: to compile all again would take a minute
        shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
        for file in (*tmp_path.rglob("voting.*"), *tmp_path.rglob("frames.*")):
            file.unlink()
    code = (
        "import logging; from worker import compiling; from worker.compose import kernels\n"
        "from worker.compose.kernels import compile_apart\n"
        "kernels._STEPS_LOGGED = 2; logging.basicConfig(level='INFO', format='logged %(message)s')\n"
        "compile_apart(print); print('done'); compile_apart(print)\n"
        "print(sum(len(kernel.overloads) for kernel in compiling._entries))"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, env=environment
    )
    *steps, done, here = ended.stdout.splitlines()
    assert (done, here) == ("done", "0"), "the second time nothing is told, and nothing is loaded here"
    assert steps[0] == "compiling for this machine"
    assert {re.sub(r"\d+", "N", step) for step in steps[1:]} == {
        f"compiling for this machine: N functions done, for N s now ({part})" for part in PARTS
    }
    logged = [line.removeprefix("logged ") for line in ended.stderr.splitlines() if "functions done" in line]
    assert logged
    assert set(logged) <= set(steps)
    assert {file.name.split("_")[0] for file in tmp_path.rglob("voting.*.nbc")} == {"voting.gather", "voting.vote"}


DOCUMENTS: Final = ("".join(json.dumps({"id": id_, "text": f"words of {id_}"}) + "\n" for id_ in "ab"), "docs.jsonl")
PAIRS: Final = (json.dumps({"a": "a", "b": "b", "label": 1}) + "\n", "pairs.jsonl")
LOCAL: Final = (
    "import logging; from worker.local import Deduplicator; logging.basicConfig(level='INFO')\n"
    "with Deduplicator() as local: local.judge('https://a.example/', text='words')"
)


@pytest.mark.parametrize(
    "command",
    [
        "-m worker compare docs.jsonl pairs.jsonl",
        "-m worker compare --text words words",
        "-m worker explain --blocks docs.jsonl",
        "-m worker idf --docs docs.jsonl --out idf.tsv",
        "-m worker evaluate --docs docs.jsonl --pairs pairs.jsonl",
        "-m worker calibrate --docs docs.jsonl --pairs pairs.jsonl",
        "-m worker scan docs.jsonl --out scanned",
        "local.py",
    ],
)
def test_a_command_that_needs_kernels_says_so_before_it_compiles_anything(command: str, tmp_path: Path) -> None:
    for content, name in (DOCUMENTS, PAIRS, (LOCAL, "local.py")):
        (tmp_path / name).write_text(content, encoding="utf-8")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, *command.split()],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if "compiling for this machine" in line:
                break
        os.killpg(process.pid, signal.SIGKILL)
    assert "compiling for this machine" in "".join(said)
    compiled = {file.name.partition(".")[0] for file in tmp_path.rglob("*.nbc")}
    assert compiled <= {"entries"}, "the scheme of a scan names its dictionary, so this is made before"
