"""Lines between workers and the broker that can be cut, while both ends live.

Each line is a listener of the broker's, which clients reach only through a relay: the broker tells them the relay's
port. While a line is cut, the relay still takes connections and bytes, as far as buffers go, but passes nothing on.
Afterwards it passes on the bytes late, or drops the connections, as routers do.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, Self
from unittest.mock import patch

from worker.broker import server
from worker.broker.configuration import HOST, server_properties
from worker.broker.ports import free_port

_PIECE: Final = 64 * 1024


class Line:
    """One relay, from a port of its own to one of the broker's listeners; it runs in the loop of ``Lines``."""

    def __init__(self, listener: int, loop: asyncio.AbstractEventLoop) -> None:
        self.port = free_port(other_than=listener)
        self.listener = listener
        self._loop = loop
        self._whole = asyncio.Event()
        self._whole.set()
        self._open: set[asyncio.StreamWriter] = set()

    @property
    def bootstrap(self) -> str:
        """The address to which a client of this line connects."""
        return f"{HOST}:{self.port}"

    @property
    def is_cut(self) -> bool:
        return not self._whole.is_set()

    def cut(self) -> None:
        """From now on pass nothing on, in either direction."""
        self._loop.call_soon_threadsafe(self._whole.clear)

    def mend(self, *, drop: bool) -> None:
        """Pass bytes on again, first those that were taken in the meantime; with ``drop`` end the earlier connections
        instead."""

        def mended() -> None:
            if drop:
                for writer in self._open:
                    writer.transport.abort()
            self._whole.set()

        self._loop.call_soon_threadsafe(mended)

    async def serve(self) -> None:
        """Begin to listen."""
        await asyncio.start_server(self._relay, HOST, self.port)

    async def _relay(self, near: asyncio.StreamReader, near_writer: asyncio.StreamWriter) -> None:
        await self._whole.wait()
        try:
            far, far_writer = await asyncio.open_connection(HOST, self.listener)
        except OSError:  # the broker is away
            near_writer.transport.abort()
            return
        ends = {near_writer, far_writer}
        self._open |= ends
        try:
            await asyncio.gather(self._pass_on(near, far_writer), self._pass_on(far, near_writer))
        finally:
            self._open -= ends
            for writer in ends:
                writer.transport.abort()

    async def _pass_on(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await source.read(_PIECE):
                await self._whole.wait()
                target.write(piece)
                await target.drain()
        target.transport.abort()


class Lines:
    """``count`` lines to a broker that is started within ``broker_listens``."""

    def __init__(self, count: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="lines", daemon=True)
        self.all: Final = [Line(free_port(), self._loop) for _ in range(count)]

    def __enter__(self) -> Self:
        self._thread.start()
        for line in self.all:
            asyncio.run_coroutine_threadsafe(line.serve(), self._loop).result()
        return self

    def __exit__(self, *raised: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    @contextmanager
    def broker_listens(self) -> Iterator[None]:
        """A broker that is started inside the block also has a listener for each line, and has it again whenever it
        comes back."""
        with patch.object(server, "server_properties", self._properties):
            yield

    def _properties(self, port: int, controller_port: int) -> dict[str, str]:
        properties = server_properties(port, controller_port)
        names = [(f"LINE{number}", line) for number, line in enumerate(self.all)]
        listeners = [f"{name}://{HOST}:{line.listener}" for name, line in names]
        advertised = [f"{name}://{HOST}:{line.port}" for name, line in names]
        return properties | {
            "listeners": ",".join([properties["listeners"], *listeners]),
            "advertised.listeners": ",".join([properties["advertised.listeners"], *advertised]),
            "listener.security.protocol.map": ",".join(
                [properties["listener.security.protocol.map"], *(f"{name}:PLAINTEXT" for name, _ in names)]
            ),
        }
