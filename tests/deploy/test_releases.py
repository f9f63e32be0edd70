"""The manifests as kustomize renders them: the next release can be applied over this one, and the parts fit
together."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import kubernetes_validate
import pytest
import yaml

from crawler_plugin.wire.topics import PAGES, group_names, topic_name
from worker.config import Settings, load_settings
from worker.config.catalogue import catalogue

DEPLOY: Final = Path(__file__).resolve().parents[2] / "deploy" / "kubernetes"
FIRST_RELEASE: Final = Path(__file__).with_name("first_release.json")
"""The fields of 0.1.0 that Kubernetes does not allow to change."""
CHANGEABLE: Final = {
    "StatefulSet": {
        "replicas",
        "template",
        "updateStrategy",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
        "ordinals",
        "revisionHistoryLimit",
    },
}
"""For these kinds the API server refuses changes to all other fields of ``spec`` once the object is there."""
IMMUTABLE: Final = {
    "Service": {"clusterIP", "clusterIPs", "ipFamilies"},
    "Job": {"selector", "template", "completions"},
}
"""For these kinds it refuses changes to these fields."""
KUBERNETES: Final = "1.36"
RACK: Final = catalogue()["kafka.client_rack"].environment
REPLICAS: Final = catalogue()["index.replicas"].environment
SETTINGS: Final = re.compile(r"ConfigMap/crawl-dedup-[a-z0-9]+")
Manifests = dict[str, dict[str, Any]]

pytestmark = pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl, which has kustomize, is not on PATH")


class Loader(yaml.SafeLoader):
    """Takes ``=`` for text, as Kubernetes does."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: found for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items() if first != "="
    }


def rendered(folder: Path, kustomization: Mapping[str, Any]) -> Manifests:
    """The objects that ``kubectl apply -k`` sends, by kind and name, with these changes to the kustomization."""
    shutil.copytree(DEPLOY, folder, dirs_exist_ok=True)
    file = folder / "kustomization.yaml"
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | kustomization))
    shown = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    manifests = yaml.load_all(shown.stdout, Loader)
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in manifests}


def fixed(manifests: Manifests) -> dict[str, Any]:
    """The fields that must not differ between two releases that both have the object."""
    found: dict[str, Any] = {}
    for name, manifest in manifests.items():
        kind, spec = manifest["kind"], manifest.get("spec", {})
        if kind in CHANGEABLE:
            found[name] = {field: value for field, value in spec.items() if field not in CHANGEABLE[kind]}
        elif kind in IMMUTABLE:
            found[name] = {field: spec[field] for field in sorted(IMMUTABLE[kind] & spec.keys())}
    return found


def workers(manifests: Manifests) -> dict[str, Any]:
    pod: dict[str, Any] = manifests["StatefulSet/dedup-worker"]["spec"]["template"]["spec"]
    return pod


NEXT: Final = {
    "images": [{"name": "crawl-dedup", "newName": "registry.example.net/crawl-dedup", "newTag": "0.2.0"}],
    "configMapGenerator": [
        {"name": "crawl-dedup", "literals": ["DEDUP_KAFKA__BOOTSTRAP_SERVERS=other:9092"]},
        {"name": "crawl-dedup-hooks", "files": ["scaled_in.py"]},
    ],
}


def test_the_next_release_changes_no_field_that_cannot_be_changed(tmp_path: Path) -> None:
    """Another image and other settings reach the pods through their template, which rolls them one by one."""
    this = rendered(tmp_path / "this", {})
    then = rendered(tmp_path / "then", NEXT)
    assert fixed(this) == fixed(then) == json.loads(FIRST_RELEASE.read_text())
    changed = {name for name in this.keys() & then.keys() if this[name] != then[name]}
    assert changed == {"StatefulSet/dedup-worker"}
    (before,), (after,) = [[name for name in each if SETTINGS.fullmatch(name)] for each in (this, then)]
    assert before != after, "a settings file that is changed in place reaches no pod"
    for container in [*workers(then)["initContainers"], *workers(then)["containers"]]:
        assert container["image"].endswith(":0.2.0")
        assert {"configMapRef": {"name": after.partition("/")[2]}} in container["envFrom"]
    assert this.keys() - {before} == then.keys() - {after}, "what one release leaves out stays in the cluster"


def test_a_changed_selector_would_be_noticed(tmp_path: Path) -> None:
    labels = [{"pairs": {"app.kubernetes.io/name": "another"}, "includeSelectors": True, "includeTemplates": True}]
    assert fixed(rendered(tmp_path / "this", {})) != fixed(rendered(tmp_path / "other", {"labels": labels}))


