"""A site of pages of about 20 kB, none near to another, served by a process of its own.

``python -m benchmarks.crawled_site PAGES`` prints the port and serves until it is ended.
"""

from __future__ import annotations

import asyncio
import random
import sys
from typing import Final

SENTENCE_WORDS: Final = 25
SENTENCES: Final = 120
"""A page: 20 kB with its markup."""
NAVIGATION: Final = 10
"""Links of each page to the first ones, which a crawl has seen already."""
_LETTERS: Final = "abcdefghijklmnoprstuvw"


def page(number: int, count: int, sentences: list[str]) -> bytes:
    """The page of this number, with links to two others, so that a crawl finds all pages from the first."""
    chance = random.Random(number)
    text = "".join(f"<p>{sentence}</p>" for sentence in chance.choices(sentences, k=SENTENCES))
    links = [*range(min(NAVIGATION, count)), *(n for n in (2 * number + 1, 2 * number + 2) if n < count)]
    listed = "".join(f'<li><a href="/{link}">page {link}</a></li>' for link in links)
    return f"<html><body><nav><ul>{listed}</ul></nav><main><h1>Page {number}</h1>{text}</main></body></html>".encode()


def made_up(chance: random.Random, count: int = 4000) -> list[str]:
    """Sentences of words that mean nothing."""
    words = ["".join(chance.choices(_LETTERS, k=chance.randint(3, 9))) for _ in range(5000)]
    return [" ".join(chance.choices(words, k=SENTENCE_WORDS)) for _ in range(count)]


async def _serve(count: int) -> None:
    sentences = made_up(random.Random(0))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                body = page(int(path[1:]), count, sentences) if path[1:].isdigit() else b""
                status = "200 OK" if body else "404 Not Found"
                writer.write(
                    f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n"
                    f"Content-Length: {len(body)}\r\n\r\n".encode()
                    + body
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(f"port {server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
