"""One real Apache Kafka on this machine, as a value with a beginning and an end.

Steps of a start, in this order:

1. the jars and the Java are there, fetched if necessary (``jars``);
2. the data folder is held by this process alone, with room and of a format that this Kafka reads (``folder``);
3. a free port is found, or the wanted one is free (``ports``);
4. settings are written; a new folder is formatted, which gives the cluster its id;
5. the JVM runs (``jvm``), and the start is over when a client's request is answered.
"""

from __future__ import annotations

import base64
import logging
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

from crawler_plugin.wire.errors import Stop, Unavailable
from worker.broker.configuration import (
    BROKER_LOG,
    DEFAULT_HEAP_MB,
    HOST,
    JVM_OUTPUT,
    LOG4J,
    PROPERTIES,
    Node,
    java_options,
    log4j_properties,
    node_properties,
    server_properties,
    write_properties,
)
from worker.broker.diagnosis import PortTaken, last_lines, why_it_ended
from worker.broker.folder import MINIMUM_FREE_BYTES, DataFolder
from worker.broker.jars import classpath, java
from worker.broker.jvm import Jvm
from worker.broker.ports import broker_answers, free_port, is_free

FORMAT_TIMEOUT_S: Final = 60.0
READY_TIMEOUT_S: Final = 180.0
"""Seconds: after a power cut Kafka reads its last segments again before it answers; on a slow disk that takes
minutes."""
STOP_TIMEOUT_S: Final = 30.0
ATTEMPTS: Final = 3
"""Starts with another free port each, if another program takes the port between our check and Kafka's."""

_log = logging.getLogger(__name__)


