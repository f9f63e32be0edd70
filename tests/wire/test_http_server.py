"""One thread answers every client, whatever other clients do: some only connect, some send slowly, some do not take an
answer."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from crawler_plugin.wire import http_server
from crawler_plugin.wire.http_server import BACKLOG, CLOSE_SECONDS, HEAD_BYTES, MOST_CONNECTIONS, HttpServer, Reply
from tests.waiting import wait_for

ASKED = b"GET /alive HTTP/1.1\r\nHost: x\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nalive\n"


class Served:
    """A server, its address, and the heads of its requests. After the answer to ``/last`` the connection ends."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []
        self.answer = ANSWER
        listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
        self.address = listener.getsockname()
        self.server = HttpServer(listener, self.reply, "under test")

    def reply(self, head: bytes) -> Reply:
        self.heads.append(head)
        if b"/fails" in head:
            raise ZeroDivisionError
        return Reply(self.answer, b"/last" not in head)

    def connect(self, said: bytes = b"") -> socket.socket:
        client = socket.create_connection(self.address, timeout=10)
        client.sendall(said)
        return client

    def answers(self) -> bool:
        """Whether a new client gets an answer."""
        with self.connect(ASKED) as client:
            return comes(client, len(ANSWER)) == ANSWER


@pytest.fixture
def served() -> Iterator[Served]:
    made = Served()
    yield made
    made.server.close()


def comes(client: socket.socket, length: int | None = None) -> bytes:
    """This many bytes, or all bytes up to the end of the connection."""
    found = b""
    try:
        while (length is None or len(found) < length) and (part := client.recv(65536)):
            found += part
    except ConnectionError:
        pass
    return found


def test_a_connection_serves_one_question_after_the_other(served: Served) -> None:
    with served.connect() as client:
        for _ in range(3):
            client.sendall(ASKED)
            assert comes(client, len(ANSWER)) == ANSWER
    assert served.heads == [ASKED] * 3


def test_questions_that_come_at_once_are_answered_in_turn_up_to_the_last_one(served: Served) -> None:
    last = b"GET /last HTTP/1.1\n\n"
    with served.connect(ASKED + last + ASKED) as client:
        assert comes(client) == 2 * ANSWER
    assert served.heads == [ASKED, last]


def test_a_question_may_come_in_pieces_and_its_asker_may_have_said_all(served: Served) -> None:
    with served.connect() as client:
        for piece in (ASKED[:2], ASKED[2:-3], ASKED[-3:-1], ASKED[-1:]):
            client.sendall(piece)
        client.shutdown(socket.SHUT_WR)
        assert comes(client) == ANSWER
    assert served.heads == [ASKED]


@pytest.mark.parametrize("end", [b"", b"\r\n\r\n"])
def test_a_head_that_is_too_long_is_refused_and_nobody_is_asked_for_a_reply(served: Served, end: bytes) -> None:
    with served.connect(b"x" * (HEAD_BYTES + 1) + end) as client:
        assert comes(client).startswith(b"HTTP/1.1 431 ")
    assert served.heads == []


def test_a_reply_that_fails_costs_its_own_connection_only(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    with served.connect() as kept, served.connect(b"GET /fails HTTP/1.1\r\n\r\n") as client:
        assert comes(client) == b""
        kept.sendall(ASKED)
        assert comes(kept, len(ANSWER)) == ANSWER
    assert [line.exc_info is not None for line in caplog.records] == [True]


@pytest.mark.parametrize("said", [b"", ASKED[:-2]])
def test_clients_that_only_begin_keep_nobody_from_an_answer_however_many_they_are(served: Served, said: bytes) -> None:
    threads = threading.active_count()
    with ExitStack() as stack:
        kept = stack.enter_context(served.connect(ASKED))
        assert comes(kept, len(ANSWER)) == ANSWER
        for _ in range(3 * MOST_CONNECTIONS):
            stack.enter_context(served.connect(said))
        assert served.answers()
        assert threading.active_count() == threads
        assert len(served.server._connections) <= MOST_CONNECTIONS
        kept.sendall(ASKED)  # clients that never send a request do not displace one that has
        assert comes(kept, len(ANSWER)) == ANSWER


@pytest.mark.parametrize("before", [b"", ASKED])
def test_a_head_that_comes_byte_by_byte_is_not_waited_for(
    served: Served, monkeypatch: pytest.MonkeyPatch, before: bytes
) -> None:
    monkeypatch.setattr(http_server, "HEAD_SECONDS", 0.3)
    with served.connect(before) as client:
        if before:
            assert client.recv(65536)
        give_up = time.monotonic() + 60
        with pytest.raises(OSError):  # the connection is closed
            while time.monotonic() < give_up:
                client.sendall(b"x")
                time.sleep(0.05)


def test_who_asks_no_more_is_let_go(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "IDLE_SECONDS", 0.2)
    with served.connect(ASKED) as client:
        assert comes(client) == ANSWER


def test_an_answer_that_is_not_taken_is_not_kept_for_ever(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "ANSWER_SECONDS", 0.3)
    served.answer = b"x" * 50_000_000
    with served.connect(ASKED) as client:
        wait_for(lambda: served.heads, "the question", 60, pause=0.01)
        wait_for(lambda: not served.server._connections, "the connection to be closed", 60, pause=0.05)
        assert len(comes(client)) < 50_000_000
    served.answer = ANSWER
    assert served.answers()


def test_closing_waits_neither_for_questions_nor_long_for_answers_to_be_taken() -> None:
    served = Served()
    clients = [served.connect(ASKED[:-2]) for _ in range(5)]
    served.answer = b"x" * 50_000_000
    clients.append(served.connect(ASKED))
    wait_for(lambda: served.heads, "the question", 60, pause=0.01)
    ended = _timed(served.server.close)
    for client in clients[:5]:
        assert comes(client) == b""
        client.close()
    clients[5].close()
    assert CLOSE_SECONDS <= ended < http_server.ANSWER_SECONDS
    with pytest.raises(ConnectionRefusedError):
        served.connect()


def _timed(action: Callable[[], None]) -> float:
    begun = time.monotonic()
    action()
    return time.monotonic() - begun
