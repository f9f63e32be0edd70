"""The answers on the three paths, when they change, and the port."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from crawler_plugin.wire.errors import Unavailable
from crawler_plugin.wire.http_server import HEAD_BYTES, PORTS_TRIED
from tests.observe.exposed import INFO, OPENMETRICS
from worker.observe.health import ALIVE_SECONDS, HEARD_SECONDS, PATHS, Health, HealthServer, Liveness
from worker.observe.metrics import Metrics

LOCAL = "127.0.0.1"


class Clock:
    """Shows the time to which it is set."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def health(clock: Clock) -> Health:
    return Health(clock)


@pytest.fixture
def server(health: Health) -> Iterator[HealthServer]:
    with HealthServer(Metrics(INFO, health=health), LOCAL, 0) as server:
        yield server


def ask(server: HealthServer, path: str, *, method: str = "GET", accept: str = "") -> tuple[int, str, str]:
    """Status, content type, body."""
    with closing(http.client.HTTPConnection(server.host, server.port, timeout=10)) as connection:
        connection.request(method, path, headers={"Accept": accept})
        response = connection.getresponse()
        return response.status, response.headers["Content-Type"], response.read().decode()


def verdict(server: HealthServer, path: str) -> tuple[int, list[str]]:
    status, _, body = ask(server, path)
    return status, body.splitlines()


# /livez


def test_a_worker_that_starts_lives(server: HealthServer) -> None:
    assert verdict(server, "/livez") == (200, ["alive"])


def test_a_worker_lives_while_its_loop_goes_round(server: HealthServer, health: Health, clock: Clock) -> None:
    clock.now += ALIVE_SECONDS
    assert verdict(server, "/livez") == (200, ["alive"])
    clock.now += 1
    status, why = verdict(server, "/livez")
    assert (status, why) == (503, ["the loop's last pass was 121 s ago, more than 120 s"])
    health.beat(clock.now)
    assert verdict(server, "/livez") == (200, ["alive"])


# /readyz


def ready(health: Health, clock: Clock) -> None:
    health.beat(clock.now)
    health.heard()
    health.report([])


def test_what_needs_no_broker_is_ready_without_one(clock: Clock) -> None:
    liveness = Liveness(clock)
    assert liveness.not_ready() == ["it has not begun"]
    liveness.report([])
    assert liveness.not_ready() == []
    clock.now += ALIVE_SECONDS + 1
    assert len(liveness.not_alive()) == len(liveness.not_ready()) == 1


def test_a_worker_that_has_not_begun_is_not_ready(server: HealthServer) -> None:
    status, missing = verdict(server, "/readyz")
    assert status == 503
    assert missing == ["the worker has not begun", "the broker has not answered yet"]


def test_what_is_missing_is_listed_until_nothing_is(server: HealthServer, health: Health, clock: Clock) -> None:
    ready(health, clock)
    health.report(["shard 3 is restoring", "partition 1 is locating"])
    assert verdict(server, "/readyz") == (503, ["shard 3 is restoring", "partition 1 is locating"])
    health.report([])
    assert verdict(server, "/readyz") == (200, ["ready"])


def test_the_silence_of_the_broker_counts_from_its_last_answer_or_from_the_start(health: Health, clock: Clock) -> None:
    clock.now += 7
    assert health.silence == 7
    health.heard()
    clock.now += 2
    assert health.silence == 2


def test_a_broker_that_falls_silent_is_missing(server: HealthServer, health: Health, clock: Clock) -> None:
    ready(health, clock)
    clock.now += HEARD_SECONDS
    assert verdict(server, "/readyz") == (200, ["ready"])
    clock.now += 1
    assert verdict(server, "/readyz") == (503, ["the broker last answered 31 s ago"])
    assert verdict(server, "/livez") == (200, ["alive"])
    health.heard()
    assert verdict(server, "/readyz") == (200, ["ready"])


def test_a_loop_that_hangs_is_not_ready_either(server: HealthServer, health: Health, clock: Clock) -> None:
    ready(health, clock)
    clock.now += ALIVE_SECONDS + 1
    health.heard()
    status, missing = verdict(server, "/readyz")
    assert (status, len(missing)) == (503, 1)


