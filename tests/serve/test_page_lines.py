"""Lines are answered in their order, whatever they are and however their client sends and reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.serve.served import MOST_BYTES, TEXT, Served, all_that_comes, page, serving, text_of
from worker.local import Deduplicator
from worker.serve import page_lines

HEAD = b"POST /judge HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def chunk(content: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(content), content)


def rows_in(answer: bytes) -> list[dict[str, object]]:
    """Of a chunked answer."""
    lines = answer.partition(b"\r\n\r\n")[2].splitlines()
    return [json.loads(line) for line in lines if line.startswith(b"{")]


def test_each_line_has_its_answer_in_order_and_a_bad_one_costs_no_other(service: Served) -> None:
    text = text_of("batch")
    lines = [
        page("http://batch.example/1", text),
        b"",
        b"{}",
        page("http://batch.example/2", text),
        b"nonsense",
        page("no url", text),
        page("http://batch.example/1", text),
    ]
    reply = service.judge_lines(*lines)
    assert (reply.status, reply.headers["Content-Type"]) == (200, "application/x-ndjson")
    assert [row.get("verdict") for row in reply.rows] == ["unique", None, "duplicate", None, "dead", "refetch"]
    assert [row["status"] for row in reply.rows if "error" in row] == [400, 400]
    assert service.judge_lines(*lines, b"").rows[0]["verdict"] == "refetch", "with a line end behind the last one, too"


def test_of_no_lines_there_are_no_answers(service: Served) -> None:
    for lines in ([], [b"", b" \r", b""]):
        reply = service.judge_lines(*lines)
        assert (reply.status, reply.body) == (200, b"")


def test_answers_come_while_lines_still_do(service: Served) -> None:
    with service.connected(HEAD) as client:
        told = b""
        for number in range(3):
            client.sendall(chunk(page(f"http://slow.example/{number}") + b"\n"))
            while told.count(b'"verdict"') <= number:
                told += client.recv(65536)
        client.sendall(END)
        while not told.endswith(END):
            told += client.recv(65536)


@pytest.mark.parametrize("size", [1, 2, 97, 4096])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n\n"])
def test_lines_are_the_same_wherever_their_pieces_end(service: Served, size: int, end: bytes) -> None:
    urls = [f"http://cut{size}.example/{len(end)}/{number}" for number in range(3)]
    body = b"\n".join([page(urls[0]), b"", page(urls[1]), b"nonsense", page(urls[2])]) + end
    pieces = [body[begin : begin + size] for begin in range(0, len(body), size)]
    with service.connected(HEAD + b"".join(map(chunk, pieces)) + END) as client:
        told = b""
        while not told.endswith(END):
            told += client.recv(65536)
    assert [row.get("url", row.get("status")) for row in rows_in(told)] == [*urls[:2], 400, urls[2]]


def test_a_client_may_send_more_than_is_held_and_read_when_it_has_sent_all(tmp_path: Path) -> None:
    """1 MiB is held at most."""
    with serving(tmp_path) as served:
        rows = served.judge_lines(*(page(f"http://a.example/{n}", f"{TEXT} {n} " * 500) for n in range(60))).rows
        assert [row["url"] for row in rows] == [f"http://a.example/{n}" for n in range(60)]


def test_a_client_that_takes_no_answer_is_not_read_on(service: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_lines, "MOST_UNTAKEN", 1)
    monkeypatch.setattr(page_lines, "SILENT_SECONDS", 0.5)
    with service.connected(HEAD) as client:
        client.settimeout(20)
        with pytest.raises((ConnectionError, TimeoutError)):
            while True:
                client.sendall(chunk(b"{}\n" * 5000))
    assert service.judge("http://still.example/").status == 200


def test_a_client_that_says_nothing_is_left(service: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_lines, "SILENT_SECONDS", 0.1)
    with service.connected(HEAD + chunk(page("http://quiet.example/") + b"\n{")) as client:
        answer, error = rows_in(all_that_comes(client))
    assert (answer["url"], error["status"]) == ("http://quiet.example/", 408)


def test_a_line_that_is_too_long_ends_the_batch_and_those_before_it_are_answered(service: Served) -> None:
    with service.connected(HEAD + chunk(page("http://long.example/") + b"\n" + bytes(2 * MOST_BYTES + 1))) as client:
        first, last = rows_in(all_that_comes(client))
    assert first["url"] == "http://long.example/"
    assert last["status"] == 413


def test_lines_whose_client_has_left_are_judged_all_the_same(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        with served.connected(HEAD + chunk(b"\n".join(page(f"http://a.example/{n}") for n in range(9)) + b"\n")) as one:
            one.recv(1)
        assert served.judge("http://b.example/").status == 200
    with Deduplicator(tmp_path) as local:
        assert local.judged == 10


def test_a_service_that_stops_answers_the_lines_that_have_come_and_says_that_no_others_are_taken(
    tmp_path: Path,
) -> None:
    with serving(tmp_path) as served, served.connected(HEAD + chunk(page("http://a.example/") + b"\n{")) as client:
        told = client.recv(10)
        served.begin_to_stop()
        first, last = rows_in(told + all_that_comes(client))
        assert first["verdict"] == "unique"
        assert last["status"] == 503
