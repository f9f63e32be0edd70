"""Ports: free ones, taken ones, and whether it is Kafka that answers."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from worker.broker.ports import FREE_PORTS, broker_answers, free_port, is_free


@contextmanager
def listening(answer: bytes | None = None) -> Iterator[int]:
    """A port where one caller is accepted and gets ``answer``; None: it gets nothing and stays connected."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        over = threading.Event()

        def serve() -> None:
            caller, _ = server.accept()
            with caller:
                if answer is None:
                    over.wait()
                else:
                    caller.recv(1024)
                    caller.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        over.set()
        thread.join()


def metadata_answer(*ports: int, host: bytes = b"127.0.0.1") -> bytes:
    """An answer as the protocol describes it: Metadata version 1, from the guide's table."""
    brokers = b"".join(struct.pack(">ih", 1, len(host)) + host + struct.pack(">ih", port, -1) for port in ports)
    body = struct.pack(">ii", 1, len(ports)) + brokers + struct.pack(">ii", 1, 0)
    return struct.pack(">i", len(body)) + body


def test_a_free_port_can_be_listened_on() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", free_port()))


def test_free_ports_are_not_among_those_of_outgoing_connections() -> None:
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    if lowest < 32_768:
        pytest.skip(f"this machine gives outgoing connections ports from {lowest} on, below Linux's default")
    assert free_port() < lowest
    assert max(FREE_PORTS) < 32_768


def test_a_port_that_somebody_listens_on_is_not_free() -> None:
    with listening(b"") as port:
        assert not is_free(port)
        assert not broker_answers(port)


@pytest.mark.parametrize("port", [-1, 65_536])
def test_a_number_that_is_no_port_is_not_free(port: int) -> None:
    assert not is_free(port)


@pytest.mark.cluster
def test_a_real_broker_answers(broker: str) -> None:
    assert broker_answers(int(broker.rpartition(":")[2]))


def test_a_port_where_nobody_listens_does_not_answer() -> None:
    assert not broker_answers(free_port())


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"", id="closes at once"),
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n", id="a web server"),
        pytest.param(struct.pack(">i", 2**31 - 1), id="two gigabytes announced"),
        pytest.param(struct.pack(">i", -1), id="a negative length"),
        pytest.param(struct.pack(">i", 4) + b"abcd", id="too short for an answer"),
        pytest.param(struct.pack(">iii", 8, 1, 1_000_000), id="brokers announced that do not come"),
        pytest.param(metadata_answer(), id="no live broker yet"),
        pytest.param(metadata_answer(9), id="a live broker of another port"),
    ],
)
def test_anything_else_than_a_live_broker_does_not_answer(answer: bytes) -> None:
    with listening(answer) as port:
        assert not broker_answers(port)


def test_a_silent_server_does_not_answer() -> None:
    with listening() as port:
        assert not broker_answers(port, timeout_s=0.1)
