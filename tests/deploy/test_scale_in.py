"""The hooks of Kubernetes and systemd tell a worker that is stopped whether it comes back; a process takes the worker's
place."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Final

import pytest

from tests.deploy.test_deployment import CONTAINERS, KUBERNETES, POD, UNIT_FILE, unit
from tests.wire.kafka_client.certificates import certificate
from worker.stopping import FOR_GOOD

SCRIPT: Final = UNIT_FILE.parents[1] / "kubernetes" / "scaled_in.py"
NAMESPACE: Final = "crawls"
TOKEN: Final = "a-token"


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends with its first byte of standard input, or by a signal."""
    started = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield started
    started.kill()
    started.wait()


def ended_by(process: subprocess.Popen[bytes]) -> int:
    """The signal that ended the process; 0 if it is still alive."""
    process.communicate(b"\n")
    return -process.returncode


class ApiServer(HTTPServer):
    """Answers as Kubernetes does: this about the StatefulSet to a client with the token, nothing about other
    objects."""

    def __init__(self, authority: Path, found: dict[str, Any] | int) -> None:
        super().__init__(("127.0.0.1", 0), _Asked)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.found = found


class _Asked(BaseHTTPRequestHandler):
    server: ApiServer

    def do_GET(self) -> None:
        name = KUBERNETES["statefulset"]["metadata"]["name"]
        found = self.server.found
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            found = 401
        elif self.path != f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets/{name}":
            found = 403
        self.send_response(found if isinstance(found, int) else 200)
        self.end_headers()
        self.wfile.write(json.dumps({} if isinstance(found, int) else found).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


Ask = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def ask(tmp_path: Path, process: subprocess.Popen[bytes]) -> Iterator[Ask]:
    """Runs the hook of the pod with this number, with the API server's answer about its StatefulSet."""
    account = tmp_path / "account"
    account.mkdir()
    authority = certificate(account / "ca.crt")
    (account / "namespace").write_text(NAMESPACE)
    (account / "token").write_text(f"{TOKEN}\n")
    script = SCRIPT.read_text()
    for here, there in (
        ('Path("/var/run/secrets/kubernetes.io/serviceaccount")', f'Path("{account}")'),
        ("WORKER = 1\n", f"WORKER = {process.pid}\n"),
    ):
        assert here in script
        script = script.replace(here, there)
    (tmp_path / "hook.py").write_text(script)
    servers = []

    def asked(number: int, found: dict[str, Any] | int) -> subprocess.CompletedProcess[str]:
        servers.append(server := ApiServer(authority, found))
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        host, port = server.server_address[:2]
        return subprocess.run(
            [sys.executable, "-I", tmp_path / "hook.py"],
            env={
                "DEDUP_KAFKA__INSTANCE_ID": f"dedup-worker-{number}",
                "KUBERNETES_SERVICE_HOST": str(host),
                "KUBERNETES_SERVICE_PORT": str(port),
            },
            capture_output=True,
            text=True,
            check=False,
        )

    yield asked
    for server in servers:
        server.shutdown()
        server.server_close()


def wanting(replicas: int, **metadata: str) -> dict[str, Any]:
    return {"metadata": metadata, "spec": {"replicas": replicas}}


@pytest.mark.parametrize(
    ("number", "found", "told"),
    [
        pytest.param(2, wanting(3), 0, id="a rolling update"),
        pytest.param(2, wanting(2), FOR_GOOD, id="fewer replicas"),
        pytest.param(0, wanting(0), FOR_GOOD, id="none at all"),
        pytest.param(0, wanting(3, deletionTimestamp="2026-11-26T05:00:00Z"), FOR_GOOD, id="being deleted"),
        pytest.param(0, 404, FOR_GOOD, id="deleted"),
    ],
)
def test_a_pod_that_does_not_come_back_has_its_worker_leave(
    ask: Ask, process: subprocess.Popen[bytes], number: int, found: dict[str, Any] | int, told: int
) -> None:
    done = ask(number, found)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert ended_by(process) == told


def test_where_nobody_says_whether_a_pod_comes_back_its_worker_keeps_its_places_and_the_event_says_why(
    ask: Ask, process: subprocess.Popen[bytes]
) -> None:
    done = ask(2, 403)
    assert done.returncode == 1
    assert "its worker keeps its places" in done.stderr and "403" in done.stderr
    assert ended_by(process) == 0


def test_the_hook_may_ask_what_it_asks_and_no_more_and_parsers_have_time_left() -> None:
    (rule,) = KUBERNETES["role"]["rules"]
    name = KUBERNETES["statefulset"]["metadata"]["name"]
    assert rule == {"apiGroups": ["apps"], "resources": ["statefulsets"], "resourceNames": [name], "verbs": ["get"]}
    account = KUBERNETES["serviceaccount"]["metadata"]["name"]
    assert KUBERNETES["rolebinding"]["subjects"] == [{"kind": "ServiceAccount", "name": account}]
    assert KUBERNETES["rolebinding"]["roleRef"]["name"] == KUBERNETES["role"]["metadata"]["name"]
    assert (POD["serviceAccountName"], POD["automountServiceAccountToken"]) == (account, False)
    worker = CONTAINERS["worker"]
    mounted = {mount["name"]: mount["mountPath"] for mount in worker["volumeMounts"]}
    assert worker["lifecycle"]["preStop"]["exec"]["command"] == ["python", "-I", f"{mounted['hooks']}/{SCRIPT.name}"]
    assert f'ACCOUNT = Path("{mounted["account"]}")' in SCRIPT.read_text()
    (volume,) = [volume for volume in POD["volumes"] if volume["name"] == "hooks"]
    made = {each["name"]: each.get("files") for each in KUBERNETES["kustomization"]["configMapGenerator"]}
    assert made[volume["configMap"]["name"]] == [SCRIPT.name]
    (token,) = [volume["projected"]["sources"] for volume in POD["volumes"] if volume["name"] == "account"]
    assert {kind for source in token for kind in source} == {"serviceAccountToken", "configMap", "downwardAPI"}


@pytest.mark.skipif(not shutil.which("systemctl"), reason="systemctl is not on PATH")
@pytest.mark.parametrize(("enabled", "told"), [(True, 0), (False, FOR_GOOD)], ids=["stop", "disable --now"])
def test_a_unit_that_is_disabled_leaves_when_it_is_stopped_and_an_enabled_one_does_not(
    process: subprocess.Popen[bytes], tmp_path: Path, enabled: bool, told: int
) -> None:
    """The test runs the unit's own line, as systemd hands it to the shell, and systemd's own tool on units in a
    folder."""
    name = UNIT_FILE.name.replace("@", "@2")
    units, programs = tmp_path / "root" / "etc" / "systemd" / "system", tmp_path / "bin"
    units.mkdir(parents=True)
    shutil.copy(UNIT_FILE, units)
    programs.mkdir()
    there = f"{shutil.which('systemctl')} --root={tmp_path / 'root'}"
    (programs / "systemctl").write_text(f'#!/bin/sh\nexec {there} "$@"\n')
    (programs / "systemctl").chmod(0o755)
    for change in ["enable", *([] if enabled else ["disable"])]:
        subprocess.run([*there.split(), change, name], capture_output=True, check=True)
    (line,) = unit()["Service"]["ExecStop"]
    words = shlex.split(line.removeprefix("-").replace("%n", name).replace("$$", "$"))
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "MAINPID": str(process.pid)}
    assert subprocess.run(words, env=environment, check=False).returncode == 0
    assert ended_by(process) == told


def test_what_is_sent_for_good_is_what_workers_take_for_it() -> None:
    assert signal.Signals(FOR_GOOD).name == "SIGUSR1"
    (line,) = unit()["Service"]["ExecStop"]
    assert "kill -USR1 " in line and "signal.SIGUSR1" in SCRIPT.read_text()
