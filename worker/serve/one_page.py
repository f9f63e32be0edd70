"""A request that holds one page, as it was fetched or as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from worker.serve.asked_pages import RequestRefused, page_of_body, page_of_json
from worker.serve.pieces import Pieces
from worker.serve.room import PAGE_BYTES
from worker.serve.service import Service


class _Answers(Protocol):
    def answer(self, status: int, body: bytes) -> None: ...


class OnePage:
    """Gathers the body, in memory that was set apart for it before.

    Args:
        about: what the query says of the page; nothing where the page is JSON.
        length: bytes of the body, where the request says so.

    Raises:
        RequestRefused: it is too large, or there is no room now.
    """

    def __init__(
        self, service: Service, exchange: _Answers, about: Mapping[str, object], content_type: str, length: int | None
    ) -> None:
        self._service: Final = service
        self._exchange: Final = exchange
        self._about: Final = about
        self._content_type: Final = content_type
        self._most: Final = service.most_bytes if about else most_of_json(service)
        self._pieces: Final = Pieces()
        self._is_known: Final = length is not None
        self._held = 0
        self._check(length or 0)
        self._hold(PAGE_BYTES + (length or 0))

    def take(self, chunk: bytes) -> None:
        if not self._is_known:
            self._check(self._pieces.size + len(chunk))
            self._hold(len(chunk))
        self._pieces.add(chunk)

    def end(self) -> None:
        body = self._pieces.take()
        page = page_of_body(self._about, self._content_type, body) if self._about else page_of_json(body)
        held, self._held = self._held, 0
        self._service.judge(page, held, self._exchange.answer)

    def gone(self) -> None:
        self._service.room.free(self._held, judged=False)
        self._held = 0

    def _hold(self, size: int) -> None:
        self._service.room.take(size)
        self._held += size

    def _check(self, size: int) -> None:
        if size > self._most:
            raise too_large(self._most)


def most_of_json(service: Service) -> int:
    """Bytes of a page as JSON: base64 and escapes make it longer."""
    return 2 * service.most_bytes


def too_large(most: int) -> RequestRefused:
    """Of a page of more than ``most`` bytes."""
    return RequestRefused(413, f"the page has more than {most} bytes (topics.max_message_bytes): leave it out")
