"""The deployment files fit the workers: settings, commands, files, probes, as far as a test can see without a container
engine."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sysconfig
import tomllib
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path
from typing import Any, Final

import compose_spec
import kubernetes_validate
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.deploy import prometheus_operator
from worker.cli.main import COMMANDS
from worker.compose.machine import MachineMemory, index_memory
from worker.config import Settings, load_settings
from worker.config.catalogue import catalogue
from worker.observe.health import PATHS, SCRAPE_SECONDS

ROOT: Final = Path(__file__).resolve().parents[2]
DEPLOY: Final = ROOT / "deploy"
DOCKERFILE: Final = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE)
IMAGES: Final = dict(re.findall(r"^(\w+)=(.*)$", (DEPLOY / ".env").read_text(), re.MULTILINE))
COMPOSE_FILE: Final = (DEPLOY / "compose.yaml").read_text()
COMPOSE: Final = yaml.safe_load(re.sub(r"\$\{(\w+)\}", lambda found: IMAGES[found[1]], COMPOSE_FILE))
"""The environment with the values of .env, which compose reads by itself."""
UNIT_FILE: Final = DEPLOY / "systemd" / "crawl-dedup@.service"
KUBERNETES: Final = {
    path.stem: yaml.safe_load(path.read_text()) for path in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
}
PROMETHEUS: Final = {
    name: yaml.safe_load((DEPLOY / "prometheus" / f"{name}.yml").read_text())
    for name in ("prometheus", "compose", "alertmanager")
}
_WORKER, _PLUGIN = (tomllib.loads((ROOT / of / "pyproject.toml").read_text()) for of in (".", "crawler_plugin"))
NEEDED: Final = [
    *_PLUGIN["project"]["dependencies"],
    *_PLUGIN["project"]["optional-dependencies"]["compression"],
    *_WORKER["project"]["dependencies"][1:],
]
"""The worker's requirements apart from the distribution of the plugin, which comes first, with that extra."""
BUILD: Final = _WORKER["build-system"]["requires"] + _PLUGIN["build-system"]["requires"]
"""The packages that build their wheels, and the wheels of packages without any."""
PROCESSES: Final = "DEDUP_PAGE__PROCESSES"
KUBERNETES_VERSION: Final = "1.31"
NOT_KUBERNETES_OWN: Final = {"kustomization", "servicemonitor", "podmonitor", "prometheusrule", "alertmanagerconfig"}
POD: Final = KUBERNETES["statefulset"]["spec"]["template"]["spec"]
CONTAINERS: Final = {container["name"]: container for container in [*POD["initContainers"], *POD["containers"]]}


def unit() -> dict[str, dict[str, list[str]]]:
    """The systemd unit's lines by section and name; a name may occur several times."""
    sections: dict[str, dict[str, list[str]]] = {}
    for line in UNIT_FILE.read_text().splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            section.setdefault(name, []).append(value)
    return sections


def environments() -> Iterator[Any]:
    """Every set of variables that a file here gives to a worker."""
    yield pytest.param(dict(re.findall(r"\b(DEDUP_\w+)=(\S+)", DOCKERFILE)), id="Dockerfile")
    for name, service in COMPOSE["services"].items():
        given = {key: str(value) for key, value in service.get("environment", {}).items() if key.startswith("DEDUP_")}
        if given:
            yield pytest.param(given, id=f"compose {name}")
    literals = KUBERNETES["kustomization"]["configMapGenerator"][0]["literals"]
    shared = dict(literal.split("=", 1) for literal in literals)
    for name, container in CONTAINERS.items():
        own = {entry["name"]: entry.get("value", "a-name-0") for entry in container.get("env", [])}
        yield pytest.param(shared | own, id=f"kubernetes {name}")
    assigned = [value.split("=", 1) for value in unit()["Service"]["Environment"]]
    yield pytest.param(
        {
            key: value.replace("%H", "host").replace("%i", "1").replace("%S/crawl-dedup", "/tmp")
            for key, value in assigned
            if key.startswith("DEDUP_")
        },
        id="systemd",
    )


@pytest.mark.parametrize("environment", list(environments()))
def test_the_worker_knows_the_settings_that_it_is_given(environment: dict[str, str]) -> None:
    assert environment
    assert all(name.startswith("DEDUP_") for name in environment)
    load_settings(config=None, overrides=[], environ=environment)


