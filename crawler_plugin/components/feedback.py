"""Applies what the crawl has learned to its requests: ``DEDUP_FEEDBACK = True``.

A downloader middleware does this. It sees a request when Scrapy takes it out of its queue, be it in memory, on the disk
or in Redis:

- each request once, since the filter of duplicate requests has seen it before. At the entry of the queue a page that is
  linked a hundred times would be seen a hundred times, and would have a new chance to be explored each time;
- with all verdicts that came while the request waited in the queue;
- with a way back: a request that is returned goes into the queue again, with the priority that it has then.

Each request is put back at most once for each of three reasons, the weaker ones first: it *waits* while nothing is
known of similar requests, it is *doubted* while little is known, it is *postponed* because of what is known. A
postponed request passes when it comes again: nothing better waits then. Where copies are dropped, the request may be
dropped at that point, as far as explored pages allow it.
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
"""``request.meta["dedup_keep"] = True``: the request is made, whatever its template has given and however many requests
it has had."""
MARK_KEY: Final = "dedup_feedback"
"""In ``request.meta``: the decision, its URL, and whether the request was to be filtered. The URL is needed because
spiders hand ``response.meta`` on to other requests."""
BEHIND: Final = {
    RequestDecision.WAITED: 1,
    RequestDecision.DOUBTED: 1_000_000,
    RequestDecision.POSTPONED: 2_000_000,
}
"""By how much the priority of a request that is put back is lowered: by one, as much as Scrapy's ``DEPTH_PRIORITY``
gives to one more link on the way; or by more than any crawl's own priorities differ."""
_MADE: Final = "made"


class FeedbackMiddleware(Component):
    """Postpones or drops requests whose templates give only copies. A downloader middleware."""

    def __init__(self, delivery: Delivery) -> None:
        super().__init__(delivery)
        if delivery.learning is None:
            raise NotConfigured("DEDUP_FEEDBACK is False")
        self._learning = delivery.learning

    def process_request(self, request: Request) -> Request | None:
        """Let the request go, put it behind other requests, or drop it.

        Raises:
            IgnoreRequest: the request is dropped.
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
        if state == _MADE:  # the request is retried
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
    """The earlier decision on this very request, and whether it was not to be filtered."""
    match request.meta.get(MARK_KEY):
        case [str(state), url, bool(dont_filter)] if url == request.url:
            return state, dont_filter
    return None, False
