"""Where the crawl's requests meet what it has learned: ``DEDUP_FEEDBACK = True``.

A downloader middleware does it. It meets a request when Scrapy takes it out of its queue, memory, disk or Redis alike:

- each request once, since the filter of duplicate requests has seen it before. Where requests are put into the queue a
  page that is linked a hundred times is met a hundred times, and each time would have another chance to be explored;
- with all verdicts that have come while it waited in the queue;
- with the way back open: a request that is returned goes into the queue again, with whatever priority it has.

Each request is put back once at most for each of the three reasons, the weaker ones first: it *waits* while nothing is
known of those like it, it is *doubted* while little is known, it is *postponed* by what is known. What was postponed
passes when it comes again: nothing better waits then. Where copies are dropped it may be dropped then, as far as
explored pages allow it.
"""

from __future__ import annotations

import logging
from typing import Final

from scrapy import Request
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http.request import NO_CALLBACK

from crawler_plugin import stats
from crawler_plugin.components.component import Component
from crawler_plugin.delivery import Delivery
from crawler_plugin.feedback.decision import RequestDecision

KEEP_KEY: Final = "dedup_keep"
"""``request.meta["dedup_keep"] = True``: the request is made, whatever its template gives and has had."""
MARK_KEY: Final = "dedup_feedback"
"""In ``request.meta``: what was decided, for which URL, and whether the request was to be filtered. The URL, since
spiders hand ``response.meta`` on to other requests."""
BEHIND: Final = {
    RequestDecision.WAITED: 1,
    RequestDecision.DOUBTED: 1_000_000,
    RequestDecision.POSTPONED: 2_000_000,
}
"""By how much the priority of a request is lower that waits: by one, as much as Scrapy's ``DEPTH_PRIORITY`` gives to
one more link on the way; by more than any crawl's own priorities differ."""
_MADE: Final = "made"


class FeedbackMiddleware(Component):
    """Postpones or drops requests of templates that give only copies. A downloader middleware."""

    def __init__(self, delivery: Delivery) -> None:
        super().__init__(delivery)
        if delivery.learning is None:
            raise NotConfigured("DEDUP_FEEDBACK is False")
        self._learning = delivery.learning

    def process_request(self, request: Request) -> Request | None:
        """Let the request go, put it behind all others, or drop it.

        Raises:
            IgnoreRequest: it is dropped.
        """
        try:
            return self._decided(request)
        except IgnoreRequest:
            raise
        except Exception as error:
            self._learning.failed(error)
            return None

    def _decided(self, request: Request) -> Request | None:
        if request.method != "GET" or request.callback is NO_CALLBACK:  # a form; robots.txt or a media pipeline's
            return None
        state, dont_filter = _mark_of(request)
        if state == _MADE:  # it is tried again
            return None
        memory = self._learning.memory
        was = next((waits for waits in BEHIND if waits.value == state), None)
        if was is not None:
            request.dont_filter = dont_filter
        decision = RequestDecision.LET_GO if request.meta.get(KEEP_KEY) else memory.decide(request.url, was)
        if decision is not RequestDecision.LET_GO:
            self._delivery.log.count(stats.FEEDBACK + decision.value)
        is_let_go = decision in (RequestDecision.LET_GO, RequestDecision.EXPLORED)
        if not is_let_go and self._learning.policy.is_dry_run:
            self._delivery.log.say(logging.DEBUG, f"DEDUP_FEEDBACK: would have {decision.value} {request}")
        elif decision in BEHIND:
            lower = BEHIND[decision] - (0 if was is None else BEHIND[was])
            later = request.replace(priority=request.priority - lower, dont_filter=True)
            later.meta[MARK_KEY] = [decision.value, request.url, request.dont_filter]
            return later
        elif not is_let_go:
            raise IgnoreRequest(f"dropped by DEDUP_FEEDBACK ({decision.value})")
        memory.let_go(request.url)
        request.meta[MARK_KEY] = [_MADE, request.url, request.dont_filter]
        return None


def _mark_of(request: Request) -> tuple[str | None, bool]:
    """What was decided on this very request, and whether it was not to be filtered."""
    match request.meta.get(MARK_KEY):
        case [str(state), url, bool(dont_filter)] if url == request.url:
            return state, dont_filter
    return None, False
