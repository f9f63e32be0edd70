"""Says over HTTP whether the worker lives, whether it is ready, and what it counts.

``/metrics``
    The exposition, as text or as OpenMetrics, whichever is asked for.
``/livez``
    200 while the loop goes round; else 503, and whoever supervises the worker should start it anew.
``/readyz``
    200 while the worker does all that is its own; else 503 with what is missing, a line each. Not ready is no reason to
    start it anew: restoring takes its time, and a broker that is away comes back.
``/hosts``
    All hosts with their pages by outcome, as JSON.
"""

from __future__ import annotations

import errno
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from types import TracebackType
from typing import Any, Final, Protocol, Self
from urllib.parse import urlsplit

from worker.errors import Unavailable

ALIVE_SECONDS: Final = 120.0
"""A pass may be this old. While the broker is away a pass waits for several of its time-outs in a row: a shorter limit
would have the supervisor kill a worker that only waits."""
HEARD_SECONDS: Final = 30.0
"""The broker is asked every five seconds, with patience for slow answers."""
PORTS_TRIED: Final = 100
REQUEST_SECONDS: Final = 30.0
"""A connection without a request is closed after this time. Longer than scrape intervals are, so that they reuse it."""
CLOSE_SECONDS: Final = 0.1
"""Closing takes this long at most."""
PATHS: Final = ("/metrics", "/livez", "/readyz", "/hosts")

_LARGEST_PORT: Final = 65535
_log = logging.getLogger(__name__)


class Health:
    """How the worker does. The worker's thread writes; any thread asks. Each write replaces one reference as a whole.

    ``clock`` is in seconds and monotonic, the same as the loop's.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._passed = clock()
        self._heard: float | None = None
        self._missing: tuple[str, ...] = ("the worker has not begun",)

    def beat(self, now: float) -> None:
        """The loop has gone round."""
        self._passed = now

    def heard(self) -> None:
        """The broker has answered."""
        self._heard = self._clock()

    def report(self, missing: Iterable[str]) -> None:
        """What keeps the worker from doing all that is its own; nothing, if it does."""
        self._missing = tuple(missing)

    @property
    def age(self) -> float:
        """Seconds since the last pass; before the first one, since the start."""
        return max(0.0, self._clock() - self._passed)

    def not_alive(self) -> list[str]:
        """Why the worker should be started anew; empty while it lives."""
        age = self.age
        if age <= ALIVE_SECONDS:
            return []
        return [f"the loop's last pass was {age:.0f} s ago, more than {ALIVE_SECONDS:g} s"]

    def not_ready(self) -> list[str]:
        """What is missing; empty while the worker does all that is its own."""
        return [*self.not_alive(), *self._missing, *self._silence()]

    def _silence(self) -> list[str]:
        heard = self._heard
        if heard is None:
            return ["the broker has not answered yet"]
        silent = self._clock() - heard
        return [f"the broker last answered {silent:.0f} s ago"] if silent > HEARD_SECONDS else []


class Exposes(Protocol):
    """What the server shows."""

    @property
    def health(self) -> Health:
        """For ``/livez`` and ``/readyz``."""

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """Body and content type of ``/metrics`` for a request's header ``Accept``."""

    def hosts(self) -> bytes:
        """Body of ``/hosts``."""


class HealthServer:
    """Serves in daemon threads from when it is made until it is closed.

    Port 0 takes a free one. A port that is taken gives way to the next free one above it, so that several workers on
    one machine need no settings of their own: ``address`` says which it became.

    Raises:
        Unavailable: nothing can listen on this host, or no port of a hundred is free.
    """

    def __init__(self, exposes: Exposes, host: str, port: int) -> None:
        self._server = _listener(exposes, host, port)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(CLOSE_SECONDS,), name="health", daemon=True
        )
        self._thread.start()

    @property
    def host(self) -> str:
        """The address that it listens on."""
        return str(self._server.server_address[0])

    @property
    def port(self) -> int:
        """The port that it became."""
        return int(self._server.server_address[1])

    @property
    def address(self) -> str:
        """``http://host:port``, without a path."""
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    def close(self) -> None:
        """Listen no more; requests that are being answered are answered."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class _Server(ThreadingMixIn, TCPServer):
    """Not ``http.server.HTTPServer``: that asks the name service for the host's name before it listens."""

    daemon_threads = True
    allow_reuse_address = True  # a worker that starts again finds its old connections in TIME_WAIT
    allow_reuse_port = False  # two workers on one port would each get some of the scrapes
    request_queue_size = 32

    def __init__(self, exposes: Exposes, family: socket.AddressFamily, address: tuple[Any, ...]) -> None:
        self.exposes = exposes
        self.address_family = family
        super().__init__(address, _Request)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away in the middle of its request, mostly."""
        _log.debug("a request from %s was broken off", client_address, exc_info=True)


def _listener(exposes: Exposes, host: str, port: int) -> _Server:
    last = min(port + PORTS_TRIED, _LARGEST_PORT + 1) if port else 1
    for tried in range(port, last):
        try:
            family, _, _, _, address = socket.getaddrinfo(
                host or None, tried, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            server = _Server(exposes, family, address)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                continue
            raise Unavailable(
                f"metrics cannot listen on {host}:{tried} ({error.strerror or error}): set metrics.host to an address "
                "of this machine (127.0.0.1, or 0.0.0.0 for all), metrics.port to 0 or one from 1024 on"
            ) from error
        if port and tried != port:
            _log.warning("metrics.port %d is taken; metrics are on %d", port, tried)
        return server
    raise Unavailable(
        f"metrics cannot listen on {host}: the ports {port} to {last - 1} are all taken; set metrics.port to a free "
        "one, or to 0, which takes any"
    )


class _Request(BaseHTTPRequestHandler):
    """One request to one of ``PATHS``."""

    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "crawl-dedup"
    sys_version = ""
    timeout = REQUEST_SECONDS

    def do_GET(self) -> None:
        """Answer; what fails here is told to the client and the log, and costs the worker nothing."""
        try:
            self._answer()
        except OSError:
            raise
        except Exception as error:
            _log.exception("%s cannot be answered", self.path)
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(error).__name__}: {error}\n".encode())

    do_HEAD = do_GET

    def _answer(self) -> None:
        exposes, path = self.server.exposes, urlsplit(self.path).path
        if path == "/metrics":
            body, content_type = exposes.exposition(self.headers.get("Accept", ""))
            self._send(HTTPStatus.OK, body, content_type)
        elif path == "/livez":
            self._judge("alive", exposes.health.not_alive())
        elif path == "/readyz":
            self._judge("ready", exposes.health.not_ready())
        elif path == "/hosts":
            self._send(HTTPStatus.OK, exposes.hosts(), "application/json")
        else:
            self._send(HTTPStatus.NOT_FOUND, f"There is {', '.join(PATHS)}.\n".encode())

    def _judge(self, good: str, missing: list[str]) -> None:
        status = HTTPStatus.SERVICE_UNAVAILABLE if missing else HTTPStatus.OK
        self._send(status, "".join(f"{line}\n" for line in missing or [good]).encode())

    def _send(self, status: HTTPStatus, body: bytes, content_type: str = "text/plain; charset=utf-8") -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Scrapes every few seconds are no news."""
        _log.debug("%s %s", self.client_address[0], format % args)
