"""Ports on this machine: whether one is free, which one is, and whether a Kafka broker answers on it."""

from __future__ import annotations

import random
import socket
import struct
from typing import Final

from crawler_plugin.wire.errors import Unavailable
from worker.broker.configuration import HOST

FREE_PORTS: Final = range(20_000, 32_000)
"""Below the ports that the system gives to outgoing connections (from 32,768 on Linux, 49,152 elsewhere): while the
broker is away, a client that reconnects could get its very port, connect to itself and keep it taken."""

_METADATA: Final = 3
_METADATA_VERSION: Final = 1
_ANSWER_LIMIT: Final = 1024 * 1024


def is_free(port: int) -> bool:
    """Whether a server could listen on ``port`` of 127.0.0.1 now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Java does: TIME_WAIT does not prevent it
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError):
            return False
    return True


def free_port(*, other_than: int | None = None) -> int:
    """A port that is free now; another process may still take it before it is used.

    Raises:
        Unavailable: none of many tried was free.
    """
    for port in random.SystemRandom().sample(FREE_PORTS, 200):
        if port != other_than and is_free(port):
            return port
    raise Unavailable(f"no free port from {FREE_PORTS.start} to {FREE_PORTS.stop - 1} on {HOST}: close something")


def broker_answers(port: int, *, timeout_s: float = 2.0) -> bool:
    """Whether a Kafka broker on ``port`` answers a Metadata request and names itself as a live broker.

    A broker opens its port before the controller lets it lead partitions; only from then on does it stand in the
    answer, and topics can be made. The request is written by hand (Kafka protocol, Metadata version 1), since this part
    of the program has no client library.
    """
    header = struct.pack(">hhih", _METADATA, _METADATA_VERSION, 1, -1)
    request = header + struct.pack(">i", 0)  # no topics, only brokers
    try:
        with socket.create_connection((HOST, port), timeout=timeout_s) as connection:
            connection.settimeout(timeout_s)
            connection.sendall(struct.pack(">i", len(request)) + request)
            (length,) = struct.unpack(">i", _read(connection, 4))
            return 0 < length < _ANSWER_LIMIT and port in _broker_ports(_read(connection, length))
    except (OSError, struct.error, EOFError):
        return False


def _broker_ports(answer: bytes) -> list[int]:
    """Ports of the brokers in an answer: correlation id, count, then (node id, host, port, rack) of each."""
    _, count = struct.unpack_from(">ii", answer)
    position, ports = 8, []
    for _ in range(count):
        (length,) = struct.unpack_from(">h", answer, position + 4)
        position += 6 + length
        port, rack = struct.unpack_from(">ih", answer, position)
        position += 6 + max(rack, 0)
        ports.append(port)
    return ports


def _read(connection: socket.socket, count: int) -> bytes:
    chunks = bytearray()
    while len(chunks) < count:
        chunk = connection.recv(count - len(chunks))
        if not chunk:
            raise EOFError
        chunks += chunk
    return bytes(chunks)
