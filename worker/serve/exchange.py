"""One request and its answer: what may be asked, by whom, and with which status that is answered."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable
from functools import partial
from http import HTTPStatus
from typing import Any, Final, Protocol, cast

from tornado.http1connection import HTTP1Connection
from tornado.httputil import HTTPHeaders, HTTPMessageDelegate, RequestStartLine, ResponseStartLine

from worker.results.rows import line_of
from worker.serve.asked_pages import JSON, JSON_LINES, RequestRefused, about_page, is_json, url_asked
from worker.serve.one_page import OnePage
from worker.serve.openapi import DESCRIPTION
from worker.serve.page_lines import PageLines
from worker.serve.service import STOPPING, Service

METHODS: Final = {"/judge": "POST", "/seen": "GET", "/openapi.json": "GET"}
_LINGER_SECONDS: Final = 2.0
"""For so long the rest of a request that is refused is read: a socket that is closed with bytes unread takes the answer
back."""
_DAY_SECONDS: Final = 86400.0
_MOST_DIGITS: Final = 18
"""Of a length; tornado refuses longer ones."""
_CHALLENGES: Final = {401: ("WWW-Authenticate", "Bearer"), 503: ("Retry-After", "1")}


class BodyReader(Protocol):
    """What reads a request's body, and has it answered."""

    def take(self, chunk: bytes) -> Awaitable[None] | None:
        """A piece of it; the next one comes when this is done.

        Raises:
            RequestRefused: the request cannot be answered otherwise.
        """

    def end(self) -> None:
        """There was no more; raises as ``take``."""

    def gone(self) -> None:
        """Nobody waits for the answer any more, or it is another one."""


