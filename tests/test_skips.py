"""In CI a test that lacks what CI installs fails; elsewhere it is skipped and says why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent
PROGRAM: Final = """
import pytest

@pytest.mark.prometheus
def test_needs_prometheus():
    pytest.skip("promtool is not on PATH")

@pytest.mark.redis
def test_needs_redis():
    pytest.skip("redis-server is not on PATH")

@pytest.mark.browser
@pytest.mark.skipif(True, reason="chromium is not on PATH")
def test_needs_a_browser():
    pass

@pytest.mark.data
def test_needs_labelled_pages(labelled_sets):
    pass

@pytest.mark.data("other")
def test_needs_other_labelled_pages(labelled_sets):
    pytest.skip("needs other")

def test_needs_another_system():
    pytest.skip("not on this system")
"""


def outcomes(folder: Path, **environ: str) -> str:
    """pytest's last line for the six tests above."""
    (folder / "test_six.py").write_text(PROGRAM)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-c", ROOT / "pyproject.toml", "test_six.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **environ},
    )
    return ended.stdout.splitlines()[-1]


def test_elsewhere_all_are_skipped(tmp_path: Path) -> None:
    assert "6 skipped" in outcomes(tmp_path)
    assert "6 skipped" in outcomes(tmp_path, CI="false")


def test_in_ci_only_what_ci_cannot_install_is_skipped(tmp_path: Path) -> None:
    assert "2 failed, 3 skipped, 1 error" in outcomes(tmp_path, CI="true")


def test_in_ci_a_set_of_labelled_pages_that_is_not_named_beside_others_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl.xz").touch()
    assert "2 failed, 1 passed, 2 skipped, 1 error" in outcomes(tmp_path, CI="true", DEDUP_TEST_DATA=str(tmp_path))


@pytest.mark.parametrize("ci", ["", "true"])
def test_a_folder_of_labelled_pages_that_is_named_and_empty_is_a_failure(tmp_path: Path, ci: str) -> None:
    wrong = outcomes(tmp_path, CI=ci, DEDUP_TEST_DATA=str(tmp_path / "none"))
    assert ("2 failed, 1 skipped, 3 errors" if ci else "4 skipped, 2 errors") in wrong
