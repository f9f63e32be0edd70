"""Three brokers on this machine that are one cluster: if one is lost, the others have all its data."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NoReturn, Self

from crawler_plugin.wire.errors import UsageError
from worker.broker.configuration import DEFAULT_HEAP_MB, Node
from worker.broker.folder import LOCK, read_meta
from worker.broker.ports import free_port
from worker.broker.server import LocalBroker, new_cluster_id

NODES: Final = 3
"""The fewest brokers of which one may be away while most of the controllers, and two copies of each record, are
there."""
LOOK_EVERY_S: Final = 0.2

_log = logging.getLogger(__name__)


class LocalCluster:
    """Brokers on 127.0.0.1, each of them controller, too, whose topics live in folders of ``data_dir``.

    ``port`` is the first broker's, and the others follow it; 0 takes free ones. As a context manager they run inside
    the block. ``nodes`` may be killed, stopped and started one by one.
    """

    def __init__(
        self,
        *,
        data_dir: Path,
        port: int = 0,
        heap_mb: int = DEFAULT_HEAP_MB,
        announce: Callable[[str], None] = _log.info,
    ) -> None:
        self._announce = announce
        if (data_dir / LOCK).exists():
            raise UsageError(f"{data_dir} holds the topics of a single broker: give another --data-dir")
        folders = [data_dir / f"node-{number}" for number in range(1, NODES + 1)]
        known = (read_meta(folder).get("cluster.id") for folder in folders)
        cluster_id = next((found for found in known if found), None) or new_cluster_id()
        ports: list[int] = []
        while len(ports) < 2 * NODES:
            candidate = free_port()
            if candidate not in (*ports, *range(port, port + NODES)):
                ports.append(candidate)
        controllers = tuple(ports[:NODES])
        clients = [port + number if port else ports[NODES + number] for number in range(NODES)]
        self.nodes = [
            LocalBroker(
                data_dir=folder,
                port=clients[number],
                heap_mb=heap_mb,
                announce=announce,
                node=Node(number + 1, cluster_id, controllers),
            )
            for number, folder in enumerate(folders)
        ]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """``127.0.0.1:PORT`` of each, with commas."""
        return ",".join(node.bootstrap_servers for node in self.nodes)

    def start(self) -> None:
        """Start the brokers that do not run, and wait until all serve clients.

        Raises:
            UsageError: as ``LocalBroker.start``.
            Unavailable: as ``LocalBroker.start``.
        """
        try:
            self._each(LocalBroker.start)
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """Shut all down in order.

        Raises:
            Unavailable: one did not end in time and was killed.
        """
        self._each(LocalBroker.stop)

    def kill(self) -> None:
        """End all by SIGKILL."""
        self._each(LocalBroker.kill)

    def keep(self) -> NoReturn:
        """Restart each broker that ends unexpectedly, and report it, until this is interrupted.

        Raises:
            UsageError: a broker could not be started again, because a file or setting was changed.
            Unavailable: the same, because room, memory or a port is missing.
        """
        while True:
            for number, node in enumerate(self.nodes, 1):
                if not node.is_running:
                    self._announce(f"broker {number} of {NODES} ended, starting it again: {node.wait()}")
                    node.start()
                    self._announce(f"broker {number} of {NODES} runs again, process {node.pid}")
            time.sleep(LOOK_EVERY_S)

    def _each(self, act: Callable[[LocalBroker], None]) -> None:
        """All at once, since one alone does not serve; the first error is raised when all are done."""
        with ThreadPoolExecutor(NODES, thread_name_prefix="broker") as pool:
            done = [pool.submit(act, node) for node in self.nodes]
        for each in done:
            each.result()
