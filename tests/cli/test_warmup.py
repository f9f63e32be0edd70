"""What an image's build runs, so that no worker of it has to compile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from worker.cli.main import main
from worker.compose.kernels import PARTS


def warm_up(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "worker", "warmup"],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_folder_is_filled_once(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "cache"
    compiled_before = Path(os.environ.get("NUMBA_CACHE_DIR", "nowhere"))
    if compiled_before.is_dir():  # by ``python -m tests``: all of it would take a minute once more
        shutil.copytree(compiled_before, folder)
        for file in folder.rglob("voting.*"):
            file.unlink()
    first = warm_up(NUMBA_CACHE_DIR=str(folder))
    assert first.returncode == 0, first.stderr
    files = {file: file.stat().st_mtime_ns for file in folder.rglob("*.nbc")}
    compiled = {file.name.split(".")[0] for file in files}
    assert {"scan", "markup", "content", "cutting", "voting"} <= compiled, "index, extraction and fingerprints"
    assert f"{folder}: {len(files)} compiled functions" in first.stdout
    again = warm_up(NUMBA_CACHE_DIR=str(folder))
    assert ", 0 of them new, " in again.stdout
    assert {file: file.stat().st_mtime_ns for file in folder.rglob("*.nbc")} == files
    for part in PARTS:
        subprocess.run(
            [sys.executable, "-m", "worker.compose.kernels", part],
            env=os.environ | {"NUMBA_CACHE_DIR": str(folder)},
            timeout=300,
            check=True,
        )
    assert {file: file.stat().st_mtime_ns for file in folder.rglob("*.nbc")} == files, "the demo compiles the same"


def test_no_folder_is_a_usage_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert main(["warmup"]) == 2
    assert "NUMBA_CACHE_DIR is not set: set it to the folder" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_a_usage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert main(["warmup"]) == 2
    assert "name another folder" in capsys.readouterr().err


def test_where_numba_may_not_compile_nothing_can_be_warmed_up(tmp_path: Path) -> None:
    done = warm_up(NUMBA_CACHE_DIR=str(tmp_path), NUMBA_DISABLE_JIT="1")
    assert done.returncode == 2
    assert "NUMBA_DISABLE_JIT is set" in done.stderr
