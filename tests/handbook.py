"""The commands of the handbook, taken from its pages and run exactly as printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.cluster.cluster import Cluster
from worker.config.catalogue import catalogue

HOW_TO: Final = Path(__file__).resolve().parents[1] / "docs" / "how-to"
_FENCE: Final = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def section(page: str, heading: str) -> str:
    """The text below a heading, up to the next heading that is not deeper."""
    text = (HOW_TO / f"{page}.md").read_text(encoding="utf-8")
    found = re.search(rf"^(#+) {re.escape(heading)}\n(.*?)(?=^#{{1,2}} |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"{page}.md has no heading {heading}"
    end = re.search(rf"^#{{1,{len(found[1])}}} ", found[2], re.MULTILINE)
    return found[2][: end.start()] if end else found[2]


def blocks(page: str, heading: str, kind: str = "sh") -> list[str]:
    """The fenced blocks of one kind in a section."""
    return [text for _, found, text in _FENCE.findall(section(page, heading)) if found == kind]


def commands(page: str, heading: str) -> list[str]:
    """The lines of its shell blocks, each a command; the text behind `` # `` is a comment."""
    lines = "".join(blocks(page, heading)).splitlines()
    return [line.partition(" # ")[0].strip() for line in lines if line.strip()]


def play(
    command: str, cluster: Cluster, others: Mapping[str, str] | None = None, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run a command as a reader would, with the workers' settings in the environment.

    ``others`` maps values on the page to those in this test (an address, a number). ``settings`` are further settings
    by their names in the environment.
    """
    for shown, here in (others or {}).items():
        assert shown in command, f"{command!r} has no {shown!r}"
        command = command.replace(shown, here)
    given = dict(override.split("=", 1) for override in cluster.overrides)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DEDUP_")}
    environment |= {catalogue()[key].environment: value for key, value in given.items()} | settings
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    return subprocess.run(
        ["bash", "-c", command],
        env=environment,
        cwd=cluster.folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
