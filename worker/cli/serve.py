"""``python -m worker serve``: verdicts over HTTP, for crawlers in any language."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from worker.cli._installed import require
from worker.observe.compile_progress import compiling
from worker.observe.health import HealthServer
from worker.observe.log_lines import announce
from worker.stopping import AskedToStop

if TYPE_CHECKING:
    from worker.config import Settings

DEFAULT_PORT: Final = 9470


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Answers POST /judge with the verdict on a page, or on each line of many, and GET /seen?url= with what is kept "
        "of a URL. Pages are judged in the order in which they come, and a verdict is on the disk before it is sent. "
        "/openapi.json describes it; /metrics, /livez and /readyz are on metrics.port. After SIGTERM or Ctrl-C it "
        "answers all pages that it has taken, and ends."
    )
    parser.add_argument(
        "--state", type=Path, required=True, metavar="DIR", help="folder of the pages that were seen; made if needed"
    )
    parser.add_argument("--host", default="127.0.0.1", metavar="H", help="address to listen on (%(default)s)")
    parser.add_argument(
        "--port", type=_port, default=DEFAULT_PORT, metavar="N", help="port to listen on; 0: a free one (%(default)s)"
    )
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="require the header Authorization: Bearer with the token in this file; needed if other machines can ask",
    )


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Serve until SIGTERM or SIGINT; 0 unless something stops it.

    Raises:
        UsageError: an argument or setting is wrong, or the extra ``serve`` is not installed.
        Unavailable: the port is taken, or the disk is full.
        Refused: as ``worker.local.Deduplicator``, and when the index may not grow any more.
    """
    require("serve", "speaking HTTP takes packages that workers do not need")
    asked = AskedToStop()
    settings = load()
    from worker.observe.metrics import ServedMetrics
    from worker.serve.server import ServeTask, listening, serve, token_in

    token = None if arguments.token_file is None else token_in(arguments.token_file)
    task = ServeTask(arguments.state, arguments.host, arguments.port, token)
    sockets = listening(task)
    metrics = ServedMetrics()
    with HealthServer(metrics, settings.metrics.host, settings.metrics.port) as server:
        announce(f"metrics: {server.address}/metrics")
        with compiling(lambda step: metrics.health.report([step])):
            from worker.compose.kernels import compile_apart
            from worker.index.shard import compiled_tables

            compile_apart(lambda step: metrics.health.report([step]))
            compiled_tables()
        if not asked.by_now():
            metrics.health.report(["opening the state"])
            serve(task, sockets, settings, metrics, asked.tell)
    return 0


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: give a number from 0 to 65535")
    return int(text)
