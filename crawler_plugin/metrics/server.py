"""Shows what the crawls of this process count at ``http://HOST:PORT/metrics``, from one thread.

Several crawls of one process that ask for the same address share a server: their series differ by spider and crawl.
Several processes on one machine cannot, so a port that is taken gives way to the next free one, as a worker's does.
"""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from crawler_plugin.metrics.declared import CrawlNumbers, exposition
from crawler_plugin.wire.http_server import BACKLOG, HttpServer, Reply

LOCAL: Final = "127.0.0.1"
PORTS_TRIED: Final = 100
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_LARGEST_PORT: Final = 65535

Look: TypeAlias = Callable[[], CrawlNumbers]
"""Looks at one crawl; called in the server's thread."""


class ListenAddress(NamedTuple):
    """Where metrics are asked for. Port 0 takes a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class MetricsServer:
    """Serves from when it is made until the last crawl has left.

    Raises:
        OSError: this host is none of this machine's, or no port of a hundred is free.
    """

    def __init__(self, asked: ListenAddress) -> None:
        listener = _listener(asked)
        self.address = ListenAddress(*listener.getsockname()[:2])
        self._crawls: tuple[Look, ...] = ()
        self._server = HttpServer(listener, self._reply, "dedup-metrics")

    def enter(self, crawl: Look) -> None:
        """Show this crawl, too."""
        self._crawls = (*self._crawls, crawl)

    def leave(self, crawl: Look) -> bool:
        """Show it no more; whether it was the last one, and the server is closed."""
        self._crawls = tuple(other for other in self._crawls if other != crawl)
        if not self._crawls:
            self._server.close()
        return not self._crawls

    def _reply(self, head: bytes) -> Reply:
        method, _, rest = head.partition(b"\r\n")[0].partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method not in (b"GET", b"HEAD"):
            return _answer("405 Method Not Allowed", b"Ask with GET.\n")
        if path != b"/metrics":
            return _answer("404 Not Found", b"There is /metrics.\n")
        return _answer("200 OK", exposition(look() for look in self._crawls), has_body=method == b"GET")


_servers: Final[dict[ListenAddress, MetricsServer]] = {}
_changing: Final = threading.Lock()


def show(asked: ListenAddress, crawl: Look) -> ListenAddress:
    """Have the crawl shown at this address or the next free one, which is returned.

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
    """The crawl has ended: its series end, too."""
    with _changing:
        server = _servers.get(asked)
        if server is not None and server.leave(crawl):
            del _servers[asked]


def _listener(asked: ListenAddress) -> socket.socket:
    last = min(asked.port + PORTS_TRIED, _LARGEST_PORT + 1) if asked.port else 1
    for port in range(asked.port, last):
        family, kind, protocol, _, address = socket.getaddrinfo(
            asked.host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(BACKLOG)
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE or port == last - 1:
                raise
        else:
            return listener
    raise AssertionError("the last port that was tried has either listened or raised")


def _answer(status: str, body: bytes, *, has_body: bool = True) -> Reply:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {CONTENT_TYPE}\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return Reply(head.encode() + (body if has_body else b""), keep=False)
