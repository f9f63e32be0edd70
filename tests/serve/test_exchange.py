"""Who may ask what: each wrong request has a status and a next move, and costs no other one its answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.served import MOST_BYTES, Served, all_that_comes, serving

PAGE = b"POST /judge?url=http://exchange.example/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "move"),
    [
        ("GET", "/", {}, 404, "/judge, /seen, /openapi.json"),
        ("PUT", "/judge", {}, 405, "takes POST only"),
        ("HEAD", "/seen?url=http://a.example/", {}, 405, ""),
        ("POST", "/seen?url=http://a.example/", {}, 405, "takes GET only"),
        ("POST", "/judge", {}, 400, "there is no url"),
        ("POST", "/judge?url=a&x=1", {}, 400, "there is no parameter 'x'"),
        ("POST", "/judge?url=http://a.example/", {"Content_Encoding": "gzip"}, 415, "send it unpacked"),
        ("POST", "/judge?url=http://a.example/", {"Origin": "https://evil.example"}, 403, "browser"),
        ("GET", "/seen", {}, 400, "takes one URL"),
    ],
)
def test_what_is_wrong_is_told_with_its_status(
    service: Served, method: str, path: str, headers: dict[str, str], status: int, move: str
) -> None:
    reply = service.ask(method, path, b"<p>" if method == "POST" else None, **headers)
    assert reply.status == status
    assert move in reply.body.decode()
    assert reply.headers["Allow"] == (
        {"/judge": "POST", "/seen": "GET"}[path.partition("?")[0]] if status == 405 else None
    )
    if reply.body:
        assert reply.row["status"] == status


def test_a_page_that_is_too_large_is_refused_while_it_is_sent_and_the_client_reads_that(service: Served) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(1000):
            yield bytes(20_000)

    for body in (bytes(MOST_BYTES + 1), endless()):
        reply = service.ask("POST", "/judge?url=http://a.example/", body)
        assert reply.status == 413
        assert "topics.max_message_bytes" in reply.row["error"]


def test_who_asks_before_sending_is_told_to_go_on_or_that_it_is_too_large(service: Served) -> None:
    with service.connected(PAGE + b"Expect: 100-continue\r\n\r\n") as client:
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")
        client.sendall(b"<p>")
        assert client.recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")
    too_large = PAGE.replace(b"Length: 3", b"Length: 99999999999")
    with service.connected(too_large + b"Expect: 100-continue\r\n\r\n") as client:
        assert all_that_comes(client).startswith(b"HTTP/1.1 413 ")


def test_requests_sent_at_once_are_answered_one_after_the_other(service: Served) -> None:
    asked = (
        (PAGE + b"\r\n<p>") * 2 + b"GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n" + PAGE + b"Connection: close\r\n\r\n<p>"
    )
    with service.connected(asked) as client:
        heads = [part[:3] for part in all_that_comes(client).split(b"HTTP/1.1 ")[1:]]
    assert heads == [b"200", b"200", b"404", b"200"]


@pytest.mark.parametrize(
    "said",
    [
        b"nonsense\r\n\r\n",
        b"POST /judge?url=http://a.example/ HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"POST /judge?url=http://a.example/ HTTP/1.1\r\nHost: a\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"POST /judge?url=http://a.example/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /seen?url=http://a.example/ HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"GET /seen?url=\x00\r\x7f\xff HTTP/1.1\r\nHost: a\r\n\r\n",
        b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\r\n\r\n",
        PAGE,
        PAGE + b"\r\n<",
    ],
    ids=range(9),
)
def test_what_is_no_request_ends_its_connection_and_nothing_else(service: Served, said: bytes) -> None:
    with service.connected(said) as client:
        client.shutdown(1)
        assert all_that_comes(client)[:12] in (b"", b"HTTP/1.1 400")
    assert service.judge("http://still.example/").status == 200


def test_what_is_echoed_is_json_and_makes_no_header(service: Served) -> None:
    for url in ("http://a.example/%0d%0aX:%20y", "http://a.example/\r\nX: y\x00\x1b[2J", "a\r\nX: y"):
        reply = service.judge(url)
        assert "X" not in reply.headers
        assert reply.body.count(b"\n") == 1 and b"\x1b" not in reply.body


def test_with_a_token_only_who_names_it_is_answered(tmp_path: Path) -> None:
    token = "0123456789abcdef"
    with serving(tmp_path, token.encode()) as served:
        for path in ("/judge?url=http://a.example/", "/seen?url=http://a.example/", "/openapi.json", "/"):
            for said in ({}, {"Authorization": f"Bearer {token}0"}, {"Authorization": token}, {"Authorization": "é"}):
                reply = served.ask("GET", path, None, **said)
                assert (reply.status, reply.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert served.ask("GET", "/seen?url=http://a.example/", Authorization=f"Bearer {token}").row["seen"] is False
