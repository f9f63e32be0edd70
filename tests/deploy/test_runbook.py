"""What the runbook tells to look at and to do exists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from crawler_plugin.stats import FINISH_REASONS
from worker.cli.main import COMMANDS, main
from worker.config import Settings
from worker.observe.catalogue import CATALOGUE

RUNBOOK: Final = Path(__file__).resolve().parents[2] / "deploy" / "runbook.md"
TEXT: Final = RUNBOOK.read_text(encoding="utf-8")
CODE: Final = re.findall(r"```\w*\n(.*?)```", TEXT, re.DOTALL) + re.findall(
    r"`([^`]+)`", re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)
)

COMMAND_LINES: Final = sorted(
    {
        line.rstrip(" &")
        for text in (
            TEXT,
            *((RUNBOOK.parents[1] / name).read_text("utf-8") for name in ("README.md", "deploy/sizing.md")),
        )
        for line in re.findall(r"(?m)^python -m worker .*$", text) + re.findall(r"`(python -m worker [^`]+)`", text)
    }
)


def setting_names() -> Iterator[str]:
    for section, field in Settings.model_fields.items():
        for name in field.annotation.model_fields:  # type: ignore[union-attr]
            yield f"{section}.{name}"


def test_its_commands_exist() -> None:
    named = set(re.findall(r"python -m worker ([a-z]+)", TEXT))
    assert named
    assert named <= COMMANDS.keys()


@pytest.mark.parametrize("line", COMMAND_LINES)
def test_the_options_of_its_commands_and_of_the_readmes_exist(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.split(line, comments=True)[3:]
    start = next((place for place, word in enumerate(words) if word in COMMANDS), len(words))
    kind = words[start + 1 : start + 2] if words[start : start + 1] == ["bench"] else []
    assert main([*words[start : start + 1], *kind, "--help"]) == 0
    options = {word for word in words if word.startswith("--")}
    assert options <= set(re.findall(r"--[a-z-]+", capsys.readouterr().out))


def test_its_settings_exist() -> None:
    sections = "|".join(Settings.model_fields)
    named = {name for code in CODE for name in re.findall(rf"(?<![.\w])(?:{sections})\.[a-z_]+\b", code)} - {
        "prometheus.yml"
    }
    assert named
    assert named <= set(setting_names())


def test_its_metrics_exist() -> None:
    exposed = {f"{metric.name}{part}" for metric in CATALOGUE for part in ("", "_bucket")}
    assert set(re.findall(r"(?<![\w:])dedup_\w+", TEXT)) <= exposed | set(FINISH_REASONS)
    recorded = set(re.findall(r"record: (\S+)", (RUNBOOK.parent / "prometheus" / "recording.yml").read_text()))
    assert set(re.findall(r"\b[a-z_]+:dedup_[\w:]+", TEXT)) <= recorded


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)]+)\)", TEXT))))
def test_its_links_lead_somewhere(target: str) -> None:
    path, _, anchor = target.partition("#")
    file = RUNBOOK.parent / path if path else RUNBOOK
    assert file.exists()
    if anchor:
        headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
        assert anchor in {re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-")) for heading in headings}
