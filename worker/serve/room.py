"""Bounds the bytes of pages that are in memory, from their first byte to their verdict."""

from __future__ import annotations

import asyncio
from typing import Final

from worker.serve.asked_pages import RequestRefused

PAGE_BYTES: Final = 1024
"""What a page takes besides its own bytes."""
_FULL: Final = "there are as many pages here as commit.megabytes allows: send this again in a second"


class RoomForPages:
    """What of ``most`` bytes is free. A single page may take more, if it is alone. Belongs to one event loop."""

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self._held = 0
        self._judged = 0
        """Bytes among them of pages that will have a verdict, whatever their clients do."""
        self._freed = asyncio.Event()

    def take(self, size: int) -> None:
        """Hold so many bytes.

        Raises:
            RequestRefused: there are not so many.
        """
        if self._held and self._held + size > self._most:
            raise RequestRefused(503, _FULL)
        self._held += size

    async def wait(self, size: int) -> None:
        """The same, once other pages have their verdicts.

        Raises:
            RequestRefused: no other page would make room: all wait for their clients.
        """
        while True:
            try:
                self.take(size)
            except RequestRefused:
                if not self._judged:
                    raise
                self._freed.clear()
                await self._freed.wait()
            else:
                return

    def judging(self, size: int) -> None:
        """So many of the bytes that are held are of a page that was submitted."""
        self._judged += size

    def free(self, size: int, *, judged: bool) -> None:
        """Hold them no more."""
        self._held -= size
        self._judged -= size if judged else 0
        self._freed.set()
