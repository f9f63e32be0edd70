"""Verdicts on the way to the items and callbacks that wait for them. Used in the event loop's thread alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, TypeAlias
from weakref import ReferenceType, WeakKeyDictionary, WeakValueDictionary, ref

from scrapy.http import Response
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from crawler_plugin import stats
from crawler_plugin.crawl_log import CrawlLog


@dataclass(frozen=True, slots=True)
class DedupVerdict:
    """The verdict on a page, under the names of the topic ``verdicts``.

    ``verdict`` is None where the page has no verdict, or none yet; ``reason`` says why, such as ``late`` or
    ``not_captured``.
    """

    verdict: str | None
    duplicate_of: str | None = None
    distance: int | None = None
    similarity: float | None = None
    reason: str = ""
    suspect: bool = False


Told: TypeAlias = Mapping[str, Any]
"""The names of the values that an item gets about its page."""
TOLD: Final = tuple(each.name for each in fields(DedupVerdict))
"""The values by name."""

LATE: Final = "late"
SPOOLED: Final = "spooled"
TOO_LARGE: Final = "too_large"
UNJUDGED: Final = "unjudged"
NOT_CAPTURED: Final = "not_captured"


def learned_as(told: Told) -> str:
    """The verdict that a crawl learns from: a duplicate of a suspect original may be a page of its own, and counts as
    unique."""
    verdict: str = told["verdict"]
    return "unique" if told["suspect"] else verdict


def count_told(log: CrawlLog, told: Told) -> None:
    """Count a page that has its verdict."""
    log.count(stats.VERDICT + told["verdict"])
    if told["suspect"]:
        log.count(stats.SUSPECT)


class ComingVerdict:
    """The verdict on a page that was handed over. Any number of items may wait for it."""

    def __init__(self) -> None:
        self.told: Told | None = None
        """The values that are known by now."""
        self.response: ReferenceType[Response] | None = None
        """The page's response, where it was captured."""
        self._is_here = False
        self._waiting: list[Deferred[None]] = []
        self.missing: str | None = None
        """Why there is no verdict, as the last word of ``dedup/without_verdict/…``; None where the log has said it."""

    async def wait(self, patience: float | None = None) -> Told | None:
        """Wait for the verdict, at most ``patience`` seconds; None where there is none, or none yet."""
        if not self._is_here:
            turn: Deferred[None] = Deferred()
            self._waiting.append(turn)
            timer = None if patience is None else call_later(patience, self._send_away, turn)
            await maybe_deferred_to_future(turn)
            if timer is not None:
                timer.cancel()
        return self.told

    def miss(self, why: str) -> None:
        """Note that there will be no verdict, and why."""
        self.missing = why
        self.tell(None)

    def tell(self, told: Told | None) -> None:
        """Hand over the verdict; everything that waits for it goes on."""
        self.told, self._is_here = told, True
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.called:  # it was called where its waiter was cancelled
                turn.callback(None)

    def _send_away(self, turn: Deferred[None]) -> None:
        if turn in self._waiting:
            self._waiting.remove(turn)
            if self.missing is None:
                self.missing = LATE
            if not turn.called:
                turn.callback(None)


@dataclass(eq=False)
class _Page:
    verdict: ComingVerdict
    items: dict[int, Any] = field(default_factory=dict)
    """Items that were found on the response and have not asked for its verdict yet; while they are kept here, no other
    object has their ``id``."""


class FoundItems:
    """The coming verdicts on captured responses, and the response on which each item was found.

    An item is recognised by its identity from its callback to the pipeline. It is forgotten there, or else with its
    response.
    """

    def __init__(self) -> None:
        self._pages: Final[WeakKeyDictionary[Response, _Page]] = WeakKeyDictionary()
        self._by_item: Final[WeakValueDictionary[int, _Page]] = WeakValueDictionary()

    def captured(self, response: Response, verdict: ComingVerdict) -> None:
        """Note that the response was handed over."""
        verdict.response = ref(response)
        self._pages[response] = _Page(verdict)

    def is_captured(self, response: Response) -> bool:
        """Whether the response was handed over already."""
        return response in self._pages

    def verdict_on(self, response: Response) -> ComingVerdict | None:
        """The verdict on the response; None where it was not captured."""
        page = self._pages.get(response)
        return None if page is None else page.verdict

    def found(self, item: Any, response: Response) -> None:
        """Note that the response's callback yielded the item."""
        page = self._pages.get(response)
        if page is not None:
            page.items[id(item)] = item
            self._by_item[id(item)] = page

    def verdict_of(self, item: Any) -> ComingVerdict | None:
        """The verdict on the page of this item, which can be read once; None where that page is not known."""
        page = self._by_item.pop(id(item), None)
        if page is None:
            return None
        del page.items[id(item)]
        return page.verdict
