"""Says over HTTP whether the worker lives, whether it is ready, and what it counts.

``/metrics``
    All metrics, as text or as OpenMetrics, whichever is asked for.
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
import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from typing import Final, Protocol, Self
from urllib.parse import urlsplit

from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.http_server import BACKLOG, HttpServer, Reply

ALIVE_SECONDS: Final = 120.0
"""The last pass of the loop may be so old. While the broker is away a pass waits for several time-outs in a row: with a
shorter limit the supervisor would kill a worker that only waits."""
HEARD_SECONDS: Final = 30.0
"""The broker is asked every five seconds, with patience for slow answers."""
PORTS_TRIED: Final = 100
PATHS: Final = ("/metrics", "/livez", "/readyz", "/hosts")

_LARGEST_PORT: Final = 65535
_log = logging.getLogger(__name__)


class Health:
    """Whether the worker lives and is ready. The worker's thread writes, each time one reference; any thread asks.

    ``clock`` is in seconds and monotonic, the same as the loop's.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._passed = self._begun = clock()
        self._heard: float | None = None
        self._missing: tuple[str, ...] = ("the worker has not begun",)

    def beat(self, now: float) -> None:
        """Take note that the loop has gone round."""
        self._passed = now

    def heard(self) -> None:
        """Take note that the broker has answered."""
        self._heard = self._clock()

    def report(self, missing: Iterable[str]) -> None:
        """Take note of what keeps the worker from doing all that is its own, if anything does."""
        self._missing = tuple(missing)

    @property
    def age(self) -> float:
        """Seconds since the last pass; before the first one, since the start."""
        return max(0.0, self._clock() - self._passed)

    @property
    def silence(self) -> float:
        """Seconds since the broker last answered; before it has, since the start."""
        return max(0.0, self._clock() - (self._begun if self._heard is None else self._heard))

    def not_alive(self) -> list[str]:
        """Why the worker should be started anew; empty while it lives."""
        age = self.age
        if age <= ALIVE_SECONDS:
            return []
        return [f"the loop's last pass was {age:.0f} s ago, more than {ALIVE_SECONDS:g} s"]

    def not_ready(self) -> list[str]:
        """What is missing; empty while the worker does all that is its own."""
        missing, heard = [*self.not_alive(), *self._missing], self._heard
        if heard is None:
            missing.append("the broker has not answered yet")
        elif (silent := self._clock() - heard) > HEARD_SECONDS:
            missing.append(f"the broker last answered {silent:.0f} s ago")
        return missing


class Exposes(Protocol):
    """What the server shows."""

    @property
    def health(self) -> Health:
        """For ``/livez`` and ``/readyz``."""

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """Body and content type of ``/metrics`` for a request's header ``Accept``."""

    def hosts(self) -> bytes:
        """Body of ``/hosts``."""


class Starting:
    """What is shown before there is anything to count: the step of the start. It lives, however long that takes."""

    def __init__(self) -> None:
        self.health = Health(clock=lambda: 0.0)

    def say(self, step: str) -> None:
        self.health.report([step])

    def exposition(self, accept: str) -> tuple[bytes, str]:
        return b"", "text/plain; version=0.0.4; charset=utf-8"

    def hosts(self) -> bytes:
        return b"{}"


class HealthServer:
    """Serves in a daemon thread from when it is made until it is closed.

    Port 0 takes a free one. A port that is taken gives way to the next free one above it, so that several workers on
    one machine need no settings of their own: ``address`` says which it became.

    Raises:
        Unavailable: nothing can listen on this host, or no port of a hundred is free.
    """

    def __init__(self, exposes: Exposes, host: str, port: int) -> None:
        listener = _listener(host, port)
        self._address = listener.getsockname()
        self._exposes = exposes
        self._server = HttpServer(listener, self._reply, "health")

    def show(self, exposes: Exposes) -> None:
        self._exposes = exposes

    @property
    def host(self) -> str:
        return str(self._address[0])

    @property
    def port(self) -> int:
        return int(self._address[1])

    @property
    def address(self) -> str:
        """``http://host:port``, without a path."""
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    def close(self) -> None:
        """Listen no more; requests that are being answered are answered."""
        self._server.close()

    def _reply(self, head: bytes) -> Reply:
        request = _Request(self._exposes, head)
        return Reply(request.wfile.getvalue(), not request.close_connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def _listener(host: str, port: int) -> socket.socket:
    last = min(port + PORTS_TRIED, _LARGEST_PORT + 1) if port else 1
    for tried in range(port, last):
        try:
            listener = _listening(host, tried)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                continue
            raise Unavailable(
                f"metrics cannot listen on {host}:{tried} ({error.strerror or error}): set metrics.host to an address "
                "of this machine (127.0.0.1, or 0.0.0.0 for all), metrics.port to 0 or one from 1024 on"
            ) from error
        if port and tried != port:
            _log.warning("metrics.port %d is taken; metrics are on %d", port, tried)
        return listener
    raise Unavailable(
        f"metrics cannot listen on {host}: the ports {port} to {last - 1} are all taken; set metrics.port to a free "
        "one, or to 0, which takes any"
    )


def _listening(host: str, port: int) -> socket.socket:
    family, _, _, _, address = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[
        0
    ]
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        # A worker that starts again finds its old connections in TIME_WAIT. (SO_REUSEPORT would be another thing: two
        # workers on one port would each get some of the scrapes.)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


class _Request(BaseHTTPRequestHandler):
    """One request to one of ``PATHS``: its head is here, the answer is written into memory."""

    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"  # of the version before, answers have no status
    server_version = "crawl-dedup"
    sys_version = ""
    error_message_format = "%(code)d %(message)s\n"
    error_content_type = "text/plain; charset=utf-8"
    wfile: BytesIO

    def __init__(self, exposes: Exposes, head: bytes) -> None:
        # Not ``super().__init__``, which serves a socket to its end.
        self.exposes = exposes
        self.client_address = ("", 0)
        self.rfile = BytesIO(head)
        self.wfile = BytesIO()
        self.close_connection = True
        self.handle_one_request()

    def do_GET(self) -> None:
        """Answer; what fails here is told to the client and the log, and costs the worker nothing."""
        try:
            self._answer()
        except Exception as error:
            _log.exception("%s cannot be answered", self.path)
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(error).__name__}: {error}\n".encode())

    do_HEAD = do_GET

    def _answer(self) -> None:
        exposes = self.exposes
        if self.headers.get("Transfer-Encoding") or self.headers.get("Content-Length", "0") != "0":
            self.close_connection = True  # what comes next is the body of a question that has none
        try:
            path = urlsplit(self.path).path
        except ValueError as error:
            self.close_connection = True
            self._send(HTTPStatus.BAD_REQUEST, f"{error}\n".encode())
            return
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
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log at ``debug`` only: scrapes come every few seconds."""
        _log.debug(format, *args)