def test_a_scrape_says_the_same(server: HealthServer, health: Health, clock: Clock) -> None:
    assert "\ndedup_ready 0.0\n" in ask(server, "/metrics")[2]
    ready(health, clock)
    clock.now += 7
    body = ask(server, "/metrics")[2]
    assert "\ndedup_ready 1.0\n" in body
    assert "\ndedup_loop_age_seconds 7.0\n" in body


# the other paths


def test_metrics_come_in_the_format_that_is_asked_for(server: HealthServer) -> None:
    status, content_type, body = ask(server, "/metrics")
    assert status == 200
    assert content_type.startswith("text/plain")
    assert "# TYPE dedup_pages_total counter" in body
    status, content_type, body = ask(server, "/metrics?any=thing", accept=OPENMETRICS)
    assert status == 200
    assert content_type.startswith("application/openmetrics-text")
    assert body.endswith("# EOF\n")


@pytest.mark.parametrize("path", ["/", "/metricsx", "/health", "//", "/metrics/"])
def test_any_other_path_is_answered_with_those_there_are(server: HealthServer, path: str) -> None:
    status, _, body = ask(server, path)
    assert status == 404
    assert all(known in body for known in PATHS)


def test_head_is_answered_without_a_body(server: HealthServer) -> None:
    assert ask(server, "/livez", method="HEAD") == (200, "text/plain; charset=utf-8", "")


def test_one_connection_serves_many_scrapes(server: HealthServer) -> None:
    with closing(http.client.HTTPConnection(server.host, server.port, timeout=10)) as connection:
        for _ in range(3):
            connection.request("GET", "/metrics")
            assert b"dedup_ready" in connection.getresponse().read()


def test_a_client_that_goes_away_or_says_nothing_holds_up_nobody(server: HealthServer) -> None:
    with socket.create_connection((server.host, server.port)):
        gone = socket.create_connection((server.host, server.port))
        gone.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        gone.close()
        assert verdict(server, "/livez") == (200, ["alive"])


class Broken:
    """An exposition that fails."""

    def __init__(self) -> None:
        self.health = Health()

    def exposition(self, accept: str) -> tuple[bytes, str]:
        raise ValueError("no numbers today")

    def hosts(self) -> bytes:
        return b""


def test_an_exposition_that_fails_is_told_and_does_not_end_the_server() -> None:
    with HealthServer(Broken(), LOCAL, 0) as server:
        status, _, body = ask(server, "/metrics")
        assert (status, body) == (500, "ValueError: no numbers today\n")
        assert verdict(server, "/livez") == (200, ["alive"])


# clients that do harm


def connected(server: HealthServer, said: bytes = b"") -> socket.socket:
    client = socket.create_connection((server.host, server.port), timeout=10)
    client.sendall(said)
    return client


def all_that_comes(client: socket.socket) -> bytes:
    """All bytes up to the end of the connection."""
    parts = []
    try:
        while part := client.recv(65536):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (b"GET http://x[/ HTTP/1.1\r\n\r\n", 400),
        (b"what is this\r\n\r\n", 400),
        (b"GET /livez HTTP/x\r\n\r\n", 400),
        (b"GET /livez HTTP/9.9\r\n\r\n", 505),
        (b"POST /livez HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 501),
        (b"GET /livez HTTP/1.1\r\nX: " + b"x" * HEAD_BYTES + b"\r\n\r\n", 431),
        (b"x" * (4 * HEAD_BYTES), 431),
        (b"GET /livez HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n", 431),
    ],
)
def test_what_is_no_question_is_said_to_be_none_and_the_connection_ends(
    server: HealthServer, caplog: pytest.LogCaptureFixture, said: bytes, status: int
) -> None:
    with connected(server, said) as client:
        assert all_that_comes(client).startswith(b"HTTP/1.1 %d " % status)
    assert verdict(server, "/livez") == (200, ["alive"])
    assert not caplog.records


def test_a_question_with_a_body_is_answered_and_its_connection_ends(server: HealthServer) -> None:
    said = b"GET /livez HTTP/1.1\r\nContent-Length: 30\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n"
    with connected(server, said) as client:
        assert all_that_comes(client).count(b"HTTP/1.1 ") == 1


def test_questions_that_are_asked_at_once_are_answered_in_turn(server: HealthServer) -> None:
    asked = [b"GET /livez HTTP/1.1\r\n\r\n", b"GET /nothing HTTP/1.1\n\n", b"GET /livez HTTP/1.0\r\n\r\n"]
    with connected(server, b"".join(asked)) as client:
        answers = all_that_comes(client)
    assert [answer[:3] for answer in answers.split(b"HTTP/1.1 ")[1:]] == [b"200", b"404", b"200"]


