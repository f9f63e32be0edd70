"""Where it listens, how many it serves at a time, and how it ends."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from tornado.httputil import HTTPHeaders, RequestStartLine

from crawler_plugin.wire.errors import Refused, Unavailable, UsageError
from tests.serve.served import SMALL, TEXT, Reply, Served, all_that_comes, page, serving, text_of
from tests.waiting import DEADLINE_SECONDS
from worker.config import Settings
from worker.local import Deduplicator
from worker.serve import exchange, server
from worker.serve.exchange import Exchange
from worker.serve.server import ServeTask, listening, token_in

PAGE = b"POST /judge?url=http://a.example/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n"


def test_where_others_can_ask_it_listens_with_a_token_alone(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "::"):
        with pytest.raises(UsageError, match="name a --token-file"):
            listening(ServeTask(tmp_path, host, 0, None))
    for task in (ServeTask(tmp_path, "0.0.0.0", 0, b"x" * 16), ServeTask(tmp_path, "localhost", 0, None)):
        for each in listening(task):
            each.close()


def test_a_port_that_is_taken_is_not_another_one(service: Served, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="name another --port"):
        listening(ServeTask(tmp_path, "127.0.0.1", service.port, None))


@pytest.mark.parametrize(("content", "why"), [(b"short\n", "16 ASCII"), (b"a b" * 9, "16 ASCII"), (b"\xff" * 16, "16")])
def test_a_token_that_cannot_stand_in_a_header_is_refused(tmp_path: Path, content: bytes, why: str) -> None:
    file = tmp_path / "token"
    with pytest.raises(UsageError, match="cannot be read"):
        token_in(file)
    file.write_bytes(content)
    with pytest.raises(UsageError, match=why):
        token_in(file)
    file.write_bytes(b"0123456789abcdef\n")
    assert token_in(file) == b"0123456789abcdef"


def test_one_connection_too_many_takes_the_place_of_the_one_that_is_quiet_for_longest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 3)
    with serving(tmp_path) as served:
        first, half, asking = served.connected(), served.connected(PAGE), served.connected(PAGE + b"<p>")
        with first, half, asking:
            assert asking.recv(1000).startswith(b"HTTP/1.1 200 ")
            assert served.judge("http://b.example/").status == 200
            assert all_that_comes(first) == b""
            half.sendall(b"<p>")
            assert half.recv(1000).startswith(b"HTTP/1.1 200 ")


def test_it_ends_when_what_was_taken_is_answered_and_takes_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "_LINGER_SECONDS", DEADLINE_SECONDS)
    replies: list[Reply] = []
    with serving(tmp_path) as served:
        kept = served.connected(PAGE + b"<p>")
        kept.recv(1000)
        half = served.connected(PAGE)
        asking = threading.Thread(target=lambda: replies.append(served.judge("http://b.example/", TEXT.encode() * 900)))
        asking.start()
        asking.join(0.01)
        served.begin_to_stop()
        assert half.recv(1000).startswith(b"HTTP/1.1 503 ")
        kept.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n")
        told = kept.recv(1000)
        assert told.startswith(b"HTTP/1.1 503 ") and b"Connection: close" in told
        half.sendall(b"<p>")
        served.wait()
        asking.join()
        assert all_that_comes(kept) == all_that_comes(half) == b""
        with pytest.raises(ConnectionError):
            served.connected()
    (reply,) = replies
    with Deduplicator(tmp_path) as local:
        assert local.judged == (2 if reply.status == 200 else 1)


def test_a_page_whose_body_is_read_after_the_stop_is_refused_and_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_head = Exchange.headers_received

    def read_head_and_stop(self: Exchange, start_line: RequestStartLine, headers: HTTPHeaders) -> None:
        read_head(self, start_line, headers)
        served.begin_to_stop()

    monkeypatch.setattr(Exchange, "headers_received", read_head_and_stop)
    with serving(tmp_path) as served, served.connected(PAGE + b"<p>") as client:
        answer = all_that_comes(client)
    with Deduplicator(tmp_path) as local:
        assert local.judged == 0
    assert answer.startswith(b"HTTP/1.1 503 ") and b"Retry-After" in answer


def test_a_second_one_on_the_same_state_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path) as one:
        one.judge("http://a.example/")
        second = Served(tmp_path, Settings.model_validate(SMALL), None)
        second.wait()
    assert isinstance(second.raised, Refused)
    assert "is open already" in str(second.raised)


def test_it_ends_where_the_index_is_full_and_says_so_to_who_asks(tmp_path: Path) -> None:
    served = Served(tmp_path, Settings.model_validate(SMALL | {"index": {"memory_mb": 9}}), None)
    rows = served.judge_lines(*(page(f"http://a.example/{n}", text_of(str(n))) for n in range(3000))).rows
    served.wait()
    assert isinstance(served.raised, Refused)
    assert "index.memory_mb" in str(served.raised)
    told = [row["url"] for row in rows if row.get("verdict") == "unique"]
    assert len(told) > 10
    assert {row["status"] for row in rows[len(told) :]} == {503}
    with Deduplicator(tmp_path, Settings.model_validate(SMALL)) as local:
        assert local.judged >= len(told)
        assert all(local.seen(url) for url in told)
