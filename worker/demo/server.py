"""Serves the demo's site on this machine, at two ports as two hosts.

``python -m worker.demo.server PORT PORT`` does so until it is ended, to try a crawl on it.
"""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Final, Self

from worker.demo.site import Site, SitePage, build_site

HOST: Final = "127.0.0.1"


class SiteServer:
    """Serves the site from when it is made until its block is left; ``site`` names the addresses. Port 0 is a free one.

    Raises:
        OSError: a port is taken.
    """

    def __init__(self, ports: tuple[int, int] = (0, 0)) -> None:
        self._hosts = [_Host(port) for port in ports]
        self.site: Site = build_site(*(host.url for host in self._hosts))
        for host in self._hosts:
            host.pages = {page.url.removeprefix(host.url): page for page in self.site.pages}
        self._threads = [threading.Thread(target=host.serve_forever, daemon=True) for host in self._hosts]
        for thread in self._threads:
            thread.start()

    @property
    def served(self) -> int:
        """Pages that were fetched so far."""
        return sum(host.served for host in self._hosts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for host, thread in zip(self._hosts, self._threads, strict=True):
            host.shutdown()
            thread.join()
            host.server_close()


class _Host(ThreadingMixIn, TCPServer):
    """One port. Not ``http.server.HTTPServer``: that asks the name service for the host's name before it listens."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int) -> None:
        self.pages: dict[str, SitePage] = {}
        self.served = 0
        self._lock = threading.Lock()
        super().__init__((HOST, port), _Request)

    @property
    def url(self) -> str:
        """``http://host:port``."""
        return f"http://{HOST}:{self.server_address[1]}"

    def find(self, path: str) -> SitePage | None:
        """The page at a path with its query, counted as served."""
        page = self.pages.get(path)
        if page is not None:
            with self._lock:
                self.served += 1
        return page


class _Request(BaseHTTPRequestHandler):
    """A request for a page."""

    server: _Host
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        """The page, or a real 404."""
        page = self.server.find(self.path)
        status = HTTPStatus.NOT_FOUND if page is None else HTTPStatus.OK
        body = b"not here\n" if page is None else page.body
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if page is None else page.content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: no reader would look at it."""


if __name__ == "__main__":
    with SiteServer((int(sys.argv[1]), int(sys.argv[2]))) as server, suppress(KeyboardInterrupt):
        print(f"{len(server.site.pages)} pages from {server.site.start} on, until this ends", flush=True)
        threading.Event().wait()