def test_hadolint_finds_nothing_to_say_of_the_dockerfile() -> None:
    hadolint = Path(sysconfig.get_path("scripts"), "hadolint")
    checked = subprocess.run([hadolint, DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_what_the_dockerfile_copies_is_there_and_not_ignored() -> None:
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    for line in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE):
        *sources, _ = [word for word in line.split() if not word.startswith("--")]
        for source in sources:
            assert (ROOT / source).exists()
            assert f"!{source}" in ignored


def test_what_is_built_and_started_exists() -> None:
    assert set(re.findall(r"python -m worker (\w+)", DOCKERFILE)) == {"warmup"}
    assert "warmup" in COMMANDS
    program, command, *_ = CONTAINERS["topics"]["command"][2].split()
    path = re.search(r"ENV PATH=([^:]+):\$PATH", DOCKERFILE)
    assert path
    for started in {program, *re.findall(r'^ENTRYPOINT \["(\S+)"\]$', DOCKERFILE, re.MULTILINE)}:
        assert f"deploy/entrypoint.sh {path[1]}/{started}\n" in DOCKERFILE, "pip's command would come first"
    assert DOCKERFILE.index("COPY --from=build") < DOCKERFILE.index("deploy/entrypoint.sh"), "pip's would be put there"
    assert {COMPOSE["services"]["topics"]["command"][0], command} <= COMMANDS.keys()


def test_the_image_runs_as_nobody_in_particular_and_can_live_on_a_read_only_root() -> None:
    user = re.findall(r"^USER (\d+):(\d+)$", DOCKERFILE, re.MULTILINE)
    assert user == [("10001", "10001")]
    (cache,) = re.findall(r"NUMBA_CACHE_DIR=(/tmp\S*)", DOCKERFILE)
    assert cache.startswith("/tmp/")
    for service in COMPOSE["services"].values():
        if service["image"] == "crawl-dedup":
            assert service["read_only"] is True
            assert service["tmpfs"] == ["/tmp"]
    for container in CONTAINERS.values():
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        written = [mount for mount in container["volumeMounts"] if not mount.get("readOnly")]
        assert written == [{"name": "tmp", "mountPath": "/tmp"}]
    assert str(POD["securityContext"]["runAsUser"]) == user[0][0]


def test_the_entrypoint_copies_what_was_compiled_once_and_becomes_the_worker(tmp_path: Path) -> None:
    """The test runs its own lines, with the image's folder below a temporary one and a program that shows how it was
    called."""
    compiled, cache, programs = tmp_path / "compiled", tmp_path / "cache", tmp_path / "bin"
    compiled.mkdir()
    (compiled / "kernel.nbc").write_text("code")
    programs.mkdir()
    (programs / "python").write_text('#!/bin/sh\necho "$@"\n')
    (programs / "python").chmod(0o755)
    script = (DEPLOY / "entrypoint.sh").read_text().replace("/opt/crawl-dedup/compiled", str(compiled))
    (tmp_path / "start").write_text(script)
    for _ in range(2):
        started = subprocess.run(
            ["sh", tmp_path / "start", "--set", "near.k=2"],
            env={"PATH": f"{programs}:/usr/bin:/bin", "NUMBA_CACHE_DIR": str(cache)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert started.stdout == "-m worker --set near.k=2\n"
        assert [path.name for path in cache.iterdir()] == ["kernel.nbc"]


def test_the_compose_file_is_one() -> None:
    # host-gateway is Docker's name for the address of the machine; this check takes it for a wrong address.
    compose = compose_spec.PyCompose.from_json(json.dumps(COMPOSE).replace(":host-gateway", ":172.17.0.1"))
    compose.validate()
    compose.to_spec()
    for service in COMPOSE["services"].values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in COMPOSE["volumes"] or (DEPLOY / source).is_dir()
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), "nothing here asks for a password"


@pytest.mark.parametrize("name", sorted(KUBERNETES.keys() - NOT_KUBERNETES_OWN))
def test_the_manifests_are_kubernetes(name: str) -> None:
    kubernetes_validate.validate(KUBERNETES[name], KUBERNETES_VERSION, strict=True)


def test_the_manifests_belong_together() -> None:
    assert {f"{name}.yaml" for name in KUBERNETES.keys() - {"kustomization"}} == set(
        KUBERNETES["kustomization"]["resources"]
    )
    workers = {"app.kubernetes.io/component": "worker"}
    assert KUBERNETES["statefulset"]["spec"]["template"]["metadata"]["labels"] == workers
    assert KUBERNETES["statefulset"]["spec"]["selector"]["matchLabels"] == workers
    assert KUBERNETES["service"]["spec"]["selector"] == KUBERNETES["service"]["metadata"]["labels"] == workers
    assert KUBERNETES["statefulset"]["spec"]["serviceName"] == KUBERNETES["service"]["metadata"]["name"]
    assert KUBERNETES["poddisruptionbudget"]["spec"]["selector"]["matchLabels"] == workers
    monitor = KUBERNETES["servicemonitor"]["spec"]
    assert monitor["selector"]["matchLabels"] == workers
    assert [end["port"] for end in monitor["endpoints"]] == [
        port["name"] for port in KUBERNETES["service"]["spec"]["ports"]
    ]
    assert KUBERNETES["service"]["metadata"]["name"].startswith("dedup"), "it is the Prometheus job that alerts look at"


def test_another_release_can_be_applied_over_this_one() -> None:
    """Kubernetes changes a StatefulSet's pods in place, and no Job."""
    assert "Job" not in {manifest["kind"] for manifest in KUBERNETES.values()}
    (topics,) = POD["initContainers"]
    assert topics["image"] == CONTAINERS["worker"]["image"]
    assert topics["command"][2].endswith("|| test $? -eq 1"), "topics that differ are told, and end no worker"


@pytest.mark.parametrize(("name", "asked"), [("worker", NEEDED), ("build", BUILD)])
def test_the_lock_has_all_that_is_asked_for_each_in_a_version_that_will_do(name: str, asked: list[str]) -> None:
    """The lock also has hashes for each, and no address of its source."""
    text = (DEPLOY / "locked" / f"{name}.txt").read_text()
    locked = dict(re.findall(r"^([a-z0-9-]+)==(\S+)(?: ;.*)? \\$", text, re.MULTILINE))
    for requirement in map(Requirement, asked):
        assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)]), requirement
    pinned = re.split(r"^(?=[a-z])", text, flags=re.MULTILINE)[1:]
    assert len(pinned) == len(locked) > 0
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}$", entry, re.MULTILINE) for entry in pinned)
    assert "://" not in text and "--index" not in text
    assert re.search(rf"--require-hashes .*-r deploy/locked/{name}\.txt", DOCKERFILE)


