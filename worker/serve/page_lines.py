"""A request of many pages, a JSON object a line, which are judged while they come; the answer has a line for each."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable
from typing import Final, Protocol

from tornado.iostream import StreamClosedError

from worker.serve.asked_pages import JSON_LINES, RequestRefused, page_of_json
from worker.serve.one_page import most_of_json, too_large
from worker.serve.pieces import Pieces
from worker.serve.room import PAGE_BYTES
from worker.serve.service import STOPPING, Service, refusal

SILENT_SECONDS: Final = 60.0
"""For so long a client may send nothing of a page, or take nothing of the answer."""
MOST_UNTAKEN: Final = 1 << 24
"""Bytes of the answer, some forty thousand lines, that a client may leave before it is read on. Many read none before
they have sent all."""


_SILENT: Final = "nothing came for a minute, so no more lines are taken: send the lines without an answer again"


class _Connection(Protocol):
    def write(self, chunk: bytes) -> Awaitable[None]: ...

    def close(self) -> None: ...


class _Answers(Protocol):
    @property
    def connection(self) -> _Connection: ...

    def begin(self, status: int, content_type: str, more: dict[str, str], body: bytes) -> Awaitable[None]: ...

    def move_on(self) -> None: ...

    def end(self) -> None: ...


class PageLines:
    """Reads lines as there is room for their pages, and writes the answers in the order of the lines.

    A line that is no page is answered by its error, and costs no other one its verdict.
    """

    def __init__(self, service: Service, exchange: _Answers) -> None:
        self._service: Final = service
        self._exchange: Final = exchange
        self._line: Final = Pieces()
        self._held = 0
        """Bytes that are held for lines that were not handed over."""
        self._lines: Final[deque[list[bytes]]] = deque()
        """A place for the answer of each line, empty until there is one."""
        self._untaken = 0
        self._taken: Final = asyncio.Event()
        self._writing: asyncio.Task[None] | None = None
        self._has_begun = False
        self._is_ended = False
        self._silence: asyncio.TimerHandle | None = None
        self._listens_from: float | None = None
        """Since when the client is to send more; None while it has to wait."""
        self._is_gone = False
        self._listen()

    async def take(self, chunk: bytes) -> None:
        if self._is_ended:
            return
        self._be_patient()
        while self._untaken > MOST_UNTAKEN and not self._is_gone:
            self._taken.clear()
            await self._taken.wait()
        try:
            if not await self._has_room(len(chunk)):
                return
            self._held += len(chunk)
            begin = 0
            while (end := chunk.find(b"\n", begin)) >= 0:
                if not await self._has_room(PAGE_BYTES):
                    return
                self._held += PAGE_BYTES
                self._line.add(chunk[begin:end])
                begin = end + len(b"\n")
                self._hand_over(len(b"\n") + PAGE_BYTES)
            self._line.add(chunk[begin:] if begin else chunk)
            if self._held > (most := most_of_json(self._service)):
                raise too_large(most)
        except RequestRefused as refused:
            self._break_off(refused)
        self._listen()

    def end(self) -> None:
        self._be_patient()
        if self._is_ended:
            return
        self._is_ended = True
        self._hand_over(0)
        self._write_on()

    def stop(self) -> None:
        """Take no more lines."""
        if not self._is_ended:
            self._break_off(RequestRefused(503, STOPPING))

    def gone(self) -> None:
        self._is_gone = self._is_ended = True
        if self._silence is not None:
            self._silence.cancel()
        self._taken.set()
        self._forget_the_line()

    async def _has_room(self, size: int) -> bool:
        """Hold so many bytes, once there is room; false if the batch has ended by then."""
        await self._service.room.wait(size)
        if self._is_ended:
            self._service.room.free(size, judged=False)
        return not self._is_ended

    def _hand_over(self, besides: int) -> None:
        """Have the line judged, for which bytes besides its own are held."""
        held, line = self._line.size + besides, self._line.take()
        self._held -= held
        self._judge(line, held)

    def _forget_the_line(self) -> None:
        self._service.room.free(self._held, judged=False)
        self._held = 0
        self._line.take()

    def _judge(self, line: bytes, held: int) -> None:
        place: list[bytes] = []
        if self._is_gone or not line.strip():
            self._service.room.free(held, judged=False)
            return
        self._exchange.move_on()
        self._lines.append(place)
        try:
            page = page_of_json(line)
        except RequestRefused as refused:
            self._service.room.free(held, judged=False)
            self._put(place, *refusal(refused))
        else:
            self._service.judge(page, held, lambda status, answer: self._put(place, status, answer))

    def _put(self, place: list[bytes], status: int, line: bytes) -> None:
        place.append(line)
        self._untaken += len(line)
        self._write_on()

    def _break_off(self, refused: RequestRefused) -> None:
        """What was submitted is answered, then this."""
        self._is_ended = True
        self._forget_the_line()
        place: list[bytes] = []
        self._lines.append(place)
        self._put(place, *refusal(refused))

    def _write_on(self) -> None:
        if self._writing is None and not self._is_gone:
            self._writing = asyncio.ensure_future(self._write())

    async def _write(self) -> None:
        try:
            while not self._is_gone:
                some = b"".join(self._lines.popleft()[0] for _ in range(self._ready()))
                if some or not self._has_begun:
                    await asyncio.wait_for(self._send(some), SILENT_SECONDS)
                    self._untaken -= len(some)
                    self._taken.set()
                elif self._is_ended and not self._lines:
                    self._exchange.end()
                    return
                else:
                    return
        except (StreamClosedError, TimeoutError):
            self._exchange.connection.close()
            self.gone()  # tornado tells that when it reads on, which waits for answers to be taken
        finally:
            self._writing = None

    def _ready(self) -> int:
        """Answers that can be written: those before the first that is not there yet."""
        return next((number for number, place in enumerate(self._lines) if not place), len(self._lines))

    def _send(self, some: bytes) -> Awaitable[None]:
        if self._has_begun:
            return self._exchange.connection.write(some)
        self._has_begun = True
        return self._exchange.begin(200, JSON_LINES, {}, some)

    def _listen(self) -> None:
        """The client is to go on within ``SILENT_SECONDS``."""
        if not self._is_ended:
            self._listens_from = asyncio.get_running_loop().time()
            if self._silence is None:
                self._look_in(SILENT_SECONDS)

    def _be_patient(self) -> None:
        """It is not the client that keeps the server waiting."""
        self._listens_from = None

    def _look_in(self, seconds: float) -> None:
        self._silence = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        """One timer for all pieces of a request: a new one for each costs more than the piece."""
        self._silence = None
        if self._listens_from is None or self._is_ended:
            return
        left = self._listens_from + SILENT_SECONDS - asyncio.get_running_loop().time()
        if left > 0:
            self._look_in(left)
        else:
            self._break_off(RequestRefused(408, _SILENT))
