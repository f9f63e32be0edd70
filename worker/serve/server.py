"""``python -m worker serve``: listens, judges until it is told to stop, and answers all that it has taken."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPServerConnectionDelegate
from tornado.iostream import IOStream
from tornado.netutil import bind_sockets

from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.errors import Unavailable, UsageError
from crawler_plugin.wire.http_server import shown
from worker.config import Settings
from worker.local.deduplicator import Deduplicator
from worker.observe.log_lines import announce
from worker.observe.metrics import ServedMetrics
from worker.serve.exchange import Exchange, exchange_of
from worker.serve.judging_thread import JudgingThread
from worker.serve.service import Service

MOST_CONNECTIONS: Final = 512
"""Each is a file that is open; of these a process may mostly have 1,024."""
HEAD_BYTES: Final = 64 * 1024
"""A URL has 8 kB at most, percent-encoded three times as many."""
QUIET_SECONDS: Final = 75.0
"""From one request on a connection to the head of the next one."""
BODY_SECONDS: Final = 60.0
"""For a page to come."""
BACKLOG: Final = 512
_UNBOUNDED: Final = 1 << 62
"""Bytes; bodies are bounded where they are read, so that it is told what is too large."""
_LEAST_TOKEN: Final = 16
_LOOK_SECONDS: Final = 0.02
_LAST_SECONDS: Final = 0.5
"""For so long a service that stops answers 503 on kept connections: the next request may be on its way."""
_BUSY: Final = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
WhenAsked: TypeAlias = Callable[[Callable[[], None]], None]


class ServeTask(NamedTuple):
    """Where to listen, and with which state and token (None: anybody may ask)."""

    state: Path
    host: str
    port: int
    token: bytes | None


def token_in(file: Path) -> bytes:
    """The token that a file holds.

    Raises:
        UsageError: it cannot be read, or holds none.
    """
    try:
        token = file.read_bytes().strip()
    except OSError as error:
        raise UsageError(f"--token-file {file} cannot be read ({error.strerror}): name another one") from error
    if len(token) < _LEAST_TOKEN or not token.isascii() or any(byte <= 32 for byte in token):
        raise UsageError(f"--token-file {file} must hold {_LEAST_TOKEN} ASCII characters or more, without spaces")
    return token


def listening(task: ServeTask) -> list[socket.socket]:
    """Sockets that listen there.

    Raises:
        Unavailable: nothing can listen there.
        UsageError: others than this machine could ask without a token.
    """
    try:
        sockets = bind_sockets(task.port, task.host, backlog=BACKLOG)
    except OSError as error:
        raise Unavailable(
            f"nothing can listen on {shown(task.host, task.port)} ({error.strerror or error}): name another --port, "
            "or 0 for a free one, and a --host of this machine"
        ) from error
    if task.token is None and not all(ipaddress.ip_address(each.getsockname()[0]).is_loopback for each in sockets):
        raise UsageError(
            f"on --host {task.host} other machines could add pages and ask which were seen: name a --token-file, or "
            "listen on 127.0.0.1"
        )
    return sockets


def serve(
    task: ServeTask, sockets: list[socket.socket], settings: Settings, metrics: ServedMetrics, when_asked: WhenAsked
) -> None:
    """Judge until told to stop, answer all pages that were taken, and close the state.

    Args:
        sockets: of ``listening``; who connects before the state is open waits for that.
        when_asked: given what is to be called when the process is asked to stop.

    Raises:
        Stop: as ``Deduplicator``, and when the index or the disk is full.
    """
    local = Deduplicator(task.state, settings)
    asyncio.run(_serve(task, sockets, local, settings, metrics, when_asked))


async def _serve(
    task: ServeTask,
    sockets: list[socket.socket],
    local: Deduplicator,
    settings: Settings,
    metrics: ServedMetrics,
    when_asked: WhenAsked,
) -> None:
    loop = asyncio.get_running_loop()
    judging = JudgingThread(local, metrics.health, loop)
    service = Service(
        local,
        judging,
        metrics,
        most_bytes=settings.topics.max_message_bytes,
        held_bytes=settings.commit.megabytes << 20,
        token=task.token,
    )
    server = BoundedServer(
        _Requests(service),
        service,
        max_header_size=HEAD_BYTES,
        idle_connection_timeout=QUIET_SECONDS,
        body_timeout=BODY_SECONDS,
        max_body_size=_UNBOUNDED,
    )
    server.add_sockets(sockets)
    asked = asyncio.Event()

    def ask() -> None:
        with suppress(RuntimeError):  # it has ended already
            loop.call_soon_threadsafe(asked.set)

    when_asked(ask)
    judging.ended.add_done_callback(lambda done: asked.set())
    metrics.health.report([])
    address = sockets[0].getsockname()
    announce(f"serving on http://{shown(address[0], address[1])}, {counted(local.judged, 'page')} judged so far")
    await asked.wait()
    metrics.health.report(["it is stopping"])
    await _drain(server, service, settings.shutdown.seconds)
    judging.end()
    await judging.ended


async def _drain(server: HTTPServer, service: Service, seconds: float) -> None:
    """Take nothing more, and answer what was taken, if its clients take the answers in so many seconds."""
    server.stop()
    service.is_stopping = True
    exchanges: list[Exchange] = list(service.open)
    for exchange in exchanges:
        exchange.stop()
    loop = asyncio.get_running_loop()
    last = loop.time() + _LAST_SECONDS
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while service.open or (service.quiet and loop.time() < last):
                await asyncio.sleep(_LOOK_SECONDS)
    await server.close_all_connections()


class _Requests(HTTPServerConnectionDelegate):
    def __init__(self, service: Service) -> None:
        self._service: Final = service

    def start_request(self, server_conn: object, request_conn: Any) -> Exchange:
        return exchange_of(self._service, request_conn, server_conn)


class BoundedServer(HTTPServer):
    """Has ``MOST_CONNECTIONS`` at most. One more takes the place of the one whose client has been quiet for longest; it
    is sent away where no client is, but all wait for verdicts."""

    def initialize(self, requests: HTTPServerConnectionDelegate, service: Service, **limits: Any) -> None:  # type: ignore[override]
        """What tornado calls in place of ``__init__``."""
        super().initialize(requests, **limits)
        self._service = service
        self._count = 0

    def handle_stream(self, stream: IOStream, address: tuple[Any, ...]) -> None:
        """Serve a connection, if there is a place for it."""
        if self._count >= MOST_CONNECTIONS:
            quietest = next(iter(self._service.quiet), None)
            if quietest is None:
                stream.write(_BUSY)
                stream.close()
                return
            del self._service.quiet[quietest]
            quietest.stream.close()
        self._count += 1
        super().handle_stream(stream, address)

    def on_close(self, server_conn: object) -> None:
        """A connection has ended."""
        super().on_close(server_conn)
        self._count -= 1
        self._service.quiet.pop(server_conn, None)
