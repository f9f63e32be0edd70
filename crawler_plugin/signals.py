"""What a crawl tells of its pages as they are judged, to extensions and spiders that listen.

    crawler.signals.connect(self.judged, signal=page_judged)

The receiver is called in the event loop's thread, with those of these arguments that it takes:

============  ========================================================================================================
``verdict``   ``crawler_plugin.wire.outcomes.Verdict``: what the topic ``verdicts`` or the dead letter says of the page;
              with ``DEDUP_MODE = "local"`` what items are told, and ``detail``
``url``       the page's URL as the crawl gave it
``request``   the request of the response that was captured; None where it is not known, or gone
``response``  that response; None likewise
``spider``    the spider
============  ========================================================================================================

The verdicts are those on all pages of the job and spider, those that another process has published under the same names
included; of these, and of pages in items, request and response are not known.
"""

from __future__ import annotations

from typing import Final

from pydispatch.dispatcher import getAllReceivers, liveReceivers
from scrapy.crawler import Crawler

page_judged: Final = object()
"""A page has its verdict. Connect in ``from_crawler``: verdicts are followed if something listens to them by the time
that the spider is opened."""


def is_heard(crawler: Crawler) -> bool:
    """Whether somebody listens to ``page_judged``."""
    return any(True for _ in liveReceivers(getAllReceivers(crawler, page_judged)))
