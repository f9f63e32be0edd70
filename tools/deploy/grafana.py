"""``python -m tools.deploy.grafana --write``: makes the dashboards of deploy/grafana from ``tools.deploy.panels``.

Grafana's JSON is long and says everything twice; here a panel takes a line or two. Without ``--write`` the command only
compares.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tools.deploy.panels import DASHBOARDS
from tools.deploy.parts import Dashboard, Panel

FOLDER: Final = Path(__file__).resolve().parents[2] / "deploy" / "grafana" / "dashboards"
DATASOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
WIDTH: Final = 24
"""Columns of Grafana's grid."""
SCHEMA: Final = 39
"""The version of the dashboard's JSON; Grafana 10 and later read it."""


def as_json(dashboard: Dashboard) -> str:
    """The file's text."""
    return json.dumps(_dashboard(dashboard), indent=2, ensure_ascii=False) + "\n"


def _dashboard(dashboard: Dashboard) -> dict[str, Any]:
    panels: list[dict[str, Any]] = []
    top = 0
    for row in dashboard.rows:
        panels.append(
            {
                "type": "row",
                "id": len(panels) + 1,
                "title": row.title,
                "collapsed": False,
                "gridPos": {"x": 0, "y": top, "w": WIDTH, "h": 1},
                "panels": [],
            }
        )
        top += 1
        left = height = 0
        for panel in row.panels:
            if left + panel.width > WIDTH:
                left, top = 0, top + height
            height = 4 if panel.kind == "stat" else 8
            panels.append(_panel(panel, len(panels) + 1, {"x": left, "y": top, "w": panel.width, "h": height}))
            left += panel.width
        top += height
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": dashboard.text,
        "tags": ["crawl-dedup"],
        "schemaVersion": SCHEMA,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "links": [
            {
                "title": "crawl-dedup",
                "type": "dashboards",
                "tags": ["crawl-dedup"],
                "asDropdown": False,
                "includeVars": True,
                "keepTime": True,
            }
        ],
        "templating": {"list": list(_variables(one=dashboard.one_worker))},
        "annotations": {"list": []},
        "panels": panels,
    }


def _variables(*, one: bool) -> Iterator[dict[str, Any]]:
    yield {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}
    yield _query("job", "Crawl", "label_values(dedup_ready, job)")
    several = {} if one else {"multi": True, "includeAll": True, "allValue": ".*"}
    yield _query("instance", "Worker", 'label_values(dedup_ready{job="$job"}, instance)') | several


def _query(name: str, label: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": query, "refId": name},
        "definition": query,
        "refresh": 2,
        "sort": 1,
    }


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    instant = panel.kind in ("bargauge", "table", "histogram")
    targets = [
        {
            "refId": chr(ord("A") + index),
            "datasource": DATASOURCE,
            "expr": expression,
            "legendFormat": legend or "__auto",
            "instant": instant,
            "range": not instant,
            "format": {"table": "table", "histogram": "heatmap"}.get(panel.kind, "time_series"),
        }
        for index, (legend, expression) in enumerate(panel.expressions())
    ]
    defaults: dict[str, Any] = {"unit": panel.unit, "min": 0}
    if panel.most is not None:
        defaults["max"] = panel.most
    if panel.kind == "timeseries":
        defaults["custom"] = {
            "drawStyle": "line",
            "fillOpacity": 25 if panel.stacked else 5,
            "showPoints": "never",
            "stacking": {"mode": "normal" if panel.stacked else "none"},
        }
    return {
        "type": "bargauge" if panel.kind == "histogram" else panel.kind,
        "id": number,
        "title": panel.title,
        "description": panel.text,
        "datasource": DATASOURCE,
        "gridPos": place,
        "targets": targets,
        "fieldConfig": {"defaults": defaults, "overrides": _overrides(panel)},
        "transformations": _transformations(panel),
        "options": _options(panel.kind),
    }


def _overrides(panel: Panel) -> list[dict[str, Any]]:
    """A column of shares in a table of counts."""
    shares = [legend for legend, _ in panel.expressions() if panel.kind == "table" and legend == "duplicates"]
    return [
        {
            "matcher": {"id": "byName", "options": legend},
            "properties": [{"id": "unit", "value": "percentunit"}, {"id": "max", "value": 1}],
        }
        for legend in shares
    ]


def _transformations(panel: Panel) -> list[dict[str, Any]]:
    """The queries of a table are its columns, named as their legends; times are left out."""
    if panel.kind != "table" or not panel.by:
        return []
    values = {
        "Value" if len(panel.queries) == 1 else f"Value #{chr(ord('A') + index)}": legend
        for index, (legend, _) in enumerate(panel.expressions())
        if legend
    }
    left_out = {"Time": True} | ({} if values else {"Value": True, "__name__": True, "job": True})
    merged = [{"id": "merge", "options": {}}] if len(panel.queries) > 1 else []
    return [*merged, {"id": "organize", "options": {"excludeByName": left_out, "renameByName": values}}]


def _options(kind: str) -> dict[str, Any]:
    last = {"calcs": ["lastNotNull"], "fields": "", "values": False}
    if kind == "timeseries":
        return {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi", "sort": "desc"}}
    if kind == "stat":
        return {"reduceOptions": last, "colorMode": "value", "graphMode": "area"}
    if kind in ("bargauge", "histogram"):
        return {"reduceOptions": last, "orientation": "horizontal", "displayMode": "basic"}
    return {"showHeader": True}


def main(arguments: list[str]) -> int:
    """0 if the files match the panels, or were updated."""
    wanted = {FOLDER / f"{dashboard.uid}.json": as_json(dashboard) for dashboard in DASHBOARDS}
    stale = [path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if "--write" in arguments:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for path in stale:
            path.write_text(wanted[path], encoding="utf-8")
        return 0
    for path in stale:
        print(f"{path.name} is behind its panels: run python -m tools.deploy.grafana --write", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
