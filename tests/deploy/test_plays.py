"""Every alert is played: it fires after the time that the handbook states, and situations that are not faults raise no
alert."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.deploy.plays import PLAYS, Play
from tests.deploy.test_rules import ALERTS, RULES, needs_promtool, promtool
from tests.observe.exposed import INFO, series
from tests.observe.test_origins import Clock, committed
from worker.observe.metrics import Metrics

FILES = [str(RULES / f"{name}.yml") for name in ("thresholds", "recording", "alerts")]
GROUPS = ["dedup-thresholds", "dedup-recording", "dedup-alerts"]


def written(plays: Iterable[Play], folder: Path) -> list[Path]:
    """The plays as files for promtool, one file for each length of a time step."""
    by_step: dict[int, list[Play]] = {}
    for play in plays:
        by_step.setdefault(play.step, []).append(play)
    for step, together in by_step.items():
        tests = [
            {
                "name": play.fault,
                "interval": f"{step}s",
                "input_series": list(play.input_series()),
                "promql_expr_test": list(play.checks()),
            }
            for play in together
        ]
        file = {"rule_files": FILES, "evaluation_interval": f"{step}s", "group_eval_order": GROUPS, "tests": tests}
        (folder / f"{step}.json").write_text(json.dumps(file))
    return sorted(folder.glob("*.json"))


def test_every_alert_has_a_play() -> None:
    assert {play.alert for play in PLAYS} == {*ALERTS, None}


@pytest.mark.prometheus
@needs_promtool
def test_each_alert_fires_after_as_long_as_the_handbook_says_and_what_is_no_fault_raises_none(tmp_path: Path) -> None:
    played = promtool("test", "rules", *written(PLAYS, tmp_path))
    assert played.returncode == 0, played.stdout + played.stderr


@pytest.mark.prometheus
@needs_promtool
def test_a_play_that_says_another_time_is_noticed(tmp_path: Path) -> None:
    (play,) = [play for play in PLAYS if play.alert == "DedupSpiderWaits"]
    for after in (play.after - play.step, play.after + play.step):
        other = Play(play.fault, play.series, play.alert, after)
        played: subprocess.CompletedProcess[str] = promtool("test", "rules", *written([other], tmp_path))
        assert played.returncode == 1, played.stdout


@pytest.mark.prometheus
@needs_promtool
def test_a_trapped_host_among_a_thousand_healthy_ones_is_named_by_its_alert(tmp_path: Path) -> None:
    """The metrics of a worker for an hour in which each host brings a page every ten seconds, and one host only
    copies."""
    clock = Clock()
    metrics = Metrics(INFO, now=clock)
    shown: list[dict[str, float]] = []
    for lap in range(360):
        clock.now = 1e9 + 10 * lap
        metrics.committed(
            [
                committed(f"http://h{host}.example/{lap}", "duplicate" if (host + lap) % 3 == 0 else "unique")
                for host in range(1000)
            ]
        )
        metrics.committed([committed(f"http://trap.example/page{lap}", "duplicate")])
        if lap % 6 == 5:
            found = {name: value for name, value in series(metrics).items() if name.startswith("dedup_host_pages")}
            shown.append(found)
    names = sorted({name for at in shown for name in at})
    assert len(names) < 200, "few of the thousand have series"
    inputs = [
        {
            "series": f'dedup_host_pages_total{{job="dedup-worker", host="{host}", outcome="{outcome}"}}',
            "values": " ".join(f"{at[name]:g}" if name in at else "_" for at in shown),
        }
        for name in names
        for _, host, outcome in [name.split(" ")]
    ]
    firing = "ALERTS{alertname='DedupHostNearlyOnlyDuplicates', alertstate='firing'}"
    expected = [{"labels": '{host="trap.example"}', "value": 1}]
    test = {
        "interval": "1m",
        "input_series": inputs,
        "promql_expr_test": [{"expr": f"group by (host) ({firing})", "eval_time": "59m", "exp_samples": expected}],
    }
    file = {"rule_files": FILES, "evaluation_interval": "1m", "group_eval_order": GROUPS, "tests": [test]}
    (tmp_path / "trap.json").write_text(json.dumps(file))
    played = promtool("test", "rules", tmp_path / "trap.json")
    assert played.returncode == 0, played.stdout + played.stderr
