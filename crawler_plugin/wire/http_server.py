"""Serves short answers over HTTP with one thread and few connections, however many clients connect and however slow
they are.

``HttpServer(listening(host, port), replying(answer), name)`` is a server: ``answer`` is called with each path.

One thread does all the work and never waits for a single client: it reads heads of requests as they come, answers each
when it is whole, and writes answers as clients take them. So a client costs a socket and some kilobytes, never a
thread:

1. There are at most ``MOST_CONNECTIONS`` connections. One more replaces the connection that has kept the server waiting
   longest; connections without any request so far are replaced first. So a client that sends its request at once gets
   an answer, however many others only connect.
2. The head of a request must be whole within ``HEAD_SECONDS`` of its first byte, or of the connection's beginning, and
   has at most ``HEAD_BYTES``. The client must take the answer within ``ANSWER_SECONDS``.
3. A connection is kept for further requests, with at most ``IDLE_SECONDS`` from one to the next.
"""

from __future__ import annotations

import errno
import logging
import selectors
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

MOST_CONNECTIONS: Final = 64
"""Enough for some Prometheus servers and probes, with one connection each. Each connection is an open file of the
worker."""
HEAD_BYTES: Final = 8192
HEAD_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 30.0
IDLE_SECONDS: Final = 75.0
"""Longer than the usual time between two scrapes, so that both use one connection."""
LINGER_SECONDS: Final = 1.0
"""How long the server goes on reading after its last answer: when a socket is closed with unread bytes, the client may
lose the answer."""
CLOSE_SECONDS: Final = 0.1
"""How long closing waits at most for clients to take their answers."""
BACKLOG: Final = 128
PORTS_TRIED: Final = 100
PLAIN_TEXT: Final = "text/plain; charset=utf-8"

_LARGEST_PORT: Final = 65535
_READ_BYTES: Final = 16 * 1024
_ACCEPTED_AT_ONCE: Final = 32
_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Content-Length: 0\r\nConnection: close\r\n\r\n"
)

_log = logging.getLogger(__name__)


class Reply(NamedTuple):
    """The bytes of an answer, and whether the connection is kept after it."""

    content: bytes
    keep: bool


class HttpAnswer(NamedTuple):
    """The answer for a path."""

    body: bytes
    content_type: str = PLAIN_TEXT
    status: HTTPStatus = HTTPStatus.OK


Answering: TypeAlias = Callable[[str, str], HttpAnswer]
"""Called with a request's path, without its query, and its header ``Accept``."""


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there. Port 0 takes a free port; where the port is taken, the next free one is used.

    Raises:
        OSError: nothing can listen on this host, or none of a hundred ports is free.
    """
    last = min(port + PORTS_TRIED - 1, _LARGEST_PORT) if port else 0
    for tried in range(port, last + 1):
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, tried, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            # A process that starts again finds its old connections in TIME_WAIT. (SO_REUSEPORT would not do: two
            # processes on one port would each get some of the scrapes.)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(BACKLOG)
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            return listener
    raise OSError(errno.EADDRINUSE, f"the ports {port} to {last} are all taken")


def shown(host: str, port: int) -> str:
    """The address as it stands in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def replying(answer: Answering) -> Callable[[bytes], Reply]:
    """The ``reply`` for ``HttpServer``: reads the head of a request and answers GET and HEAD."""

    def reply(head: bytes) -> Reply:
        request = _Request(answer, head)
        return Reply(request.wfile.getvalue(), not request.close_connection)

    return reply


