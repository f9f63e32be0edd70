"""What all requests share: the judge, what memory is left, who is asked for a token, and whether the service ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

from crawler_plugin.wire.errors import Stop
from crawler_plugin.wire.outcomes import Verdict
from worker.local.deduplicator import Deduplicator
from worker.local.page import FetchedPage
from worker.observe.metrics import ServedMetrics
from worker.results.rows import line_of, served_row
from worker.serve.asked_pages import RequestRefused
from worker.serve.judging_thread import JudgingThread
from worker.serve.room import RoomForPages
from worker.verdict.decide import DEAD

STOPPING: Final = "the service is stopping: send this again in a second"


class Service:
    """Belongs to one event loop.

    Args:
        most_bytes: of a page's body.
        held_bytes: of all pages without a verdict.
        token: what requests name, None where anybody may ask.
    """

    def __init__(
        self,
        local: Deduplicator,
        judging: JudgingThread,
        metrics: ServedMetrics,
        *,
        most_bytes: int,
        held_bytes: int,
        token: bytes | None,
    ) -> None:
        self._local: Final = local
        self._judging: Final = judging
        self._metrics: Final = metrics
        self.most_bytes: Final = most_bytes
        self.token: Final = token
        self.room: Final = RoomForPages(held_bytes)
        self.open: Final = set[Any]()
        """Requests without an answer, or whose rest is still read."""
        self.quiet: Final = dict[Any, None]()
        """Connections whose client is to go on, the one first that has been quiet for longest."""
        self.is_stopping = False

    def check_open(self) -> None:
        """Raises ``RequestRefused`` where nothing is taken any more."""
        if self.is_stopping or self._judging.ended.done():
            raise RequestRefused(503, STOPPING)

    def judge(self, page: FetchedPage, held: int, told: Callable[[int, bytes], None]) -> None:
        """Have a page judged, of which ``held`` bytes are held; ``told`` gets status and line."""
        begun = time.monotonic()

        def tell(found: Verdict | Stop) -> None:
            self.room.free(held, judged=True)
            if isinstance(found, Stop):
                told(*refusal(RequestRefused(503, STOPPING)))
                return
            body = page.text if page.body is None else page.body
            self._metrics.judged(found, len(body or ""), time.monotonic() - begun)
            told(422 if found.verdict == DEAD else 200, line_of(served_row(found)))

        if self._judging.ended.done():
            self.room.free(held, judged=False)
            told(*refusal(RequestRefused(503, STOPPING)))
        else:
            self.room.judging(held)
            self._judging.submit(page, tell)

    def look_for(self, url: str, told: Callable[[int, bytes], None]) -> None:
        """Tell what is kept of a URL, when a thread has looked."""
        task = asyncio.ensure_future(asyncio.to_thread(self._local.seen, url))
        task.add_done_callback(lambda done: told(*_seen(url, done)))


def refusal(refused: RequestRefused) -> tuple[int, bytes]:
    """Status and line."""
    return refused.status, line_of(refused.row)


def _seen(url: str, done: asyncio.Future[Verdict | None]) -> tuple[int, bytes]:
    try:
        found = done.result()
    except ValueError as error:
        return refusal(RequestRefused(400, str(error)))
    except Stop as stop:
        return refusal(RequestRefused(503, str(stop)))
    if found is None:
        return 200, line_of({"url": url, "seen": False})
    return 200, line_of({"seen": True} | found.row(("url", "verdict", "fingerprint", "tokens", "fetched")))