class Exchange(HTTPMessageDelegate):
    """Is told by tornado of one request of a connection, and answers it.

    Args:
        owner: stands for the connection among those that are ``quiet``.
    """

    def __init__(self, service: Service, connection: HTTP1Connection, owner: Any) -> None:
        self._service: Final = service
        self.connection: Final = connection
        self.owner: Final = owner
        self._reader: BodyReader | None = None
        self._method = self._path = ""
        self._lingers: asyncio.TimerHandle | None = None
        self.is_over = False
        """Whether it was answered, or nobody waits for the answer."""

    def headers_received(self, start_line: Any, headers: HTTPHeaders) -> None:
        """Look at the head of the request, before any of its body comes."""
        request: RequestStartLine = start_line
        self._method = request.method
        self._service.open.add(self)
        has_body = "Transfer-Encoding" in headers or headers.get("Content-Length", "0") != "0"
        waits = headers.get("Expect", "").lower() == "100-continue"
        try:
            self._reader = self._reader_of(request, headers)
        except RequestRefused as refused:
            if has_body:
                self._refuse(refused, is_early=True, lingers=not waits)
            else:
                self._reader = _Without(partial(self._refuse, refused))

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        """Hand on a piece of the body."""
        return None if self._reader is None else self._take(self._reader, chunk)

    def finish(self) -> None:
        """The request is whole."""
        if self._lingers:
            self._lingers.cancel()
            self.connection.finish()
            self._over()
        if self._reader is None:
            return
        self._service.quiet.pop(self.owner, None)
        self.connection.set_close_callback(self.on_connection_close)
        try:
            self._reader.end()
        except RequestRefused as refused:
            self._refuse(refused)

    def on_connection_close(self) -> None:
        """The client has left. What was submitted is judged all the same."""
        self._over()

    def answer(self, status: int, body: bytes) -> None:
        """Answer, once, if somebody waits for it."""
        if self.is_over:
            return
        self.begin(status, JSON, {"Content-Length": str(len(body))}, body)
        self.connection.finish()
        self._over()

    def begin(self, status: int, content_type: str, more: dict[str, str], body: bytes) -> Awaitable[None]:
        """Write the head of an answer, and what comes first."""
        self.move_on()
        headers = HTTPHeaders({"Content-Type": content_type, "Cache-Control": "no-store"} | more)
        if challenge := _CHALLENGES.get(status):
            headers.add(*challenge)
        if self._service.is_stopping:
            headers["Connection"] = "close"
        line = ResponseStartLine("HTTP/1.1", status, HTTPStatus(status).phrase)
        return self.connection.write_headers(line, headers, None if self._method == "HEAD" else body)

    def end(self) -> None:
        """No more of the answer comes."""
        self.connection.finish()
        self._over()

    def move_on(self) -> None:
        """Take note that it is the client's turn, of whom something has come."""
        self._service.quiet.pop(self.owner, None)
        self._service.quiet[self.owner] = None

    def stop(self) -> None:
        """The service ends: who has not sent all of the request is told so."""
        if isinstance(self._reader, PageLines):
            self._reader.stop()
        elif self.owner in self._service.quiet:
            self._refuse(RequestRefused(503, STOPPING), is_early=True, lingers=True)

    async def _take(self, reader: BodyReader, chunk: bytes) -> None:
        try:
            if (taken := reader.take(chunk)) is not None:
                await taken
        except RequestRefused as refused:
            self._refuse(refused, is_early=True, lingers=True)

    def _refuse(self, refused: RequestRefused, *, lingers: bool = False, is_early: bool = False) -> None:
        """Answer; early where not all of the request has come, which is then read for a while if it ``lingers``."""
        if self.is_over:
            return
        body = line_of(refused.row)
        more = {"Content-Length": str(len(body))} | ({"Connection": "close"} if is_early else {})
        if refused.status == HTTPStatus.METHOD_NOT_ALLOWED:
            more["Allow"] = METHODS[self._path]
        self.begin(refused.status, JSON, more, body)
        self._over()
        if lingers:
            self._service.open.add(self)
            self._lingers = asyncio.get_running_loop().call_later(_LINGER_SECONDS, self.connection.finish)
        else:
            self.connection.finish()

    def _over(self) -> None:
        self.is_over = True
        self._service.open.discard(self)
        if self._reader is not None:
            self._reader.gone()
            self._reader = None

    def _reader_of(self, request: RequestStartLine, headers: HTTPHeaders) -> BodyReader:
        path, _, query = request.path.partition("?")
        self._path = path
        self._service.check_open()
        if "Origin" in headers:
            raise RequestRefused(
                403, "the request comes from a page in a browser: crawlers send no Origin, so leave it out"
            )
        self._check_token(headers.get("Authorization", ""))
        if path not in METHODS:
            raise RequestRefused(404, f"there is no such path: there are {', '.join(METHODS)}")
        if request.method != METHODS[path]:
            raise RequestRefused(405, f"{path} takes {METHODS[path]} only: use that method")
        if path == "/openapi.json":
            return _Without(lambda: self.answer(200, DESCRIPTION))
        if path == "/seen":
            url = url_asked(query)
            return _Without(lambda: self._service.look_for(url, self.answer))
        if (encoding := headers.get("Content-Encoding", "identity").lower()) != "identity":
            raise RequestRefused(415, f"the body is packed ({encoding[:40]!r}): send it unpacked")
        content_type = headers.get("Content-Type", "")
        kind = is_json(content_type, query)
        if kind == JSON_LINES:
            self.connection.set_body_timeout(_DAY_SECONDS)  # it may be long; a pause is what ends it
            return PageLines(self._service, self)
        about = {} if kind == JSON else about_page(query)
        length = headers.get("Content-Length", "")
        known = int(length) if length.isdecimal() and len(length) <= _MOST_DIGITS else None
        return OnePage(self._service, self, about, content_type, known)

    def _check_token(self, said: str) -> None:
        token = self._service.token
        if token is not None and not hmac.compare_digest(said.encode("latin-1"), b"Bearer " + token):
            raise RequestRefused(401, "the token is missing or wrong: send Authorization: Bearer and the token")


class _Without:
    """Reads a request without a body."""

    def __init__(self, answer: Any) -> None:
        self._answer: Final = answer

    def take(self, chunk: bytes) -> None:
        pass

    def end(self) -> None:
        self._answer()

    def gone(self) -> None:
        pass


def exchange_of(service: Service, connection: object, owner: object) -> Exchange:
    """What tornado's server makes for each request; it has no other kind of connection."""
    exchange = Exchange(service, cast(HTTP1Connection, connection), owner)
    service.quiet[owner] = None
    return exchange
