"""``python -m benchmarks``: which benchmarks there are, and how a wrong command line ends."""

from __future__ import annotations

import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import benchmarks
from benchmarks.__main__ import BENCHMARKS, main

FOLDER: Final = Path(benchmarks.__file__).parent


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"python -m benchmarks {name}" in out
    assert "--set KEY=VALUE" in out


def test_every_file_that_is_a_benchmark_has_its_name() -> None:
    modules = {path.stem: importlib.import_module(f"benchmarks.{path.stem}") for path in FOLDER.glob("[!_]*.py")}
    runnable = {name.replace("_", "-") for name, module in modules.items() if hasattr(module, "configure")}
    assert runnable == BENCHMARKS.keys()


def test_a_name_that_is_none_is_answered_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["indexes"]) == 2
    told = capsys.readouterr().err
    assert all(name in told for name in BENCHMARKS)
    assert "python -m benchmarks --help" in told


def test_python_m_benchmarks_is_this_command_line() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--help"], capture_output=True, text=True, check=True, cwd=FOLDER.parent
    )
    assert all(summary in ended.stdout for summary in BENCHMARKS.values())


def test_the_options_that_the_documentation_gives_exist(capsys: pytest.CaptureFixture[str]) -> None:
    files = [
        FOLDER.parent / "README.md",
        *(path for name in ("docs", "deploy") for path in (FOLDER.parent / name).rglob("*.md")),
    ]
    lines = {line for path in files for line in re.findall(r"python -m benchmarks ([^\n`]+)", path.read_text("utf-8"))}
    for words in (shlex.split(line, comments=True) for line in lines):
        assert main([words[0], "--help"]) == 0
        named = {word for word in words if word.startswith("--")}
        assert named <= set(re.findall(r"--[a-z-]+", capsys.readouterr().out)), words
