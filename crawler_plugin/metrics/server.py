"""Shows the metrics of this process's crawls at ``http://HOST:PORT/metrics``, from one thread.

Crawls of one process that use the same address share a server: their series differ by spider and crawl. Processes on
one machine cannot share one, so where a port is taken the next free one is used, as for a worker.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, NamedTuple, TypeAlias

from crawler_plugin.metrics.declared import CrawlNumbers, exposition
from crawler_plugin.wire.http_server import HttpAnswer, HttpServer, listening, replying, shown

LOCAL: Final = "127.0.0.1"
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Look: TypeAlias = Callable[[], CrawlNumbers]
"""Reads the numbers of one crawl; called in the server's thread."""


class ListenAddress(NamedTuple):
    """The address at which metrics are shown. Port 0 takes a free port."""

    host: str
    port: int

    def __str__(self) -> str:
        return shown(self.host, self.port)


class MetricsServer:
    """Serves from its construction until the last crawl has left.

    Raises:
        OSError: this host is not one of this machine's, or none of a hundred ports is free.
    """

    def __init__(self, asked: ListenAddress) -> None:
        listener = listening(asked.host, asked.port)
        self.address = ListenAddress(*listener.getsockname()[:2])
        self._crawls: tuple[Look, ...] = ()
        self._server = HttpServer(listener, replying(self._answer), "dedup-metrics")

    def enter(self, crawl: Look) -> None:
        """Show this crawl too."""
        self._crawls = (*self._crawls, crawl)

    def leave(self, crawl: Look) -> bool:
        """Show the crawl no more; whether it was the last one, so that the server is closed."""
        self._crawls = tuple(other for other in self._crawls if other != crawl)
        if not self._crawls:
            self._server.close()
        return not self._crawls

    def _answer(self, path: str, accept: str) -> HttpAnswer:
        if path != "/metrics":
            return HttpAnswer(b"There is /metrics.\n", status=HTTPStatus.NOT_FOUND)
        return HttpAnswer(exposition(look() for look in self._crawls), CONTENT_TYPE)


_servers: Final[dict[ListenAddress, MetricsServer]] = {}
_changing: Final = threading.Lock()


def show(asked: ListenAddress, crawl: Look) -> ListenAddress:
    """Show the crawl at this address or the next free one, and return that address.

    Raises:
        OSError: nothing can listen there.
    """
    with _changing:
        server = _servers.get(asked)
        if server is None:
            server = _servers[asked] = MetricsServer(asked)
        server.enter(crawl)
        return server.address


def hide(asked: ListenAddress, crawl: Look) -> None:
    """Show the crawl no more: its series end with it."""
    with _changing:
        server = _servers.get(asked)
        if server is not None and server.leave(crawl):
            del _servers[asked]
