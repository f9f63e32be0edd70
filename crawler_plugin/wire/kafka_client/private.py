"""Parts of kafka-python that have no public name and that workers and the plugin cannot do without.

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
"""What is read from a connection at a time: kafka-python's four kilobytes are a dozen system calls a page."""
CLOSE_SECONDS: Final = 1.0
"""How long the end of a producer may take that has nothing more to send."""


class AttentiveClient(KafkaNetClient):  # type: ignore[misc]
    """Hears what a broker says right before it hangs up, which is how it refuses a login.

    kafka-python throws away what it has read if the end of the connection is read with it. Clients take this class by
    their option ``kafka_client``.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        build = self._manager._build_transport

        async def build_attentive(*arguments: Any, **named: Any) -> Any:
            transport = await build(*arguments, **named)
            receive = transport._sock_recv

            def receive_first() -> tuple[bytes, Exception | None]:
                received: list[bytes] = []
                with suppress(OSError):  # there is no more now, or will never be: then the next call says so
                    _receive_answer(transport)
                    while some := transport._sock.recv(RECEIVE_BYTES):
                        received.append(some)
                        if not isinstance(transport._sock, ssl.SSLSocket):  # that has more than the system knows of
                            break
                return (b"".join(received), None) if received else receive()

            transport._sock_recv = receive_first
            return transport

        self._manager._build_transport = build_attentive


class ReceivedAnswer(KafkaBytes):  # type: ignore[misc]
    """What gathers an answer of the broker, and is decoded without being copied twice more."""

    def read(self, nbytes: int | None = None) -> bytes | memoryview:
        """As kafka-python's, but all that is left comes as a view."""
        if nbytes is not None:
            return bytes(super().read(nbytes))
        begin = self.tell()
        self.seek(len(self))
        return memoryview(self)[begin:]


def _receive_answer(transport: Any) -> None:
    """Read what there is of an answer that has begun to come right to where it is gathered.

    kafka-python takes it through three further copies, and for each of a megabyte the system has to clear new memory.
    The last byte goes its way, so that it sees the end.
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
    """Why brokers have refused this client since it was made: it asks them nothing more, and mostly does not say so."""
    return list(client._manager._auth_failures.values())


def make_admin(**options: Any) -> Any:
    """A ``KafkaAdminClient``, whose own constructor leaves a thread behind where it finds no broker."""
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
    """What is sent meanwhile may wait for the end; only then is the producer's own thread woken.

    Else it is woken for each batch that a record begins or fills, and each time takes the GIL from those who work.
    """
    sender = producer._sender
    sender.wakeup = _wake_nobody
    try:
        yield
    finally:
        del sender.wakeup
        sender.wakeup()


def leave_at_exit(producer: Any) -> None:
    """Have the exit of the process leave the producer alone, which would flush it for a second.

    Where the broker does not answer, that flush ends in a traceback, the last words of a crawl that has lost nothing.
    """
    producer._unregister_cleanup()


def cut_off(producer: Any) -> None:
    """Close a producer at once; what it has not delivered is not sent any more.

    ``close`` begins with a flush, and where that times out it raises before it stops the network thread, which then
    runs for ever and sends its records late. So that thread is told by itself; kafka-python has no public way.
    """
    producer._sender.force_close()
    with suppress(Exception):
        producer.close(timeout=CLOSE_SECONDS)


def _wake_nobody() -> None:
    """Takes the place of ``Sender.wakeup``."""
