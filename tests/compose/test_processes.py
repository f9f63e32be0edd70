"""Child processes see no settings of ours, keep what they print, and end with their block."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from worker.compose.processes import ModuleProcess


def test_a_child_sees_no_settings_of_ours_and_says_what_it_printed(
    module_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEDUP_NEAR__K", "0")
    (module_folder / "child_says.py").write_text(
        "import json, os, sys, worker\nprint('found:', json.dumps([dict(os.environ), sys.argv[1:]]))\nsys.exit(3)\n"
    )
    with ModuleProcess("a child", "child_says", ["one"], module_folder) as child:
        assert child._process.wait(60) == 3
    environment, arguments = json.loads(child.find("found: ") or "")
    assert not [name for name in environment if name.startswith("DEDUP_")]
    assert arguments == ["one"]
    assert child.find("lost: ") is None
    assert "found: " in child.last_lines()


def test_a_child_is_ended_with_its_block(module_folder: Path) -> None:
    (module_folder / "child_waits.py").write_text("import signal\nprint('waiting', flush=True)\nsignal.pause()\n")
    with ModuleProcess("child", "child_waits", [], module_folder) as child:
        assert child.status is None
    assert child.status == -signal.SIGTERM
