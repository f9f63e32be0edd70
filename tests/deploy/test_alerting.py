"""Alerts as they reach people: a real Alertmanager, real workers and a real broker that fail, at the deployed pace."""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cluster.cluster import Cluster
from tests.deploy.watched import SMALL, metrics_of, pages
from tests.observe.prometheus import DEPLOY, LOCAL, Prometheus, needs_prometheus
from tests.waiting import wait_for
from worker.broker.ports import free_port
from worker.broker.server import LocalBroker

ALERTMANAGER: Final = "prometheus-alertmanager"
PROMISED_SECONDS: Final = 90.0
"""The time from a fault that stops everything to the first alert that fires."""

needs_alertmanager = pytest.mark.skipif(
    not shutil.which(ALERTMANAGER), reason=f"{ALERTMANAGER} is not on PATH (Debian's package {ALERTMANAGER})"
)


class Alertmanager:
    """A running Alertmanager with the configuration of ``deploy/``."""

    def __init__(self, folder: Path) -> None:
        self.address = f"{LOCAL}:{free_port()}"
        self._log = folder / "log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    ALERTMANAGER,
                    f"--config.file={DEPLOY / 'prometheus' / 'alertmanager.yml'}",
                    f"--storage.path={folder / 'data'}",
                    f"--web.listen-address={self.address}",
                    "--cluster.listen-address=",
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        wait_for(self._answers, "Alertmanager to answer", pause=0.05)

    def ask(self, method: str, path: str, body: object = None) -> Any:
        with closing(http.client.HTTPConnection(self.address, timeout=10)) as connection:
            connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
            assert answer.status == 200, text
            return json.loads(text) if text else None

    def states(self) -> dict[tuple[str, str], bool]:
        """Whether a notification is sent, by alert and job."""
        return {
            (alert["labels"]["alertname"], alert["labels"].get("job", "")): alert["status"]["state"] == "active"
            for alert in self.ask("GET", "/api/v2/alerts")
        }

    def _answers(self) -> bool:
        assert self.process.poll() is None, self._log.read_text()
        try:
            return bool(self.ask("GET", "/api/v2/alerts") == [])
        except (OSError, http.client.HTTPException):
            return False


@pytest.fixture
def alertmanager(tmp_path: Path) -> Iterator[Alertmanager]:
    running = Alertmanager(tmp_path)
    yield running
    running.process.terminate()
    running.process.wait(30)


@pytest.mark.prometheus
@needs_alertmanager
def test_of_a_broker_that_is_away_one_hears_once_and_of_another_crawl_all_the_same(alertmanager: Alertmanager) -> None:
    ends = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    firing = {
        ("DedupBrokerSilent", "dedup-a"): True,
        ("DedupNoWorker", "dedup-a"): False,
        ("DedupSpiderWaits", "dedup-a"): False,
        ("DedupShardWithoutOwner", "dedup-b"): True,
        ("DedupLagging", "dedup-b"): False,
        ("DedupDeadLetters", "dedup-b"): True,
        ("DedupNoWorker", "dedup-c"): True,
        ("DedupWorkerAbsent", "dedup-c"): False,
        ("DedupReplayPointOld", "dedup-c"): True,
        ("DedupNearlyOnlyDuplicates", "dedup-d"): True,
        ("DedupDuplicateRatioJumped", "dedup-d"): False,
        ("DedupHostNearlyOnlyDuplicates", "dedup-d"): True,
        ("HostDown", "dedup-a"): True,
    }
    told = [{"labels": {"alertname": name, "job": job, "severity": "critical"}, "endsAt": ends} for name, job in firing]
    alertmanager.ask("POST", "/api/v2/alerts", told)
    # Alertmanager decides on inhibition when it sends a group, which is after group_wait.
    wait_for(lambda: alertmanager.states() == firing, f"{firing}, not {alertmanager.states()}", 60)


def firing(prometheus: Prometheus) -> set[str]:
    return {found["metric"]["alertname"] for found in prometheus.ask('ALERTS{alertstate="firing"}')["data"]["result"]}


@pytest.mark.long
@pytest.mark.cluster
@pytest.mark.prometheus
@needs_prometheus
@needs_alertmanager
def test_a_broker_that_dies_and_workers_that_vanish_are_told_within_90_seconds(
    tmp_path: Path, alertmanager: Alertmanager
) -> None:
    broker = LocalBroker(data_dir=tmp_path / "broker")
    with broker, Cluster(broker.bootstrap_servers, "alerts.", tmp_path, SMALL) as cluster:
        worker = cluster.start_worker()
        wait_for(lambda: metrics_of(worker), "the worker to say where its metrics are")
        (tmp_path / "prometheus").mkdir()
        watching = Prometheus(
            tmp_path / "prometheus", metrics_of(worker), at_its_pace=True, alertmanager=alertmanager.address
        )
        with watching as prometheus:
            cluster.publish(pages(0))
            cluster.wait_until_committed()
            prometheus.query("dedup_ready == 1")
            assert firing(prometheus) == set()

            broker.kill()
            wait_for(lambda: firing(prometheus), "an alert after the broker's death", PROMISED_SECONDS)
            assert firing(prometheus) == {"DedupBrokerSilent"}
            wait_for(lambda: not worker.alive, "the worker to give up")
            assert worker.process.returncode == 3
            wait_for(lambda: "DedupNoWorker" in firing(prometheus), "the worker to be missed", PROMISED_SECONDS)
            held_back = {("DedupBrokerSilent", "dedup-worker"): True, ("DedupNoWorker", "dedup-worker"): False}
            wait_for(lambda: held_back.items() <= alertmanager.states().items(), "the broker alone to be told", 60)

            broker.start()
            back = cluster.start_worker()
            wait_for(lambda: metrics_of(back), "the worker to say where its metrics are")
            prometheus.list_workers(metrics_of(back))
            wait_for(lambda: not firing(prometheus), "all to be well again")

            back.kill()
            prometheus.list_workers()  # as after the deletion of a pod: no target is listed as down
            wait_for(lambda: firing(prometheus), "an alert after the last worker's death", PROMISED_SECONDS)
            assert firing(prometheus) == {"DedupNoWorker"}
