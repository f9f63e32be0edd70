"""Says over HTTP whether the worker lives and whether it is ready, and shows its counts.

``/metrics``
    All metrics, as text or as OpenMetrics, whichever the request asks for.
``/livez``
    200 while the loop goes round; otherwise 503, and the supervisor of the worker should restart it.
``/readyz``
    200 while the worker does all of its own work; otherwise 503 with what is missing, one per line. Not ready is no
    reason to restart it: restoring takes its time, and a broker that is away comes back.
``/hosts``
    All hosts with their pages by outcome, as JSON.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from http import HTTPStatus
from itertools import pairwise
from typing import Final, Protocol, Self

from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.http_server import HttpAnswer, HttpServer, listening, replying, shown

ALIVE_SECONDS: Final = 120.0
"""The greatest age of the loop's last pass. While the broker is away a pass waits for several time-outs in a row: with
a shorter limit the supervisor would kill a worker that only waits."""
HEARD_SECONDS: Final = 30.0
"""The broker is asked every five seconds, with patience for slow answers."""
SCRAPE_SECONDS: Final = 20.0
"""The longest time that a worker that leaves for good waits for Prometheus; supervisors give it half a minute to
end."""
PATHS: Final = ("/metrics", "/livez", "/readyz", "/hosts")

_log = logging.getLogger(__name__)


class Liveness:
    """Whether a program lives and is ready. Its main thread writes one reference each time; any thread asks.

    ``clock`` is in seconds and monotonic, the same as the loop's.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._passed = self._begun = clock()
        self._missing: tuple[str, ...] = ("it has not begun",)

    def beat(self, now: float) -> None:
        """Note that the loop has gone round."""
        self._passed = now

    def report(self, missing: Iterable[str]) -> None:
        """Note the reasons why the program cannot do all of its own work, if there are any."""
        self._missing = tuple(missing)

    @property
    def age(self) -> float:
        """Seconds since the last pass; before the first one, since the start."""
        return max(0.0, self._clock() - self._passed)

    def not_alive(self) -> list[str]:
        """Why the program should be restarted; empty while it lives."""
        age = self.age
        if age <= ALIVE_SECONDS:
            return []
        return [f"the loop's last pass was {age:.0f} s ago, more than {ALIVE_SECONDS:g} s"]

    def not_ready(self) -> list[str]:
        """What is missing; empty while the program does all of its own work."""
        return [*self.not_alive(), *self._missing]


class Health(Liveness):
    """Whether the worker lives and is ready; it is ready only with its broker."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._heard: float | None = None
        self._missing = ("the worker has not begun",)
        self.leaving = False
        """Whether the worker was told to leave for good."""

    def heard(self) -> None:
        """Note that the broker has answered."""
        self._heard = self._clock()

    @property
    def silence(self) -> float:
        """Seconds since the broker last answered; before it has, since the start."""
        return max(0.0, self._clock() - (self._begun if self._heard is None else self._heard))

    def not_ready(self) -> list[str]:
        """What is missing; empty while the worker does all of its own work."""
        missing, heard = super().not_ready(), self._heard
        if heard is None:
            missing.append("the broker has not answered yet")
        elif (silent := self._clock() - heard) > HEARD_SECONDS:
            missing.append(f"the broker last answered {silent:.0f} s ago")
        return missing


class Exposes(Protocol):
    """The content that the server shows."""

    @property
    def health(self) -> Liveness:
        """For ``/livez`` and ``/readyz``."""

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """Body and content type of ``/metrics`` for a request's header ``Accept``."""

    def hosts(self) -> bytes:
        """Body of ``/hosts``."""


class Starting:
    """Shown before there is anything to count: the step of the start. The worker lives, however long that takes."""

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

    Port 0 takes a free one. If a port is taken, the server uses the next free one above it, so that several workers on
    one machine need no settings of their own: ``address`` says which port it got.

    Raises:
        Unavailable: it cannot listen on this host, or none of a hundred ports is free.
    """

    def __init__(self, exposes: Exposes, host: str, port: int) -> None:
        try:
            listener = listening(host, port)
        except OSError as error:
            raise Unavailable(
                f"metrics cannot listen on {host}:{port} ({error.strerror or error}): set metrics.host to an address "
                "of this machine (127.0.0.1, or 0.0.0.0 for all), metrics.port to a free one from 1024 on, or to 0, "
                "which takes any"
            ) from error
        self._address = listener.getsockname()
        if port and self.port != port:
            _log.warning("metrics.port %d is taken; metrics are on %d", port, self.port)
        self._exposes = exposes
        self._scrapes: deque[float] = deque(maxlen=9)
        self._scraped = threading.Event()
        self._server = HttpServer(listener, replying(self._answer), "health")

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
        return f"http://{shown(self.host, self.port)}"

    def wait_for_scrape(self, most: float = SCRAPE_SECONDS) -> None:
        """Return when the metrics were asked for once more, as Prometheus does at regular intervals.

        It waits a second longer than the longest of the last intervals, ``most`` seconds at most, and not at all for a
        client that has not asked twice.
        """
        self._scraped.clear()
        times = list(self._scrapes)
        if times[1:]:
            step = max(later - earlier for earlier, later in pairwise(times))
            self._scraped.wait(min(most, step + 1.0))

    def close(self) -> None:
        """Stop listening; open requests still get their answers."""
        self._server.close()

    def _answer(self, path: str, accept: str) -> HttpAnswer:
        exposes = self._exposes
        if path == "/metrics":
            self._scrapes.append(time.monotonic())
            self._scraped.set()
            return HttpAnswer(*exposes.exposition(accept))
        if path == "/livez":
            return _judged("alive", exposes.health.not_alive())
        if path == "/readyz":
            return _judged("ready", exposes.health.not_ready())
        if path == "/hosts":
            return HttpAnswer(exposes.hosts(), "application/json")
        return HttpAnswer(f"There is {', '.join(PATHS)}.\n".encode(), status=HTTPStatus.NOT_FOUND)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def _judged(good: str, missing: list[str]) -> HttpAnswer:
    status = HTTPStatus.SERVICE_UNAVAILABLE if missing else HTTPStatus.OK
    return HttpAnswer("".join(f"{line}\n" for line in missing or [good]).encode(), status=status)
