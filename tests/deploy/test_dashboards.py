"""With a real crawl behind them, every rule is well, every panel has data, and the consoles show it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest

from tests.deploy import grafana
from tests.deploy.panels import DASHBOARDS, PARSERS, Dashboard
from tests.deploy.test_runbook import CODE
from tests.deploy.watched import CRAWLS, HOSTS, watched_crawl
from tests.observe.prometheus import DEPLOY, Prometheus, needs_prometheus
from worker.fingerprint.fingerprinter import EXTRACT, FINGERPRINT, SEGMENT
from worker.observe.catalogue import CATALOGUE, STAGE_SECONDS, Kind
from worker.pool.stopwatch import PIPES, START

live = [pytest.mark.cluster, pytest.mark.prometheus, needs_prometheus]
UNITS: Final = {"none", "short", "percentunit", "s", "bytes", "bool_yes_no"}
JOB: Final = "dedup-worker"
PANELS: Final = [
    pytest.param(expression, id=f"{dashboard.uid}: {panel.title} {legend}")
    for dashboard in DASHBOARDS
    for row in dashboard.rows
    for panel in row.panels
    for legend, expression in panel.expressions()
]


def test_the_dashboards_are_as_their_panels_say() -> None:
    assert grafana.main([]) == 0


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda dashboard: dashboard.uid)
def test_dashboards_keep_to_grafanas_conventions(dashboard: Dashboard) -> None:
    made: dict[str, Any] = json.loads(grafana.as_json(dashboard))
    assert [variable["name"] for variable in made["templating"]["list"]] == ["datasource", "job", "instance"]
    assert len({panel["id"] for panel in made["panels"]}) == len(made["panels"])
    taken: set[tuple[int, int]] = set()
    for panel in made["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + right, place["y"] + down) for right in range(place["w"]) for down in range(place["h"])}
        assert not cells & taken, f"{panel['title']} lies over another panel"
        assert place["x"] + place["w"] <= grafana.WIDTH
        taken |= cells
        if panel["type"] == "row":
            continue
        assert panel["datasource"]["uid"] == "${datasource}"
        unit = panel["fieldConfig"]["defaults"]["unit"]
        assert unit in UNITS or unit.startswith("suffix: ")
        for target in panel["targets"]:
            assert 'job="$job"' in target["expr"]
            assert "[5m]" not in target["expr"], "a rate takes $__rate_interval, or a window that its title names"


def test_panels_ask_for_metrics_that_there_are() -> None:
    exposed = {metric.name for metric in CATALOGUE} | {
        f"{metric.name}_{part}"
        for metric in CATALOGUE
        if metric.kind is Kind.HISTOGRAM
        for part in ("bucket", "sum", "count")
    }
    asked = {name for panel in PANELS for name in re.findall(r"\bdedup_\w+", str(panel.values[0]))}
    assert asked <= exposed


def test_the_stages_of_parsers_are_told_from_the_steps_of_the_loop() -> None:
    assert sorted(PARSERS.split("|")) == sorted((START, EXTRACT, SEGMENT, FINGERPRINT, PIPES))
    assert PARSERS.replace("|", ", ") in STAGE_SECONDS.text
    assert f'$parsers := "{PARSERS}"' in (DEPLOY / "consoles" / "dedup-worker.html").read_text()


@pytest.fixture(scope="module")
def prometheus(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """It has seen a crawl's pages arrive."""
    prefix = f"test-{uuid.uuid4().hex[:12]}."
    with watched_crawl(broker, prefix, tmp_path_factory.mktemp("watched")) as (cluster, running):
        yield running
        assert cluster.stop() == [0]


