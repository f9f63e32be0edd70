"""Services in a thread of this process, and what is asked of them over real connections."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from email.message import Message
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from tests.waiting import DEADLINE_SECONDS
from worker.config import Settings
from worker.observe.metrics import ServedMetrics
from worker.serve.server import ServeTask, listening, serve

MOST_BYTES: Final = 128 * 1024
"""Of a page."""
SMALL: Final = {
    "page": {"processes": 1},
    "topics": {"max_message_bytes": MOST_BYTES},
    "commit": {"megabytes": 1},
    "index": {"memory_mb": 0},
}
TEXT: Final = "one saucer glides over the old harbour at night and is gone before the master of the port has looked up"


def text_of(name: str) -> str:
    """A text that is near to no other one's."""
    return " ".join(f"{word}{name}" for word in TEXT.split())


class Reply(NamedTuple):
    status: int
    headers: Message
    body: bytes

    @property
    def row(self) -> dict[str, Any]:
        """The body as a JSON object."""
        row: dict[str, Any] = json.loads(self.body)
        return row

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The objects of its lines."""
        return [json.loads(line) for line in self.body.splitlines()]


class Served:
    """A service at ``port``. ``stop`` asks it to end and waits; ``raised`` is then what it has ended by."""

    def __init__(self, state: Path, settings: Settings, token: bytes | None) -> None:
        task = ServeTask(state, "127.0.0.1", 0, token)
        sockets = listening(task)
        self.port: Final[int] = sockets[0].getsockname()[1]
        self.metrics: Final = ServedMetrics()
        self.raised: BaseException | None = None
        self._stops: list[Callable[[], None]] = []
        self._begun = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(task, sockets, settings), daemon=True)
        self._thread.start()

    def _run(self, task: ServeTask, sockets: list[socket.socket], settings: Settings) -> None:
        try:
            serve(task, sockets, settings, self.metrics, self._hear)
        except BaseException as error:
            self.raised = error
        finally:
            self._begun.set()
            for each in sockets:
                each.close()

    def _hear(self, stop: Callable[[], None]) -> None:
        self._stops.append(stop)
        self._begun.set()

    def begin_to_stop(self) -> None:
        assert self._begun.wait(DEADLINE_SECONDS)
        for stop in self._stops:
            stop()

    def stop(self) -> None:
        self.begin_to_stop()
        self.wait()

    def wait(self) -> None:
        self._thread.join(DEADLINE_SECONDS)
        assert not self._thread.is_alive()

    def ask(self, method: str, path: str, body: bytes | Iterator[bytes] | None = None, **headers: str) -> Reply:
        """One request on a connection of its own; ``_`` in the names of headers is ``-``."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_SECONDS)) as connection:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named, encode_chunked=not isinstance(body, bytes | None))
            response = connection.getresponse()
            return Reply(response.status, response.headers, response.read())

    def judge(self, url: str, body: bytes = TEXT.encode(), **about: str) -> Reply:
        """``POST /judge`` of one page."""
        return self.ask("POST", f"/judge?{urlencode({'url': url} | about)}", body, Content_Type="text/html")

    def judge_lines(self, *lines: bytes) -> Reply:
        """``POST /judge`` of JSON lines."""
        return self.ask("POST", "/judge", b"\n".join(lines), Content_Type="application/x-ndjson")

    def connected(self, said: bytes = b"") -> socket.socket:
        client = socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE_SECONDS)
        client.sendall(said)
        return client


@contextmanager
def serving(state: Path, token: bytes | None = None, **sections: dict[str, Any]) -> Iterator[Served]:
    """A service, which is asked to stop at the end; ``sections`` are settings besides ``SMALL``."""
    served = Served(state, Settings.model_validate(SMALL | sections), token)
    try:
        yield served
    finally:
        served.stop()
    assert served.raised is None


def page(url: str, text: str = TEXT, **fields: object) -> bytes:
    """A line."""
    return json.dumps({"url": url, "text": text} | fields).encode()


def all_that_comes(client: socket.socket) -> bytes:
    """Up to the end of the connection."""
    parts = []
    try:
        while part := client.recv(65536):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)
