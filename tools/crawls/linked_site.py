"""A site that is generated page by page and served over HTTP: the common part of the sites with traps."""

from __future__ import annotations

import random
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final, NamedTuple

BEGINS: Final = ("har", "sau", "mas", "lan", "cop", "val", "bre", "tor")
ENDS: Final = ("bour", "cer", "tern", "per", "ley")
SECTIONS: Final = tuple(begin + end for begin in BEGINS for end in ENDS)


class Shown(NamedTuple):
    """The content of a page. ``content`` is the same for copies; ``honest`` is the page's template, None in a trap."""

    content: str
    honest: str | None
    links: tuple[str, ...]


@dataclass
class LinkedSite(ABC):
    """``seed`` shuffles the links of each page; without ``has_traps`` there is only honest content."""

    articles: int
    """A section."""
    seed: int = 0
    has_traps: bool = True
    asked: list[str] = field(default_factory=list)
    """Paths with their queries, in the order of the requests."""
    address: str = ""
    port: int = 0
    """0: a free port, which the site keeps from then on."""

    def url(self, path: str) -> str:
        return f"http://{self.address}{path}"

    @property
    @abstractmethod
    def honest_pages(self) -> dict[str, Shown]:
        """All honest pages, by path."""

    @abstractmethod
    def shown(self, path: str) -> Shown | None:
        """The page under this path; None: there is none."""

    def html(self, path: str) -> bytes | None:
        """The page as the server sends it."""
        shown = self.shown(path)
        if shown is None:
            return None
        links = list(shown.links)
        random.Random(f"{self.seed} {path}").shuffle(links)
        listed = "".join(f'<li><a href="{link.replace("&", "&amp;")}">{link[:12]}</a></li>' for link in links)
        title, text = text_of(shown.content)
        return (
            f"<html><head><title>{title}</title></head><body><nav><ul>{listed}</ul></nav>"
            f"<article><h1>{title}</h1><p>{text}</p></article></body></html>"
        ).encode()


@cache
def text_of(content: str) -> tuple[str, str]:
    """A title and a text that are not near to the title and text of any other content."""
    chance = random.Random(content)
    words = ["".join(chance.choice(BEGINS + ENDS) for _ in range(2)) for _ in range(70)]
    return " ".join(words[:5]), " ".join(words[5:])


def session_of(of: str) -> str:
    """A session id as servers make them, always the same for the same page."""
    return f"{random.Random(of).getrandbits(64):016x}"


@contextmanager
def serve_pages(site: LinkedSite) -> Iterator[None]:
    """Serve the site on a port of this machine."""
    counting = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_GET(self) -> None:
            with counting:
                site.asked.append(self.path)
            body = site.html(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", site.port), Handler)
    server.daemon_threads = True
    site.port = server.server_port
    site.address = f"127.0.0.1:{site.port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