def test_the_lock_of_the_worker_is_closed_under_what_packages_need_and_has_nothing_else() -> None:
    text = (DEPLOY / "locked" / "worker.txt").read_text()
    wanted, found = {Requirement(line) for line in NEEDED}, set()
    while wanted:
        asked = wanted.pop()
        found.add(canonicalize_name(asked.name))
        needed = [Requirement(line) for line in requires(asked.name) or ()]
        extras = asked.extras or {""}
        wanted |= {
            each
            for each in needed
            if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras)
        }
    assert found == set(re.findall(r"^([a-z0-9-]+)==\S+ \\$", text, re.MULTILINE))


def test_what_is_locked_is_what_the_lock_was_asked_for() -> None:
    notes = (DEPLOY / "README.md").read_text()
    python = re.search(r"^ARG PYTHON_IMAGE=python:(\d+\.\d+)-", DOCKERFILE, re.MULTILINE)
    assert python
    for name in ("worker", "build"):
        _, written, *_ = (DEPLOY / "locked" / f"{name}.txt").read_text().splitlines()
        assert f"--python-version {python[1]} " in written
        assert written.lstrip("# ") in notes.replace(" --upgrade", "")


def test_images_are_named_in_one_place() -> None:
    assert set(re.findall(r"image: (\S+)", COMPOSE_FILE)) == {"crawl-dedup"} | {
        f"${{{name}}}" for name in IMAGES if name != "PYTHON_IMAGE"
    }
    assert "PYTHON_IMAGE: ${PYTHON_IMAGE}\n" in COMPOSE_FILE
    assert f"ARG PYTHON_IMAGE={IMAGES['PYTHON_IMAGE'].partition('@')[0]}\n" in DOCKERFILE
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) == ["${PYTHON_IMAGE}"] * 2
    for image in IMAGES.values():
        assert re.fullmatch(r"[\w./-]+:[\w.-]+(@sha256:[0-9a-f]{64})?", image)


