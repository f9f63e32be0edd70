"""The runbook has a section for each alert; other tests try its code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import yaml

ROOT: Final = Path(__file__).resolve().parents[2]
RUNBOOK: Final = ROOT / "docs" / "how-to" / "runbook.md"
TEXT: Final = RUNBOOK.read_text(encoding="utf-8")
CODE: Final = re.findall(r"```\w*\n(.*?)```", TEXT, re.DOTALL) + re.findall(
    r"`([^`]+)`", re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)
)
"""All code in the runbook; its queries are tried on a real Prometheus."""


def test_it_has_a_part_for_each_alert_and_each_part_is_of_an_alert() -> None:
    groups = yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yml").read_text())["groups"]
    alerts = {rule["alert"] for group in groups for rule in group["rules"]}
    assert set(re.findall(r"^### (\w+)$", TEXT, re.MULTILINE)) == alerts
