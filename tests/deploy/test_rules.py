"""Prometheus takes the rules, and every alert was seen to fire and not to fire, and leads into the runbook."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from crawler_plugin.metrics.declared import SPIDER_METRICS
from worker.observe.catalogue import CATALOGUE, Kind

ROOT: Final = Path(__file__).resolve().parents[2]
RULES: Final = ROOT / "deploy" / "prometheus"
UNIT_TESTS: Final = sorted(Path(__file__).parent.glob("*_test.yml"))
RUNBOOK: Final = ROOT / "docs" / "how-to" / "runbook.md"

needs_promtool = pytest.mark.skipif(
    not shutil.which("promtool"), reason="promtool is not on PATH (Debian's package prometheus)"
)


def rules(file: str) -> list[dict[str, Any]]:
    groups = yaml.safe_load((RULES / file).read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


ALERTS: Final = {rule["alert"]: rule for rule in rules("alerts.yml")}
RECORDED: Final = {rule["record"] for rule in rules("recording.yml")}
THRESHOLDS: Final = {rule["record"] for rule in rules("thresholds.yml")}
EXPOSED: Final = (
    {metric.name for metric in CATALOGUE}
    | {
        f"{metric.name}_{part}"
        for metric in CATALOGUE
        if metric.kind is Kind.HISTOGRAM
        for part in ("bucket", "sum", "count")
    }
    | {metric.name for metric in SPIDER_METRICS}
)
"""All series that rules may use: those of workers and spiders."""


def promtool(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["promtool", *words], capture_output=True, text=True, check=False)


@pytest.mark.prometheus
@needs_promtool
@pytest.mark.parametrize("file", ["thresholds.yml", "recording.yml", "alerts.yml"])
def test_promtool_finds_nothing_wrong_with_the_rules(file: str) -> None:
    checked = promtool("check", "rules", RULES / file)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.prometheus
@needs_promtool
def test_alerts_fire_when_they_must_and_only_then() -> None:
    tested = promtool("test", "rules", *UNIT_TESTS)
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_every_alert_is_tested_both_firing_and_silent() -> None:
    seen: dict[str, set[bool]] = defaultdict(set)
    for file in UNIT_TESTS:
        for test in yaml.safe_load(file.read_text())["tests"]:
            for expected in test["alert_rule_test"]:
                seen[expected["alertname"]].add(bool(expected["exp_alerts"]))
    assert seen == {name: {True, False} for name in ALERTS}


@pytest.mark.parametrize("name", ALERTS)
def test_every_alert_says_what_it_is_about_and_leads_to_its_part_of_the_runbook(name: str) -> None:
    annotations, labels = ALERTS[name]["annotations"], ALERTS[name]["labels"]
    assert annotations.keys() == {"summary", "description", "runbook_url"}
    assert labels["severity"] in ("critical", "warning")
    assert annotations["runbook_url"].endswith(f"docs/how-to/runbook.md{{{{ end }}}}#{name.lower()}")
    assert f"\n### {name}\n" in RUNBOOK.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted({*ALERTS, *RECORDED}))
def test_rules_ask_for_metrics_that_there_are(name: str) -> None:
    (rule,) = [rule for rule in [*rules("alerts.yml"), *rules("recording.yml")] if name in rule.values()]
    asked = set(re.findall(r"(?<![\w:])dedup_\w+", rule["expr"]))
    assert asked <= EXPOSED
    assert set(re.findall(r"[a-z_]+:dedup_[\w:]+", rule["expr"])) <= RECORDED


def test_every_threshold_stands_in_its_file_and_nowhere_else() -> None:
    asked = {name for rule in ALERTS.values() for name in re.findall(r"scalar\(([\w:]+)\)", rule["expr"])}
    assert asked == THRESHOLDS
    for name, rule in ALERTS.items():
        numbers = set(re.findall(r"(?:[<>*/]=?|==) *([\d.]+)", rule["expr"]))
        assert numbers <= {"0", "1", "65536"}, f"{name} compares with a number of its own"
    for rule in rules("thresholds.yml"):
        assert re.fullmatch(r"vector\([\d.]+\)", rule["expr"]), "one number, which is all that is to be changed there"