class HttpServer:
    """Serves on a listening socket, in a daemon thread, from its construction until it is closed.

    ``reply`` gets the head of each request, including the empty line at its end. It should not raise.
    """

    def __init__(self, listener: socket.socket, reply: Callable[[bytes], Reply], name: str) -> None:
        self._listener = listener
        self._reply = reply
        self._connections: set[_Connection] = set()
        self._selector = selectors.DefaultSelector()
        self._bell, self._ring = socket.socketpair()
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(self._bell, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening; answers that are on their way have ``CLOSE_SECONDS``."""
        self._ring.send(b"!")
        self._thread.join()
        self._ring.close()

    def _serve(self) -> None:
        try:
            while self._step():
                pass
        finally:
            self._end()

    def _step(self) -> bool:
        """Wait for something to do, and do it; false when the server is to be closed."""
        deadline = min((each.deadline for each in self._connections), default=time.monotonic() + IDLE_SECONDS)
        for key, _ in self._selector.select(max(0.0, deadline - time.monotonic())):
            if key.fileobj is self._bell:
                return False
            if key.fileobj is self._listener:
                self._accept()
            elif key.data in self._connections:
                self._go_on(key.data)
        now = time.monotonic()
        for connection in [each for each in self._connections if each.deadline <= now]:
            self._drop(connection)
        return True

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                accepted, _ = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                # Usually no more files can be opened. That lasts a while, so this thread must pause.
                _log.debug("a connection cannot be accepted: %s", error)
                time.sleep(CLOSE_SECONDS)
                return
            if len(self._connections) >= MOST_CONNECTIONS:
                self._drop(min(self._connections, key=_Connection.importance))
            accepted.setblocking(False)
            connection = _Connection(accepted)
            self._connections.add(connection)
            self._selector.register(accepted, selectors.EVENT_READ, connection)
            self._go_on(connection)  # a prompt client has usually sent its request by now

    def _go_on(self, connection: _Connection) -> None:
        try:
            alive = True
            if connection.unsent:
                connection.write()
            else:
                alive = connection.read()
            if not connection.unsent and (head := connection.head()) is not None:
                connection.begin(self._reply(head) if head else Reply(_TOO_LARGE, False))
                connection.write()
        except BlockingIOError:
            alive = True
        except OSError as error:
            _log.debug("a request was broken off: %s", error)
            alive = False
        except Exception:
            _log.exception("a request cannot be answered; its connection is closed")
            alive = False
        if alive:
            events = selectors.EVENT_WRITE if connection.busy else selectors.EVENT_READ
            self._selector.modify(connection.socket, events, connection)
        else:
            self._drop(connection)

    def _drop(self, connection: _Connection) -> None:
        self._connections.discard(connection)
        self._selector.unregister(connection.socket)
        connection.socket.close()

    def _end(self) -> None:
        self._selector.unregister(self._listener)
        self._selector.unregister(self._bell)
        self._listener.close()
        give_up = time.monotonic() + CLOSE_SECONDS
        while any(each.unsent for each in self._connections) and (left := give_up - time.monotonic()) > 0:
            for key, _ in self._selector.select(left):
                if key.data in self._connections and key.data.unsent:
                    self._go_on(key.data)
        for connection in list(self._connections):
            self._drop(connection)
        self._selector.close()
        self._bell.close()


class _Connection:
    """One client: the received part of its next request, and the unsent part of its last answer."""

    def __init__(self, accepted: socket.socket) -> None:
        self.socket: Final = accepted
        self.unsent: memoryview = memoryview(b"")
        self.since = time.monotonic()
        self.deadline = self.since + HEAD_SECONDS
        self._received = bytearray()
        self._served = False
        self._keep = True

    @property
    def busy(self) -> bool:
        """Whether there is something to write: the client has not taken an answer yet, or the next request has come."""
        return bool(self.unsent) or (self._keep and self._end_of_head() > 0)

    def importance(self) -> tuple[Any, ...]:
        """The rank of the connection: where there are too many, the one with the smallest value is closed."""
        return bool(self.unsent), self._served, self.since

    def read(self) -> bool:
        """Read the received bytes; false if no more will come."""
        if self.busy:
            return True
        some = self.socket.recv(_READ_BYTES)
        if not self._keep:
            return bool(some)
        if not self._received and self._served:
            self.deadline = min(self.deadline, time.monotonic() + HEAD_SECONDS)
        self._received += some
        return bool(some)

    def head(self) -> bytes | None:
        """The head of the next request, taken out of the received bytes; None while it is not whole.

        Empty if it is too long.
        """
        if not self._keep:
            return None
        end = self._end_of_head()
        if end > HEAD_BYTES or (not end and len(self._received) > HEAD_BYTES):
            return b""
        if not end:
            return None
        head = bytes(self._received[:end])
        del self._received[:end]
        return head

    def begin(self, reply: Reply) -> None:
        self.unsent, self._keep = memoryview(reply.content), reply.keep
        self.since = time.monotonic()
        self.deadline = self.since + ANSWER_SECONDS

    def write(self) -> None:
        """Write as much as the client takes; after the last answer of a connection that is not kept, end the sending
        side."""
        while self.unsent:
            self.unsent = self.unsent[self.socket.send(self.unsent) :]
        self._served = True
        self.since = time.monotonic()
        if self._keep:
            self.deadline = self.since + (HEAD_SECONDS if self._received else IDLE_SECONDS)
        else:
            self.deadline = self.since + LINGER_SECONDS
            self._received.clear()
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_WR)

    def _end_of_head(self) -> int:
        """Where the first head ends in the received bytes, behind its empty line; 0 while it is not whole."""
        ends = [at + len(mark) for mark in (b"\r\n\r\n", b"\n\n") if (at := self._received.find(mark)) >= 0]
        return min(ends, default=0)


class _Request(BaseHTTPRequestHandler):
    """One request: its head is here, the answer is written into memory."""

    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"  # of the version before, answers have no status
    server_version = "crawl-dedup"
    sys_version = ""
    error_message_format = "%(code)d %(message)s\n"
    error_content_type = PLAIN_TEXT
    wfile: BytesIO

    def __init__(self, answer: Answering, head: bytes) -> None:
        # Not ``super().__init__``, which serves a socket to its end.
        self.answer = answer
        self.client_address = ("", 0)
        self.rfile = BytesIO(head)
        self.wfile = BytesIO()
        self.close_connection = True
        self.handle_one_request()

    def do_GET(self) -> None:
        """Answer the request. An error here goes to the client and the log, and does not harm the process."""
        if self.headers.get("Transfer-Encoding") or self.headers.get("Content-Length", "0") != "0":
            self.close_connection = True  # the next bytes are the body of a request that should have none
        try:
            path = urlsplit(self.path).path
        except ValueError as error:
            self.close_connection = True
            self._send(HttpAnswer(f"{error}\n".encode(), status=HTTPStatus.BAD_REQUEST))
            return
        try:
            answer = self.answer(path, self.headers.get("Accept", ""))
        except Exception as error:
            _log.exception("%s cannot be answered", self.path)
            told = f"{type(error).__name__}: {error}\n".encode()
            answer = HttpAnswer(told, status=HTTPStatus.INTERNAL_SERVER_ERROR)
        self._send(answer)

    do_HEAD = do_GET

    def _send(self, answer: HttpAnswer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Cache-Control", "no-store")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:
        """Log at ``debug`` only: scrapes come every few seconds."""
        _log.debug(format, *args)