@pytest.mark.parametrize("components", [["two-holders"], ["two-holders", "zones"]], ids="+".join)
def test_two_holders_are_set_and_kept_apart_together(components: list[str], tmp_path: Path) -> None:
    manifests = rendered(tmp_path / "rendered", {"components": components})
    pod = workers(manifests)
    kubernetes_validate.validate(manifests["StatefulSet/dedup-worker"], KUBERNETES, strict=True)
    assert fixed(manifests) == json.loads(FIRST_RELEASE.read_text()), "they can be added to what runs"
    for container in [*pod["initContainers"], *pod["containers"]]:
        given = {entry["name"]: entry.get("value", "node-1") for entry in container["env"]}
        assert load_settings(config=None, overrides=[], environ=given).index.replicas == 2, "index-standby is made, too"
    keys = {"kubernetes.io/hostname": "spec.nodeName"}
    keys |= (
        {"topology.kubernetes.io/zone": "metadata.labels['topology.kubernetes.io/zone']"}
        if "zones" in components
        else {}
    )
    spread = {each["topologyKey"]: each for each in pod["topologySpreadConstraints"]}
    assert spread.keys() == keys.keys()
    for each in spread.values():
        assert (each["whenUnsatisfiable"], each["minDomains"], each["maxSkew"]) == ("DoNotSchedule", 2, 1)
        selected = manifests["StatefulSet/dedup-worker"]["spec"]["selector"]["matchLabels"]
        assert each["labelSelector"]["matchLabels"] == selected
    (rack,) = [entry for entry in pod["containers"][0]["env"] if entry["name"] == RACK]
    assert rack["valueFrom"]["fieldRef"]["fieldPath"] == list(keys.values())[-1], "the widest that is kept apart"
    assert load_settings(config=None, overrides=[], environ={RACK: ""}).kafka.client_rack == "", "without the label"
    budget = manifests["PodDisruptionBudget/dedup-worker"]["spec"]
    assert budget["maxUnavailable"] < 2 <= manifests["StatefulSet/dedup-worker"]["spec"]["replicas"]


def test_with_one_holder_workers_run_where_there_is_room(tmp_path: Path) -> None:
    pod = workers(rendered(tmp_path / "rendered", {}))
    assert [each["whenUnsatisfiable"] for each in pod["topologySpreadConstraints"]] == ["ScheduleAnyway"]
    assert REPLICAS not in {entry["name"] for entry in pod["containers"][0]["env"]}


def test_an_autoscaler_finds_the_workers_their_brokers_and_the_group_whose_lag_it_is_to_keep_down(
    tmp_path: Path,
) -> None:
    manifests = rendered(tmp_path / "rendered", {"components": ["two-holders", "autoscaled"]})
    stateful = manifests["StatefulSet/dedup-worker"]
    kubernetes_validate.validate(stateful, KUBERNETES, strict=True)
    assert "replicas" not in stateful["spec"], "each `kubectl apply` would set it back"
    spec = manifests["ScaledObject/dedup-worker"]["spec"]
    target = spec["scaleTargetRef"]
    assert {name: target[name] for name in ("apiVersion", "kind")} == {
        name: stateful[name] for name in ("apiVersion", "kind")
    }
    assert target["name"] == stateful["metadata"]["name"]
    assert target["envSourceContainerName"] == workers(manifests)["containers"][0]["name"]
    (trigger,) = spec["triggers"]
    asked = trigger["metadata"]
    assert trigger["type"] == "kafka"
    settings = Settings()
    assert asked["consumerGroup"] == group_names(settings.kafka.group, settings.topics.generation)[0]
    assert asked["topic"] == topic_name(settings.topics.prefix, PAGES)
    (given,) = [manifests[name]["data"] for name in manifests if SETTINGS.fullmatch(name)]
    assert asked["bootstrapServersFromEnv"] in given
    assert all(isinstance(value, str) for value in asked.values()), "KEDA takes no numbers there"
    assert 2 <= spec["minReplicaCount"] < spec["maxReplicaCount"] <= settings.topics.partitions
    horizontal = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "of-keda"},
        "spec": {"scaleTargetRef": {key: target[key] for key in ("apiVersion", "kind", "name")}, "maxReplicas": 8}
        | spec["advanced"]["horizontalPodAutoscalerConfig"],
    }
    kubernetes_validate.validate(horizontal, KUBERNETES, strict=True)
