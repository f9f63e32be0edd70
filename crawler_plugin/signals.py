"""The signal with which a crawl reports verdicts on its pages to extensions and spiders that listen.

    crawler.signals.connect(self.judged, signal=page_judged)

The receiver is called in the event loop's thread, with the arguments among these that it takes:

============  ========================================================================================================
``verdict``   ``crawler_plugin.wire.outcomes.Verdict``: the verdict of the topic ``verdicts`` or of the dead letter;
              with ``DEDUP_MODE = "local"`` the values that items get, and ``detail``
``url``       the page's URL as the crawl gave it
``request``   the request of the response that was captured; None where it is not known, or gone
``response``  that response; None likewise
``spider``    the spider
============  ========================================================================================================

The verdicts are those on all pages of the job and spider, including pages that another process has published under the
same names. For pages of other processes, and for pages in items, request and response are not known.
"""

from __future__ import annotations

from typing import Final

from pydispatch.dispatcher import getAllReceivers, liveReceivers
from scrapy.crawler import Crawler

page_judged: Final = object()
"""A page has its verdict. Connect in ``from_crawler``: verdicts are followed only if something listens by the time the
spider is opened."""


def is_heard(crawler: Crawler) -> bool:
    """Whether anything listens to ``page_judged``."""
    return any(True for _ in liveReceivers(getAllReceivers(crawler, page_judged)))
