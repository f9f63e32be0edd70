"""The step of an image's build that compiles, so that no worker of the image has to."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_compiling import EXERCISE
from worker.cli.main import main
from worker.compose.kernels import PARTS

USE = """
from crawler_plugin.wire.page_headers import PageMeta
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.fingerprint.key import Key
from worker.local import Deduplicator
words = " ".join(f"word{number} is followed by others," for number in range(99))
shell = "<script type=application/json>" + '{"title": "A title", "articleBody": "%s"}' % words + "</script>"
pages = [
    ("text/html", f"<title>A</title><link rel=canonical href=/b><nav>x</nav><main><h1>A</h1><p>{words}</main>"),
    ("text/html", f"<title>A title</title><img src=a.png alt='A picture'><div>{shell}</div>"),
    ("text/html", "<p>" + "x" * 999 + " http://a.example/b_c 1-2 3-4 1-2 " + 9 * "\u6587\u5b57 to\xe0n ho\xe0 \u1ea5 "),
    ("application/xml", f"<?xml version='1.0'?><feed><entry><title>A</title><content>{words}</content></entry></feed>"),
    ("text/plain", words),
]
for key in (None, Key(bytes(32))):
    fingerprinter = Fingerprinter(Recipe(sketched=True, key=key))
    for kind, body in pages:
        fingerprinter(body.encode(), PageMeta(url="http://a.example/b", content_type=kind))
with Deduplicator() as deduplicator:
    for number, (kind, body) in enumerate(pages):
        deduplicator.judge(f"http://a.example/{number}", body.encode(), content_type=kind)
"""


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
    if compiled_before.is_dir():  # compiled by ``python -m tests``: to compile all again would take a minute
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


def test_all_that_pages_and_an_index_need_is_what_is_warmed_up(tmp_path: Path) -> None:
    script = tmp_path / "use.py"
    script.write_text(USE + EXERCISE.format(seed=4))
    folder = Path(os.environ.get("NUMBA_CACHE_DIR", tmp_path))
    shown = {"NUMBA_DEBUG_CACHE": "1", "NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": str(Path(__file__).parents[2])}
    warmed = taken(warm_up(**shown).stdout)
    done = subprocess.run(
        [sys.executable, script], env=os.environ | shown, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout.endswith("done\n"), done.stderr
    assert len(taken(done.stdout)) > 20
    assert taken(done.stdout) <= warmed


def taken(told: str) -> set[str]:
    """The functions that numba reports as read from its cache or written to it."""
    return set(re.findall(r"^\[cache\] data (?:loaded from|saved to) '.*/(\S+)_[0-9a-f]{12}-", told, re.MULTILINE))


def test_no_folder_is_a_usage_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert main(["warmup"]) == 2
    assert "NUMBA_CACHE_DIR is not set: set it to the same folder as for the workers" in capsys.readouterr().err


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