@pytest.mark.parametrize("expression", PANELS)
@pytest.mark.usefixtures("prometheus")
class TestPanels:
    """Each query of each panel, with Grafana's variables filled in as Grafana would."""

    pytestmark = live

    def test_it_has_data(self, prometheus: Prometheus, expression: str) -> None:
        for variable, value in (("$job", JOB), ("$instance", ".*"), ("$__rate_interval", "10m")):
            expression = expression.replace(variable, value)
        assert "$" not in expression
        assert prometheus.query(f"({expression}) > -1"), "a share of nothing, which is no number, is no data"


class TestPrometheus:
    """What Prometheus itself says and shows."""

    pytestmark = live

    def test_all_rules_are_loaded_and_well(self, prometheus: Prometheus) -> None:
        prometheus.query("job:dedup_duplicates:ratio_rate5m")
        groups = json.loads(prometheus.get("/api/v1/rules")[1])["data"]["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        assert {rule["health"] for rule in rules} == {"ok"}, rules
        assert sorted(group["name"] for group in groups) == ["dedup-alerts", "dedup-recording"]

    def test_the_worker_itself_shows_what_promtool_takes_and_all_hosts(self, prometheus: Prometheus) -> None:
        instance = prometheus.query("dedup_ready")[0]["metric"]["instance"]
        with urllib.request.urlopen(f"http://{instance}/metrics", timeout=30) as answer:
            checked = subprocess.run(
                ["promtool", "check", "metrics"], input=answer.read(), capture_output=True, check=False
            )
        assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")
        with urllib.request.urlopen(f"http://{instance}/hosts", timeout=30) as answer:
            assert {row["host"] for row in json.load(answer)["hosts"]} == {*HOSTS, "files.example"}

    def test_no_alert_fires_while_all_is_well(self, prometheus: Prometheus) -> None:
        prometheus.query("job:dedup_duplicates:ratio_rate5m")
        assert prometheus.ask('ALERTS{alertstate="firing"}')["data"]["result"] == []

    @pytest.mark.parametrize(
        "expression",
        [
            line
            for code in CODE
            for line in code.splitlines()
            if re.search(r"dedup_\w+|up\{", line) and "curl" not in line
        ],
    )
    def test_the_runbooks_queries_are_understood(self, prometheus: Prometheus, expression: str) -> None:
        answer = prometheus.ask(expression)
        assert answer["status"] == "success", answer

    @pytest.mark.parametrize("console", ["dedup.html", "dedup-worker.html"])
    def test_consoles_are_made_without_an_error(self, prometheus: Prometheus, console: str) -> None:
        prometheus.query("job_host:dedup_duplicates:ratio_rate1h")
        status, page = prometheus.get(f"/consoles/{console}?job={JOB}")
        assert status == 200
        assert "error" not in re.sub(r"(?s)<script>.*</script>", "", page).lower()

    @pytest.mark.browser
    @pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not on PATH (Debian's package chromium)")
    @pytest.mark.parametrize("console", ["dedup.html", "dedup-worker.html"])
    def test_a_browser_draws_all_charts_of_a_console(
        self, prometheus: Prometheus, console: str, tmp_path: Path
    ) -> None:
        prometheus.query("job_spider_crawl:dedup_duplicates:ratio_rate1h")
        page = rendered(f"http://{prometheus.address}/consoles/{console}", tmp_path)
        charts = (DEPLOY / "consoles" / console).read_text().count('template "dedup_chart"')
        assert f'data-drawn="{charts}"' in page
        assert page.count("<path ") >= charts, "each chart has a line at least"
        assert "Error" not in re.sub(r"(?s)<script>.*</script>", "", page)
        if console == "dedup.html":
            assert all(word in page for word in (*HOSTS, *(name for crawl in CRAWLS for name in crawl)))


def rendered(address: str, folder: Path) -> str:
    """The page as chromium has it after its scripts ran."""
    shown = subprocess.run(
        [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={folder}",
            "--virtual-time-budget=20000",
            "--dump-dom",
            quote(address, safe=":/?=&"),
        ],
        capture_output=True,
        check=True,
        timeout=120,
    )
    return shown.stdout.decode()
