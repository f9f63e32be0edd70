"""``python -m tools.deploy.prometheus_operator --write``: makes deploy/kubernetes' rules for the Prometheus operator.

They are the rules of deploy/prometheus in the operator's form. Without ``--write`` the command only compares.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, Final

import yaml

DEPLOY: Final = Path(__file__).resolve().parents[2] / "deploy"
RULES: Final = ("thresholds", "recording", "alerts")
WRITTEN: Final = """\
# Made of deploy/prometheus, where changes belong, by python -m tools.deploy.prometheus_operator --write
"""
WITHOUT_NAMESPACE: Final = """\
# Alerts are by job and have no label namespace, so your Alertmanager needs alertmanagerConfigMatcherStrategy of the
# type None; otherwise the operator applies this to no alert. Name a receiver as alertmanager.yml shows.
"""
MATCHER: Final = re.compile(r'(\w+) (=~|!=|=) "([^"]*)"')


def rules() -> str:
    """A PrometheusRule: thresholds, sums, alerts."""
    groups = [group for name in RULES for group in _read(name)["groups"]]
    return _manifest("monitoring.coreos.com/v1", "PrometheusRule", {"groups": groups})


def alertmanager() -> str:
    """An AlertmanagerConfig: the same route, receivers and inhibitions."""
    read = _read("alertmanager")
    spec = {
        "route": _route(read["route"]),
        "receivers": [{"name": receiver["name"]} for receiver in read["receivers"]],
        "inhibitRules": [
            {
                "sourceMatch": _matchers(rule["source_matchers"]),
                "targetMatch": _matchers(rule["target_matchers"]),
                "equal": rule["equal"],
            }
            for rule in read["inhibit_rules"]
        ],
    }
    return _manifest("monitoring.coreos.com/v1alpha1", "AlertmanagerConfig", spec, WITHOUT_NAMESPACE)


def _route(route: dict[str, Any]) -> dict[str, Any]:
    names = {"group_by": "groupBy", "group_wait": "groupWait", "group_interval": "groupInterval"}
    names |= {"repeat_interval": "repeatInterval"}
    told = {names.get(key, key): value for key, value in route.items() if key not in ("matchers", "routes")}
    if "matchers" in route:
        told["matchers"] = _matchers(route["matchers"])
    if "routes" in route:
        told["routes"] = [_route(inner) for inner in route["routes"]]
    return told


def _matchers(matchers: list[str]) -> list[dict[str, str]]:
    found = [MATCHER.fullmatch(matcher) for matcher in matchers]
    return [{"name": each[1], "matchType": each[2], "value": each[3]} for each in found if each is not None]


def _manifest(version: str, kind: str, spec: dict[str, Any], comment: str = "") -> str:
    manifest = {"apiVersion": version, "kind": kind, "metadata": {"name": "crawl-dedup"}, "spec": spec}
    return WRITTEN + comment + yaml.safe_dump(manifest, sort_keys=False, width=120, allow_unicode=True)


def _read(name: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((DEPLOY / "prometheus" / f"{name}.yml").read_text(encoding="utf-8"))
    return read


def main(arguments: list[str]) -> int:
    """0 if both match deploy/prometheus, or were updated."""
    wanted = {
        DEPLOY / "kubernetes" / "prometheusrule.yaml": rules(),
        DEPLOY / "kubernetes" / "alertmanagerconfig.yaml": alertmanager(),
    }
    stale = [path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if "--write" in arguments:
        for path in stale:
            path.write_text(wanted[path], encoding="utf-8")
        return 0
    for path in stale:
        print(
            f"{path.name} is behind deploy/prometheus: run python -m tools.deploy.prometheus_operator --write",
            file=sys.stderr,
        )
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
