"""A real Prometheus with the configuration, the rules and the consoles of ``deploy/``."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlencode

import pytest
import yaml

DEPLOY: Final = Path(__file__).resolve().parents[2] / "deploy"
CONFIG: Final = DEPLOY / "prometheus" / "prometheus.yml"
LOCAL: Final = "127.0.0.1"
DEADLINE_SECONDS: Final = 60.0

needs_prometheus = pytest.mark.skipif(
    not (shutil.which("promtool") and shutil.which("prometheus")),
    reason="promtool and prometheus are not on PATH (Debian's package prometheus)",
)


class Prometheus:
    """A running server that scrapes workers (``host:port``) and evaluates its rules every second.

    ``at_its_pace`` leaves the intervals as in ``deploy/``. ``alertmanager`` (``host:port``) gets the alerts.
    """

    def __init__(
        self,
        folder: Path,
        *workers: str,
        spiders: Sequence[str] = (),
        at_its_pace: bool = False,
        alertmanager: str | None = None,
    ) -> None:
        shutil.copytree(CONFIG.parent, folder / "prometheus")
        config = yaml.safe_load(CONFIG.read_text())
        if not at_its_pace:
            config["global"] = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
        config["alerting"]["alertmanagers"][0]["static_configs"] = [{"targets": [alertmanager] if alertmanager else []}]
        of_workers, of_spiders = config["scrape_configs"]
        del of_workers["static_configs"]
        of_workers["file_sd_configs"] = [{"files": ["workers.json"], "refresh_interval": "1s"}]
        of_spiders["static_configs"] = [{"targets": list(spiders)}]
        self._workers = folder / "prometheus" / "workers.json"
        self.list_workers(*workers)
        (folder / "prometheus" / "prometheus.yml").write_text(yaml.safe_dump(config))
        with socket.socket() as probe:
            probe.bind((LOCAL, 0))
            self.address = f"{LOCAL}:{probe.getsockname()[1]}"
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={folder / 'prometheus' / 'prometheus.yml'}",
                    f"--storage.tsdb.path={folder / 'data'}",
                    f"--web.listen-address={self.address}",
                    f"--web.console.templates={DEPLOY / 'consoles'}",
                    f"--web.console.libraries={DEPLOY / 'consoles'}",
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def list_workers(self, *workers: str) -> None:
        """Scrape these workers from now on, as if discovery found them and no others."""
        self._workers.write_text(json.dumps([{"targets": list(workers)}]))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.process.terminate()
        self.process.wait(30)

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of a page.

        Raises:
            AssertionError: the server has ended.
            OSError: it does not answer yet.
        """
        assert self.process.poll() is None, self.log.read_text()
        with closing(http.client.HTTPConnection(self.address, timeout=10)) as connection:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def ask(self, expression: str) -> dict[str, Any]:
        """The whole answer to an instant query, errors included."""
        answer: dict[str, Any] = json.loads(self.get(f"/api/v1/query?{urlencode({'query': expression})}")[1])
        return answer

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The samples of an instant query, as soon as there are any.

        Raises:
            AssertionError: there are no samples before the deadline, or the server has ended.
        """
        deadline = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < deadline:
            try:
                result: list[dict[str, Any]] = self.ask(expression).get("data", {}).get("result", [])
            except (OSError, http.client.HTTPException, ValueError):  # not ready yet
                result = []
            if result:
                return result
            time.sleep(0.1)
        raise AssertionError(f"no sample of {expression}\n{self.log.read_text()}")
