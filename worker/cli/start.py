"""The command without a name: a worker, from its first second on.

The code that works on pages is compiled if that was never done, which takes a while. So the worker answers questions
about its health before it begins with that.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from worker.observe.compile_progress import compiling
from worker.observe.health import HealthServer, Starting
from worker.stopping import AskedToStop
from worker.stream.kafka.connection import client_options

if TYPE_CHECKING:
    from worker.config import Settings


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Work until SIGTERM or SIGINT, then drain; 0 unless something stops the worker.

    ``arguments.asked`` has caught them since before this module was imported.
    """
    asked: AskedToStop = arguments.asked
    settings = load()
    if asked.by_now():
        return 0
    client_options(settings.kafka)  # errors there are reported at once
    starting = Starting()
    with HealthServer(starting, settings.metrics.host, settings.metrics.port) as server:
        with compiling(starting.say):
            from worker.compose.kernels import compile_apart
            from worker.compose.worker import work
            from worker.index.shard import compiled_tables

            compile_apart(starting.say)
            compiled_tables()
        if asked.by_now():
            return 0
        starting.say(f"looking for the topics at kafka.bootstrap_servers={settings.kafka.bootstrap_servers}")
        return work(settings, asked, server)
