"""With a real crawl behind them, every rule works, every panel has data, and the consoles show it."""

from __future__ import annotations

import html
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

import matplotlib.image
import pytest

from tests.cluster.cluster import Cluster
from tests.deploy.test_rules import EXPOSED, RECORDED
from tests.deploy.test_runbook import CODE
from tests.deploy.watched import CRAWLS, HOSTS, TRAP, watched_crawl
from tests.observe.prometheus import DEPLOY, Prometheus, needs_prometheus
from tests.waiting import wait_for
from tools.deploy import grafana
from tools.deploy.panels import DASHBOARDS
from tools.deploy.parts import PARSERS, Dashboard, counted
from worker.fingerprint.fingerprinter import EXTRACT, FINGERPRINT, SEGMENT
from worker.observe.catalogue import STAGE_SECONDS
from worker.pool.stopwatch import PIPES, START
from worker.results.jobs.account import JobAccount
from worker.results.jobs.from_topics import JobTopics

live = [pytest.mark.cluster, pytest.mark.prometheus, needs_prometheus]
UNITS: Final = {"none", "short", "percentunit", "s", "bytes", "bool_yes_no"}
JOB: Final = "dedup-worker"
OWNED: Final = "job:dedup_shards_owned:count"
FUNNEL: Final = "From response to new page"
CONSOLES: Final = ("dedup.html", "dedup-worker.html")
BROWSER: Final = pytest.mark.skipif(
    not shutil.which("chromium"), reason="chromium is not on PATH (Debian's package chromium)"
)
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


def test_panels_and_consoles_ask_for_metrics_that_there_are() -> None:
    panels = {name for panel in PANELS for name in re.findall(r"\bdedup_\w+", str(panel.values[0]))}
    assert panels <= EXPOSED
    for console in CONSOLES:
        text = re.sub(r'template "\w+"', "", (DEPLOY / "consoles" / console).read_text())
        asked = {name for name in re.findall(r"(?<![\w:-])dedup_\w+", text) if not name.endswith("_")}
        assert asked <= EXPOSED, console
        assert set(re.findall(r"[a-z_]+:dedup_[\w:]+", text)) <= RECORDED


def test_the_console_counts_as_the_dashboard_does() -> None:
    assert f'{{{{ $counted := "{counted("%[1]s", "$range")}" }}}}' in (DEPLOY / "consoles" / "dedup.html").read_text()


def test_the_stages_of_parsers_are_told_from_the_steps_of_the_loop() -> None:
    assert sorted(PARSERS.split("|")) == sorted((START, EXTRACT, SEGMENT, FINGERPRINT, PIPES))
    assert PARSERS.replace("|", ", ") in STAGE_SECONDS.text
    for console in CONSOLES:
        assert f'$parsers := "{PARSERS}"' in (DEPLOY / "consoles" / console).read_text()


@pytest.fixture(scope="module")
def watched(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Prometheus]]:
    """A crawl, and the Prometheus that has seen its pages arrive."""
    prefix = f"test-{uuid.uuid4().hex[:12]}."
    with watched_crawl(broker, prefix, tmp_path_factory.mktemp("watched")) as (cluster, running):
        yield cluster, running
        assert set(cluster.stop()) <= {0}


