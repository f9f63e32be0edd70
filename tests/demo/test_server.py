"""The demo's site is served as it was built, and every page that was fetched is counted."""

from __future__ import annotations

import socket
from http.client import HTTPConnection
from urllib.parse import urlsplit

from worker.demo.server import SiteServer


def get(url: str) -> tuple[int, str | None, bytes]:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=30)
    try:
        connection.request("GET", parts._replace(scheme="", netloc="").geturl())
        response = connection.getresponse()
        return response.status, response.getheader("Content-Type"), response.read()
    finally:
        connection.close()


def test_every_page_is_served_as_it_is_and_counted() -> None:
    with SiteServer() as server:
        for page in server.site.pages:
            assert get(page.url) == (200, page.content_type, page.body)
        assert get(server.site.start + "nowhere")[0] == 404
        assert server.served == len(server.site.pages)
        port = urlsplit(server.site.start).port
    with socket.socket() as connection:
        assert connection.connect_ex(("127.0.0.1", port)) != 0
