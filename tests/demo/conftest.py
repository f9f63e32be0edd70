"""What several tests of the demo need."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def module_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of modules that a child can run."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path
