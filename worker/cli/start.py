"""The command without a name: a worker, from its first second on.

What works on pages is compiled where that was never done, which takes a while. So the worker answers who asks for its
health before it begins with that.
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

    ``arguments.asked`` has heard them since before this module was imported.
    """
    asked: AskedToStop = arguments.asked
    settings = load()
    if asked.by_now():
        return 0
    client_options(settings.kafka)  # what is wrong there is told at once
    starting = Starting()
    with HealthServer(starting, settings.metrics.host, settings.metrics.port) as server:
        with compiling(starting.say):
            from worker.compose.kernels import pages_compiled
            from worker.compose.worker import work
            from worker.index.shard import compiled_tables

            with pages_compiled(starting.say):
                compiled_tables()
        if asked.by_now():
            return 0
        starting.say(f"looking for the topics at kafka.bootstrap_servers={settings.kafka.bootstrap_servers}")
        return work(settings, asked, server)