@pytest.fixture(scope="module")
def prometheus(watched: tuple[Cluster, Prometheus]) -> Prometheus:
    return watched[1]


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
    """The answers and pages of Prometheus itself."""

    pytestmark = live

    def test_all_rules_are_loaded_and_well(self, prometheus: Prometheus) -> None:
        prometheus.query("job:dedup_duplicates:ratio_rate5m")
        groups = json.loads(prometheus.get("/api/v1/rules")[1])["data"]["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        assert {rule["health"] for rule in rules} == {"ok"}, rules
        assert sorted(group["name"] for group in groups) == ["dedup-alerts", "dedup-recording", "dedup-thresholds"]

    def test_the_worker_itself_shows_what_promtool_takes_and_all_hosts(self, prometheus: Prometheus) -> None:
        instance = prometheus.query("dedup_ready")[0]["metric"]["instance"]
        with urllib.request.urlopen(f"http://{instance}/metrics", timeout=30) as answer:
            checked = subprocess.run(
                ["promtool", "check", "metrics"], input=answer.read(), capture_output=True, check=False
            )
        assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")
        with urllib.request.urlopen(f"http://{instance}/hosts", timeout=30) as answer:
            assert {row["host"] for row in json.load(answer)["hosts"]} >= {*HOSTS, TRAP, "files.example"}

    def test_pages_that_were_fetched_again_are_counted_by_what_is_new_in_them(self, prometheus: Prometheus) -> None:
        (same,) = prometheus.query('sum(dedup_changes_bucket{le="0.0"}) > 0')
        (every,) = prometheus.query("sum(dedup_changes_count)")
        assert same["value"][1] == every["value"][1]

    def test_the_funnel_holds_as_many_pages_of_each_crawl_as_the_command_counts(
        self, watched: tuple[Cluster, Prometheus]
    ) -> None:
        cluster, prometheus = watched
        wanted: dict[str, dict[tuple[str, str], int]] = {"with verdict": {}, "unique": {}}
        for spider, job in CRAWLS:
            account = JobAccount(job)
            source = JobTopics(cluster.options, cluster.prefix, "", job, spider)
            assert list(source.verdicts(account, follow=False))
            wanted["with verdict"][spider, job] = account.judged
            wanted["unique"][spider, job] = account.outcomes["unique"]
        for column, counts in wanted.items():
            for query in (column_of(prometheus, FUNNEL, column), panel_of(FUNNEL, column)):

                def is_as_counted(query: str = query, counts: dict[tuple[str, str], int] = counts) -> bool:
                    found = prometheus.query(query)
                    shown = {(s["metric"]["spider"], s["metric"]["crawl"]): float(s["value"][1]) for s in found}
                    return shown.items() >= counts.items()

                wait_for(is_as_counted, f"{counts} in what {query} gives", 30)

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

    @pytest.mark.parametrize("console", CONSOLES)
    def test_consoles_are_made_without_an_error_and_each_of_their_queries_has_data(
        self, prometheus: Prometheus, console: str
    ) -> None:
        prometheus.query("job_host:dedup_duplicates:ratio_rate1h")
        status, page = prometheus.get(
            f"/consoles/{console}?job={JOB}" if console == "dedup.html" else f"/consoles/{console}"
        )
        assert status == 200
        body = re.sub(r"(?s)<script>.*</script>", "", page)
        assert "error" not in body.lower()
        queries = [html.unescape(query) for query in re.findall(r'data-(?:query|number|of)="([^"]*)"', body)]
        assert len(queries) > 30
        for query in queries:
            asked = query.replace("$range", "1h").replace("[$rate]", "[10m]")
            assert prometheus.query(f"({asked}) > -2"), "a share of nothing, which is no number, is no data"

    @pytest.mark.browser
    @BROWSER
    def test_a_browser_fills_all_of_a_console_at_any_width_and_sorts_and_tells_what_is_pointed_at(
        self, prometheus: Prometheus, tmp_path: Path
    ) -> None:
        prometheus.query("job_spider_crawl:dedup_duplicates:ratio_rate1h")
        for console, widths in (("dedup-worker.html", [390]), ("dedup.html", [1280, 390])):
            text = (DEPLOY / "consoles" / console).read_text()
            for width in widths:
                seen = probed(prometheus, console, tmp_path, width)
                assert seen["numbers"] == text.count('template "dedup_number"')
                assert seen["charts"] == text.count("data-label=") + text.count('template "dedup_chart"')
                assert seen["tables"] == text.count("data-table=")
                assert seen["errors"] == []
                assert seen["empty"] == [], "each chart has a line at least, and each table a row"
                assert seen["scrolls"] <= seen["width"], "there is nothing to scroll sideways"
                assert seen["cut"] == [], "all columns of a table are seen"
                assert re.fullmatch(r"[\d:]+", seen["pointed_at"])
                assert re.search(r"\b1 (\S+:\d+ )?active answering", seen["text"]), (
                    "shard 1, its holder, role and state"
                )
            if console == "dedup.html":
                assert all(
                    word in seen["text"] for word in (*HOSTS, TRAP, *(name for crawl in CRAWLS for name in crawl))
                )
                assert seen["by_pages"] != seen["by_share"], "the small trap comes before large hosts"
                assert next(host for host in seen["by_share"] if host in (*HOSTS, TRAP)) == TRAP

    @pytest.mark.browser
    @BROWSER
    @pytest.mark.parametrize("scheme", [0, 1], ids=["dark", "light"])
    def test_a_console_is_drawn_by_day_and_by_night(self, prometheus: Prometheus, scheme: int, tmp_path: Path) -> None:
        prometheus.query("job:dedup_pages:rate5m")
        picture = tmp_path / "console.png"
        browsed(
            f"http://{prometheus.address}/consoles/dedup.html",
            tmp_path / "profile",
            f"--screenshot={picture}",
            f"--blink-settings=preferredColorScheme={scheme}",
            "--window-size=1280,1400",
        )
        drawn = matplotlib.image.imread(picture)[:, :, :3]
        paper = drawn[0, 0]
        assert (paper.mean() > 0.9) == (scheme == 1)
        assert 0.02 < (abs(drawn - paper).sum(axis=2) > 0.3).mean() < 0.6, (
            "there is much to be seen, and paper around it"
        )


class TestWithoutWorkers:
    """Runs last: all workers are killed, which is when an operator looks at the console."""

    pytestmark = live

    @pytest.mark.browser
    @BROWSER
    def test_the_console_says_so_and_shows_what_was(self, watched: tuple[Cluster, Prometheus], tmp_path: Path) -> None:
        cluster, prometheus = watched
        prometheus.query(OWNED)
        for worker in cluster.workers:
            worker.kill()
        # A rule is evaluated after the scrapes that it needs, and the console reads the series that the rule has
        # recorded.
        prometheus.query(f"absent(dedup_ready) and absent({OWNED}) and on () (up{{job='{JOB}'}} == 0)")
        seen = probed(prometheus, "dedup.html", tmp_path, 1280)
        assert "0 of 2" in seen["text"] and "0 of 1" in seen["text"]
        assert "down" in seen["text"]
        assert all(host in seen["text"] for host in HOSTS)
        assert JOB in seen["text"]
        prometheus.list_workers()
        prometheus.query('absent(up{job="dedup-worker"})')
        seen = probed(prometheus, "dedup.html", tmp_path, 1280)
        assert "gone" in seen["text"] and JOB in seen["text"]


def column_of(prometheus: Prometheus, table: str, column: str) -> str:
    """The query of a column of the console, as a browser asks it for an hour."""
    page = prometheus.get(f"/consoles/dedup.html?job={JOB}")[1]
    columns = page.partition(table)[2].partition("</figure>")[0]
    found = re.search(rf'data-column="{column}"[^>]* data-query="([^"]*)"', columns)
    assert found is not None
    return html.unescape(found[1]).replace("$range", "1h")


def panel_of(table: str, column: str) -> str:
    """The query of a column of a panel of the dashboard."""
    panels = [panel for dashboard in DASHBOARDS for row in dashboard.rows for panel in row.panels]
    (panel,) = (panel for panel in panels if panel.title.startswith(table))
    return dict(panel.expressions())[column].replace("$job", JOB).replace("$instance", ".*")


PROBE: Final = """<script>
const timer = setInterval(() => {
  if (!document.body.dataset.drawn) return;
  clearInterval(timer);
  const every = (selector) => [...document.querySelectorAll(selector)];
  const title = (figure) => figure.querySelector("h3").textContent;
  const hosts = document.querySelector("[data-table^=host]");
  const order = () => [...hosts.querySelectorAll("td.name")].map((cell) => cell.textContent);
  const seen = {};
  seen.numbers = every("[data-number]").length;
  seen.charts = every("figure[data-label]").length;
  seen.tables = every("figure[data-table]").length;
  seen.errors = every("p.bad").map((told) => told.textContent);
  seen.empty = every("figure").filter((figure) => figure.textContent.includes("nothing yet")).map(title);
  seen.scrolls = document.documentElement.scrollWidth;
  seen.width = document.documentElement.clientWidth;
  const cut = every(".scroll").filter((part) => part.scrollWidth > part.clientWidth + 1);
  seen.cut = cut.map((part) => title(part.parentElement));
  seen.text = document.body.innerText.replace(/\\s+/g, " ");
  const svg = document.querySelector("svg"), box = svg.getBoundingClientRect();
  svg.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + 0.9 * box.width, clientY: box.top + 9 }));
  seen.pointed_at = svg.closest("figure").querySelector("time").textContent;
  if (hosts) {
    seen.by_pages = order();
    [...hosts.querySelectorAll("button")].find((button) => button.textContent === "duplicates").click();
    seen.by_share = order();
  }
  const told = parent.document.createElement("pre");
  told.id = "seen";
  told.textContent = JSON.stringify(seen);
  parent.document.body.append(told);
}, 20);
</script>"""
"""Waits until the page is filled, reads it as a reader would, and leaves its findings."""


def probed(prometheus: Prometheus, console: str, folder: Path, width: int) -> dict[str, Any]:
    """The probe's findings about a console in a window of this width."""
    page = prometheus.get(f"/consoles/{console}")[1]
    page = page.replace("<head>", f'<head><base href="http://{prometheus.address}/consoles/">', 1)
    page = html.escape(page.replace("</body>", f"{PROBE}</body>"))
    file = folder / "console.html"  # in a frame, as the browser's window is never narrower than 500 pixels
    file.write_text(
        f'<!doctype html><meta charset="utf-8"><iframe width="{width}" height="2000" srcdoc="{page}"></iframe>'
    )
    shown = browsed(file.as_uri(), folder / "profile", "--dump-dom", "--window-size=1400,2100")
    found = re.search(r'<pre id="seen">(.*?)</pre>', shown, re.DOTALL)
    assert found is not None, shown[-3000:]
    seen: dict[str, Any] = json.loads(html.unescape(found[1]))
    return seen


def browsed(address: str, profile: Path, *options: str) -> str:
    """The page as chromium prints it after its scripts ran."""
    shown = subprocess.run(
        [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            f"--user-data-dir={profile}",
            "--virtual-time-budget=20000",
            *options,
            quote(address, safe=":/?=&"),
        ],
        capture_output=True,
        check=True,
        timeout=120,
    )
    return shown.stdout.decode()
