"""The parts of kafka-python that workers and the plugin need but that have no public name.

Another version may lack them, so pyproject.toml bounds kafka-python to the minor versions with which the tests of this
module have passed; ``tests/wire/kafka_client/parts.py`` lists what must be there.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from kafka import KafkaAdminClient, errors
from kafka.net.compat import KafkaNetClient
from kafka.protocol.frame import KafkaBytes

RECEIVE_BYTES: Final = 1 << 16
"""Bytes read from a connection at a time: with kafka-python's four kilobytes a page takes a dozen system calls."""
CLOSE_SECONDS: Final = 1.0
"""How long a producer that has nothing more to send may take to end."""


class AttentiveClient(KafkaNetClient):  # type: ignore[misc]
    """Reads a broker's last words before it hangs up: this is how a broker refuses a login.

    kafka-python throws away the bytes that it has read if the end of the connection comes with them. Clients take this
    class through their option ``kafka_client``.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        build = self._manager._build_transport

        async def build_attentive(*arguments: Any, **named: Any) -> Any:
            transport = await build(*arguments, **named)
            receive = transport._sock_recv

            def receive_first() -> tuple[bytes, Exception | None]:
                received: list[bytes] = []
                with suppress(OSError):  # there are no more bytes now, or never will be: then the next call says so
                    _receive_answer(transport)
                    while some := transport._sock.recv(RECEIVE_BYTES):
                        received.append(some)
                        if not isinstance(transport._sock, ssl.SSLSocket):  # SSL buffers bytes itself
                            break
                return (b"".join(received), None) if received else receive()

            transport._sock_recv = receive_first
            return transport

        self._manager._build_transport = build_attentive


class ReceivedAnswer(KafkaBytes):  # type: ignore[misc]
    """The buffer for an answer of the broker, which is decoded without two more copies."""

    def read(self, nbytes: int | None = None) -> bytes | memoryview:
        """Like kafka-python's ``read``, but the whole rest comes as a view."""
        if nbytes is not None:
            return bytes(super().read(nbytes))
        begin = self.tell()
        self.seek(len(self))
        return memoryview(self)[begin:]


def _receive_answer(transport: Any) -> None:
    """Read the available bytes of an answer that has begun to come directly into its buffer.

    kafka-python makes three further copies, and for each copy of a megabyte the system has to clear new memory. The
    last byte goes through kafka-python, so that it sees the end.
    """
    parser = transport.get_protocol() and transport.get_protocol().parser
    if parser is None or not parser._receiving:
        return
    answer = parser._rbuffer
    answer.__class__ = ReceivedAnswer
    with memoryview(answer) as whole:
        while (here := answer.tell()) < len(whole) - 1:
            count = transport._sock.recv_into(whole[here:-1])
            if not count:
                return
            answer.seek(here + count)


def login_failures(client: Any) -> list[Exception]:
    """Why brokers have refused this client since it was made: the client then sends them nothing more, and mostly does
    not say so."""
    return list(client._manager._auth_failures.values())


def make_admin(**options: Any) -> Any:
    """Make a ``KafkaAdminClient``. Its own constructor leaves a thread behind where it finds no broker."""
    admin = KafkaAdminClient.__new__(KafkaAdminClient)
    try:
        admin.__init__(**options)
    except errors.KafkaError:
        if hasattr(admin, "_net"):
            admin._net.stop()
        raise
    return admin


@contextmanager
def sent_together(producer: Any) -> Iterator[None]:
    """Records sent inside the block may wait for its end; only then is the producer's own thread woken.

    Otherwise the thread wakes for each batch that a record begins or fills, and each time takes the GIL from working
    threads.
    """
    sender = producer._sender
    sender.wakeup = _wake_nobody
    try:
        yield
    finally:
        del sender.wakeup
        sender.wakeup()


def leave_at_exit(producer: Any) -> None:
    """Keep the exit of the process from flushing the producer for a second.

    Where the broker does not answer, that flush ends in a traceback at the end of a crawl that has lost nothing.
    """
    producer._unregister_cleanup()


def cut_off(producer: Any) -> None:
    """Close a producer at once; records that it has not delivered are not sent any more.

    ``close`` begins with a flush. Where that times out, it raises before it stops the network thread, which then runs
    for ever and sends its records late. So this stops the thread directly; kafka-python has no public way.
    """
    producer._sender.force_close()
    with suppress(Exception):
        producer.close(timeout=CLOSE_SECONDS)


def _wake_nobody() -> None:
    """Takes the place of ``Sender.wakeup``."""