def test_only_prometheus_reaches_a_worker_which_reaches_names_kafka_and_kubernetes() -> None:
    policy = KUBERNETES["networkpolicy"]["spec"]
    assert policy["podSelector"]["matchLabels"] == KUBERNETES["service"]["spec"]["selector"]
    ((entry,), ports) = policy["ingress"], [rule["ports"] for rule in policy["egress"]]
    assert [port["port"] for port in entry["ports"]] == [port["name"] for port in CONTAINERS["worker"]["ports"]]
    reached = {(port["port"], port.get("endPort")) for rule in ports for port in rule}
    assert reached == {(53, None), (9092, 9094), (443, None), (6443, None)}, "the last two are the API server's"


def test_what_the_operator_is_told_is_what_prometheus_and_alertmanager_read() -> None:
    assert prometheus_operator.main([]) == 0
    monitor = KUBERNETES["podmonitor"]["spec"]
    (endpoint,) = monitor["podMetricsEndpoints"]
    assert endpoint["metricRelabelings"] == [
        {"targetLabel": "job", "replacement": KUBERNETES["service"]["metadata"]["name"]}
    ]


def test_passwords_and_certificates_are_mounted_where_they_are_said_to_be() -> None:
    security = (ROOT / "docs" / "how-to" / "security.md").read_text()
    (secret,) = [volume["secret"] for volume in POD["volumes"] if volume["name"] == "kafka"]
    assert secret["optional"] is True
    assert f"kubectl create secret generic {secret['secretName']} --from-file=password --from-file=ca.crt" in security
    for container in CONTAINERS.values():
        (mount,) = [mount for mount in container["volumeMounts"] if mount["name"] == "kafka"]
        for key, file in (
            ("kafka.sasl_password_file", "password"),
            ("kafka.ssl_cafile", "ca.crt"),
            ("kafka.ssl_certfile", "tls.crt"),
            ("kafka.ssl_keyfile", "tls.key"),
        ):
            assert f"{catalogue()[key].environment}: {mount['mountPath']}/{file}" in security
    (by_others,) = [each["secretRef"] for each in CONTAINERS["topics"]["envFrom"] if "secretRef" in each]
    assert f"`{by_others['name']}`" in security and by_others["optional"] is True
    setting = catalogue()["kafka.sasl_password_file"].environment
    assert f"#Environment={setting}=%d/kafka-password\n" in UNIT_FILE.read_text()


def test_variables_of_services_do_not_reach_the_worker() -> None:
    assert POD["enableServiceLinks"] is False


def test_a_pod_has_its_name_as_a_member_and_time_to_drain() -> None:
    container = CONTAINERS["worker"]
    assert {"name": "DEDUP_KAFKA__INSTANCE_ID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}} in container[
        "env"
    ]
    grace = Settings().shutdown.seconds
    assert POD["terminationGracePeriodSeconds"] > grace + SCRAPE_SECONDS
    assert int(COMPOSE["services"]["worker"]["stop_grace_period"].rstrip("s")) > grace
    assert int(unit()["Service"]["TimeoutStopSec"][0]) > grace + SCRAPE_SECONDS


