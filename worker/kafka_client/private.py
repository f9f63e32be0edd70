"""Parts of kafka-python that have no public name and that workers and the plugin cannot do without.

Another version may lack them, so pyproject.toml bounds kafka-python to the minor versions with which the tests of this
module have passed.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final, NamedTuple

import kafka
from kafka import KafkaAdminClient, KafkaProducer, errors
from kafka.net.compat import KafkaNetClient
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport
from kafka.producer.sender import Sender

CLOSE_SECONDS: Final = 1.0
"""How long the end of a producer may take that has nothing more to send."""


class Part(NamedTuple):
    """An attribute of a class, or one that its constructor gives to every object."""

    owner: type
    name: str

    @property
    def is_there(self) -> bool:
        """Whether the installed kafka-python has it."""
        return hasattr(self.owner, self.name) or self.name in self.owner.__init__.__code__.co_names  # type: ignore[misc]


PARTS: Final = (
    Part(KafkaAdminClient, "_net"),
    Part(KafkaConnectionManager, "_auth_failures"),
    Part(KafkaConnectionManager, "_build_transport"),
    Part(KafkaNetClient, "_manager"),
    Part(KafkaProducer, "_sender"),
    Part(KafkaSSLTransport, "_sock_recv"),
    Part(KafkaTCPTransport, "_sock_recv"),
    Part(NetworkSelector, "stop"),
    Part(Sender, "force_close"),
)
"""What this module touches."""


def lacking(parts: Iterable[Part]) -> list[str]:
    """A sentence for each part that the installed kafka-python does not have."""
    return [
        f"kafka-python {kafka.__version__} has no {part.owner.__module__}.{part.owner.__qualname__}.{part.name}: bound "
        "kafka-python to earlier versions in pyproject.toml, or find out what took its place"
        for part in parts
        if not part.is_there
    ]


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
                received, error = receive()
                return (received, None) if received else (received, error)  # the end is read again

            transport._sock_recv = receive_first
            return transport

        self._manager._build_transport = build_attentive


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


def cut_off(producer: Any) -> None:
    """Close a producer at once; what it has not delivered is not sent any more.

    ``close`` begins with a flush, and where that times out it raises before it stops the network thread, which then
    runs for ever and sends its records late. So that thread is told by itself; kafka-python has no public way.
    """
    producer._sender.force_close()
    with suppress(Exception):
        producer.close(timeout=CLOSE_SECONDS)
