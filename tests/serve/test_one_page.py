"""A page in a request of its own has the verdict that ``worker.local`` gives it."""

from __future__ import annotations

from pathlib import Path

from tests.serve.served import SMALL, TEXT, Served, serving, text_of
from tests.waiting import wait_for
from worker.config import Settings
from worker.local import Deduplicator, FetchedPage
from worker.results.rows import served_row

PAGES = [
    FetchedPage("http://a.example/", f"<p>{TEXT}".encode(), content_type="text/html"),
    FetchedPage("http://b.example/", f"<p>{TEXT}".encode(), content_type="text/html"),
    FetchedPage("http://a.example/", f"<p>{TEXT}".encode(), content_type="text/html"),
    FetchedPage("http://c.example/", "Fähre".encode("latin-1") * 9, content_type="text/plain; charset=latin-1"),
    FetchedPage("http://d.example/", b"\x89PNG\r\n\x1a\n", content_type="image/png"),
    FetchedPage("no url", b"<p>a", content_type="text/html"),
    FetchedPage("http://e.example/", b"", content_type="text/html"),
]


def test_verdicts_are_those_of_worker_local_and_dead_pages_are_422(tmp_path: Path) -> None:
    with Deduplicator(None, Settings.model_validate(SMALL)) as local:
        expected = [served_row(verdict) for _, verdict in local.judge_found(PAGES)]
    with serving(tmp_path) as served:
        for page, row in zip(PAGES, expected, strict=True):
            assert isinstance(page.body, bytes)
            assert page.content_type is not None
            path = f"/judge?url={page.url.replace(' ', '+')}"
            reply = served.ask("POST", path, page.body, Content_Type=page.content_type)
            assert reply.status == (422 if row["verdict"] == "dead" else 200)
            assert reply.row == row
    assert {row["verdict"] for row in expected} == {"unique", "duplicate", "refetch", "dead"}


def test_a_body_may_come_in_pieces_and_as_json(service: Served) -> None:
    text = text_of("piece")
    pieces = iter([text[:10].encode(), text[10:].encode()])
    assert service.ask("POST", "/judge?url=http://pieces.example/1&form=text", pieces).row["verdict"] == "unique"
    body = f'{{"url": "http://pieces.example/2", "text": "{text}"}}'.encode()
    reply = service.ask("POST", "/judge", body, Content_Type="application/json")
    assert reply.row["duplicate_of"] == "http://pieces.example/1"


def test_a_page_whose_client_has_left_is_judged_all_the_same(service: Served) -> None:
    text = text_of("leaver").encode()
    head = f"POST /judge?url=http://leaver.example/ HTTP/1.1\r\nHost: a\r\nContent-Length: {len(text)}\r\n\r\n"
    service.connected(head.encode() + text).close()
    wait_for(lambda: service.ask("GET", "/seen?url=http://leaver.example/").row["seen"], "its verdict", pause=0.01)


def test_without_room_it_is_to_come_again_and_what_is_given_up_makes_room(tmp_path: Path) -> None:
    length = 100_000
    head = f"POST /judge?url=http://a.example/ HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n<p>".encode()
    with serving(tmp_path) as served:
        waiting = []
        while (reply := served.judge("http://b.example/", TEXT.encode() * 900)).status == 200:
            waiting.append(served.connected(head))
        assert reply.status == 503
        assert reply.headers["Retry-After"] == "1"
        assert len(waiting) >= 10, "commit.megabytes is 1; the service may meet the last ones later"
        for client in waiting:
            client.close()
        wait_for(lambda: served.judge("http://c.example/", bytes(length)).status != 503, "room", pause=0.01)