def new_cluster_id() -> str:
    """A random UUID as Kafka spells it: base64, and without a dash in front, since it stands on a command line."""
    while (spelt := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return spelt


class LocalBroker:
    """A broker on 127.0.0.1 whose topics live in ``data_dir``.

    ``port`` 0 takes a free one, and keeps it over later starts of the same object. ``announce`` gets a message about
    steps that take long. With ``node`` it is one of a cluster, and a start ends when most of the others run, too. As a
    context manager it runs inside the block. Not for use from several threads at once.
    """

    def __init__(
        self,
        *,
        data_dir: Path,
        port: int = 0,
        heap_mb: int = DEFAULT_HEAP_MB,
        minimum_free_bytes: int = MINIMUM_FREE_BYTES,
        announce: Callable[[str], None] = _log.info,
        node: Node | None = None,
    ) -> None:
        self._data_dir = data_dir
        self._port = port
        self._any_port = port == 0
        self._heap_mb = heap_mb
        self._minimum_free_bytes = minimum_free_bytes
        self._announce = announce
        self._node = node
        self._folder: DataFolder | None = None
        self._jvm: Jvm | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """``127.0.0.1:PORT``; the port is known once it has been started."""
        return f"{HOST}:{self._port}"

    @property
    def pid(self) -> int | None:
        """Process id of the JVM, None while there is none."""
        return self._jvm.pid if self._jvm else None

    @property
    def is_running(self) -> bool:
        """Whether the JVM runs."""
        return self._jvm is not None and self._jvm.is_running

    def start(self) -> None:
        """Start and wait until clients are served. A running broker is left alone.

        Raises:
            UsageError: an extra is not installed; a folder cannot be written or belongs to another Kafka.
            Unavailable: no network for the jars, no space, the port or folder is in use, or Kafka did not come up.
        """
        if self.is_running:
            return
        self.kill()
        jars, java_path = classpath(self._announce), java()
        self._folder = DataFolder.claim(
            self._data_dir,
            minimum_free_bytes=self._minimum_free_bytes,
            node=self._node.number if self._node else 1,
        )
        command: list[str | Path] = [java_path, *java_options(self._heap_mb), "-cp", ":".join(map(str, jars))]
        try:
            for attempt in range(1, ATTEMPTS + 1):
                self._choose_port()
                try:
                    self._launch(command, self._folder)
                    return
                except PortTaken as taken:
                    self._kill_jvm()
                    if attempt == ATTEMPTS or not self._any_port:
                        raise self._port_in_use() from taken
                    self._port = 0
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """Shut down in order: logs are flushed and marked as whole. Nothing happens when it does not run.

        Raises:
            Unavailable: it did not end within 30 seconds and was killed.
        """
        in_order = self._jvm is None or self._jvm.terminate(STOP_TIMEOUT_S)
        self.kill()
        if not in_order:
            raise Unavailable(
                f"the broker did not shut down within {STOP_TIMEOUT_S:.0f} s and was killed; "
                f"its next start repairs its logs, which takes longer. See {self._data_dir / BROKER_LOG}"
            )

    def kill(self) -> None:
        """End it by SIGKILL, as a fault would; ``start`` brings it back on the same data and port."""
        self._kill_jvm()
        if self._folder is not None:
            self._folder.release()
            self._folder = None

    def wait(self) -> Stop:
        """Wait until the broker ends unexpectedly, and return why it did.

        Raises:
            RuntimeError: it was never started.
        """
        if self._jvm is None or self._folder is None:
            raise RuntimeError("the broker was not started: call start() before wait()")
        self._jvm.wait()
        try:
            return why_it_ended(self._folder.path, self._jvm.wait())
        except PortTaken:
            return self._port_in_use()

    def last_lines(self) -> str:
        """The end of the output of Kafka and its JVM, for people."""
        return last_lines(self._data_dir)

    def _choose_port(self) -> None:
        if self._any_port and self._port == 0:
            self._port = free_port()
        elif not is_free(self._port):
            raise self._port_in_use()

    def _port_in_use(self) -> Unavailable:
        whose = "a Kafka broker" if broker_answers(self._port) else "another program"
        return Unavailable(
            f"port {self._port} of {HOST} is taken by {whose}: use that one, stop it, "
            "or give --port another number (0: a free one)"
        )

    def _launch(self, command: list[str | Path], folder: DataFolder) -> None:
        path = folder.path
        folder.write_down(f"process on {self.bootstrap_servers}")
        write_properties(path / PROPERTIES, self._properties())
        write_properties(path / LOG4J, log4j_properties())
        (path / BROKER_LOG).touch()
        begin = (path / BROKER_LOG).stat().st_size
        if not folder.is_formatted:
            self._format(command, folder, begin)
        self._jvm = self._run([*command, "kafka.Kafka", PROPERTIES], folder)
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not broker_answers(self._port):
            if self._jvm.wait(0.05) is not None:
                raise why_it_ended(path, self._jvm.wait(), since=begin)
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"Kafka did not answer on {self.bootstrap_servers} within {READY_TIMEOUT_S:.0f} s; "
                    f"the end of its log:\n{last_lines(path)}\nThe whole log is {path / BROKER_LOG}: start again"
                )

    def _properties(self) -> dict[str, str]:
        if self._node is None:
            return server_properties(self._port, free_port(other_than=self._port))
        controller_port = self._node.controllers[self._node.number - 1]
        return server_properties(self._port, controller_port) | node_properties(self._node)

    def _format(self, command: list[str | Path], folder: DataFolder, begin: int) -> None:
        arguments = [
            "kafka.tools.StorageTool",
            "format",
            "--ignore-formatted",
            "-t",
            self._node.cluster_id if self._node else new_cluster_id(),
            "-c",
            PROPERTIES,
        ]
        self._jvm = self._run([*command, *arguments], folder)
        status = self._jvm.wait(FORMAT_TIMEOUT_S)
        self._kill_jvm()
        if status != 0:
            raise why_it_ended(folder.path, status, since=begin)

    def _run(self, command: list[str | Path], folder: DataFolder) -> Jvm:
        return Jvm(command, folder=folder.path, output=folder.path / JVM_OUTPUT, inherit=[folder.lock_fd])

    def _kill_jvm(self) -> None:
        if self._jvm is not None:
            self._jvm.kill()
            self._jvm = None