# ports


def listening(port: int) -> socket.socket:
    taken = socket.socket()
    taken.bind((LOCAL, port))
    taken.listen()
    return taken


def free_ports(count: int) -> int:
    """The first of ``count`` neighbouring free ports."""
    for first in range(20_000, 32_000, count):
        try:
            with ExitStack() as stack:
                for port in range(first, first + count):
                    stack.enter_context(listening(port))
        except OSError:
            continue
        return first
    raise AssertionError(f"no {count} free ports in a row")


def test_port_0_takes_a_free_one_and_says_which(server: HealthServer) -> None:
    assert server.port > 0
    assert server.address == f"http://127.0.0.1:{server.port}"


def test_a_free_port_is_taken_as_it_is() -> None:
    port = free_ports(1)
    with HealthServer(Metrics(INFO), LOCAL, port) as server:
        assert server.port == port


def test_a_port_that_is_taken_gives_way_to_the_next_free_one() -> None:
    first = free_ports(4)
    with (
        listening(first),
        HealthServer(Metrics(INFO), LOCAL, first) as one,
        listening(first + 2),
        HealthServer(Metrics(INFO), LOCAL, first) as other,
    ):
        assert (one.port, other.port) == (first + 1, first + 3)
        assert verdict(other, "/livez")[0] == 200


def test_a_port_is_free_again_at_once_when_the_server_is_closed() -> None:
    port = free_ports(1)
    for _ in range(3):
        with HealthServer(Metrics(INFO), LOCAL, port) as server:
            assert server.port == port
            assert verdict(server, "/livez")[0] == 200


def test_no_free_port_among_a_hundred_is_an_error_with_the_next_move() -> None:
    first = free_ports(PORTS_TRIED)
    with ExitStack() as stack:
        for port in range(first, first + PORTS_TRIED):
            stack.enter_context(listening(port))
        with pytest.raises(Unavailable, match=rf"{first} to {first + PORTS_TRIED - 1} are all taken.*set metrics"):
            HealthServer(Metrics(INFO), LOCAL, first)


def test_the_largest_port_is_the_last_one_tried() -> None:
    try:
        taken = listening(65535)
    except OSError:
        pytest.skip("port 65535 of this machine is taken by somebody else")
    with taken, pytest.raises(Unavailable, match="65535 to 65535"):
        HealthServer(Metrics(INFO), LOCAL, 65535)


@pytest.mark.parametrize("host", ["203.0.113.7", "no-such-host.invalid"])
def test_a_host_that_is_not_this_machine_is_an_error_with_the_next_move(host: str) -> None:
    with pytest.raises(Unavailable, match=rf"cannot listen on {host}.*set metrics\.host") as raised:
        HealthServer(Metrics(INFO), host, 0)
    assert raised.value.exit_code == 3


def test_an_address_of_version_6_stands_in_brackets() -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError as error:
        pytest.skip(f"this machine has no IPv6 loopback address: {error}")
    with HealthServer(Metrics(INFO), "::1", 0) as server:
        assert server.address == f"http://[::1]:{server.port}"
        assert verdict(server, "/livez")[0] == 200


# the end


def test_a_worker_that_leaves_says_so_until_it_was_scraped_once_more(server: HealthServer, health: Health) -> None:
    for _ in range(2):
        assert "\ndedup_leaving 0.0\n" in ask(server, "/metrics")[2]
    health.leaving = True
    scraped: list[str] = []

    def scrape() -> None:
        scraped.append(ask(server, "/metrics")[2])

    prometheus = threading.Timer(0.2, scrape)
    prometheus.start()
    server.wait_for_scrape()
    prometheus.join()
    assert "\ndedup_leaving 1.0\n" in scraped[0]


@pytest.mark.parametrize("before", [0, 1])
def test_nobody_is_waited_for_who_has_not_scraped_twice(server: HealthServer, before: int) -> None:
    for _ in range(before):
        ask(server, "/metrics")
    server.wait_for_scrape(most=1e9)


def test_a_scrape_that_does_not_come_is_not_waited_for_for_long(server: HealthServer) -> None:
    for _ in range(2):
        ask(server, "/metrics")
    server.wait_for_scrape(most=0.01)