def limits() -> Iterator[Any]:
    """The memory limit in bytes and the number of parsers of every worker that is deployed here."""
    container = CONTAINERS["worker"]
    by_name = {entry["name"]: entry.get("value") for entry in container["env"]}
    pod = container["resources"]["limits"]["memory"]
    yield pytest.param(int(pod.removesuffix("Gi")) << 30, by_name[PROCESSES], id="kubernetes")
    worker = COMPOSE["services"]["worker"]
    yield pytest.param(int(worker["mem_limit"].removesuffix("g")) << 30, worker["environment"][PROCESSES], id="compose")
    service = unit()["Service"]
    by_name = dict(value.split("=", 1) for value in service["Environment"])
    share = int(service["MemoryMax"][0].removesuffix("%"))
    yield pytest.param((8 << 30) * share // 100, by_name[PROCESSES], id="systemd, on a machine of 8 GiB")


@pytest.mark.parametrize(("memory", "processes"), list(limits()))
def test_a_worker_has_a_limit_that_leaves_its_index_room_beside_the_parsers(memory: int, processes: str) -> None:
    assert "DEDUP_INDEX__MEMORY_MB" not in {name for found in environments() for name in found.values[0]}
    found = index_memory(
        load_settings(config=None, overrides=[], environ={PROCESSES: processes}), MachineMemory(memory, "the limit")
    )
    assert (found.computed, found.warning) == (True, "")
    assert 900 <= found.mib <= (memory >> 20) // 2


def test_probes_ask_for_paths_that_are_served() -> None:
    container = CONTAINERS["worker"]
    probes = {kind: container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")}
    assert {kind: probe["path"] for kind, probe in probes.items()} == {
        "startup": "/livez",
        "liveness": "/livez",
        "readiness": "/readyz",
    }
    assert {probe["path"] for probe in probes.values()} <= set(PATHS)
    port = Settings().metrics.port
    assert container["ports"] == [{"name": "metrics", "containerPort": port}]
    assert f"EXPOSE {port}\n" in DOCKERFILE
    assert f"http://127.0.0.1:{port}/livez" in DOCKERFILE


def test_the_secret_of_the_fingerprints_is_mounted_where_it_is_said_to_be() -> None:
    security = (ROOT / "docs" / "how-to" / "security.md").read_text()
    (secret,) = [volume["secret"] for volume in POD["volumes"] if volume["name"] == "fingerprint-key"]
    (mount,) = [mount for mount in CONTAINERS["worker"]["volumeMounts"] if mount["name"] == "fingerprint-key"]
    assert mount["readOnly"] is True
    assert secret["optional"] is True, "a crawl may have none"
    assert secret["defaultMode"] == 0o440
    assert f"kubectl create secret generic {secret['secretName']} --from-file=key=" in security
    setting = catalogue()["fingerprint.key_file"].environment
    assert f"{setting}: {mount['mountPath']}/key" in security
    assert f"#Environment={setting}=%d/fingerprint.key\n" in UNIT_FILE.read_text()
    given = yaml.safe_load(security.split("```yaml\n")[1].split("```")[0])
    ((name, source),) = given["secrets"].items()
    assert given["services"]["worker"] == {"secrets": [name], "environment": {setting: f"/run/secrets/{name}"}}
    assert given["services"].keys() <= COMPOSE["services"].keys() and source == {"file": "./fingerprint.key"}


def test_what_must_not_be_started_again_is_not() -> None:
    service = unit()["Service"]
    assert service["Restart"] == ["on-failure"]
    assert service["RestartPreventExitStatus"] == ["2 4"]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not on PATH")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """The test names an existing program in place of the one that is installed later."""
    copy = tmp_path / UNIT_FILE.name
    copy.write_text(UNIT_FILE.read_text().replace("/opt/crawl-dedup/bin/python", "/bin/true"))
    checked = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False)
    assert str(copy.name) not in checked.stderr, checked.stderr


@pytest.mark.prometheus
@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not on PATH (Debian's package prometheus)")
@pytest.mark.parametrize("name", ["prometheus.yml", "compose.yml"])
def test_promtool_finds_nothing_wrong_with_the_configurations(name: str) -> None:
    checked = subprocess.run(
        ["promtool", "check", "config", DEPLOY / "prometheus" / name], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.prometheus
@pytest.mark.skipif(
    not shutil.which("amtool"), reason="amtool is not on PATH (Debian's package prometheus-alertmanager)"
)
def test_amtool_finds_nothing_wrong_with_the_configuration_of_alertmanager() -> None:
    file = DEPLOY / "prometheus" / "alertmanager.yml"
    checked = subprocess.run(["amtool", "check-config", file], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("name", ["prometheus", "compose"])
def test_prometheus_loads_all_rules_sends_alerts_and_gives_spiders_the_job_of_their_workers(name: str) -> None:
    config = PROMETHEUS[name]
    assert config["rule_files"] == ["thresholds.yml", "recording.yml", "alerts.yml"]
    ((target,),) = [each["targets"] for each in config["alerting"]["alertmanagers"][0]["static_configs"]]
    assert target.endswith(":9093")
    if name == "compose":
        assert target.split(":")[0] in COMPOSE["services"]
    workers, spiders = config["scrape_configs"]
    assert workers["job_name"].startswith("dedup"), "it is what alerts look at"
    assert not spiders["job_name"].startswith("dedup"), "a spider that has ended is no worker that is absent"
    assert spiders["metric_relabel_configs"] == [{"target_label": "job", "replacement": workers["job_name"]}]


def test_logs_of_containers_cannot_fill_the_disk() -> None:
    for service in COMPOSE["services"].values():
        assert service["logging"]["options"].keys() == {"max-size", "max-file"}
