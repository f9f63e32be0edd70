"""The plugin's Scrapy stats. Written in the event loop's thread only.

Each item that has passed, or each response that a callback got while responses are captured, counts in exactly one of
``published``, ``skipped/…`` and, by the plugin's own limit, ``rejected/oversize``. At the end of the crawl

    published + spool/found = confirmed + rejected/oversize_at_broker + spool/left + unconfirmed

With ``DEDUP_AWAIT`` each item whose page was published has a verdict, or counts in one of ``without_verdict/…``; with
``DEDUP_AWAIT_RESPONSES`` the same holds for each callback, in ``callback_without_verdict/…``. Where this process judges
pages itself (``DEDUP_MODE=local``), one of ``verdict/…`` and ``unjudged`` takes the place of ``published``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PUBLISHED: Final = "dedup/published"
PUBLISHED_BYTES: Final = "dedup/published_bytes"
CONFIRMED: Final = "dedup/confirmed"
UNCONFIRMED: Final = "dedup/unconfirmed"
SKIPPED: Final = "dedup/skipped/"
UNREAD: Final = "dedup/unread/"
MARKUP: Final = "dedup/markup_as_text"
TRUNCATED: Final = "dedup/truncated"
OVERSIZE: Final = "dedup/rejected/oversize"
OVERSIZE_AT_BROKER: Final = "dedup/rejected/oversize_at_broker"
SPOOL_FOUND: Final = "dedup/spool/found"
SPOOL_WRITTEN: Final = "dedup/spool/written"
SPOOL_LEFT: Final = "dedup/spool/left"
SPOOL_DAMAGED: Final = "dedup/spool/damaged"
SPOOL_ERRORS: Final = "dedup/spool/errors"
SEND_ERRORS: Final = "dedup/send_errors"
WAITED_SECONDS: Final = "dedup/waited_seconds"
WAITED_PAGES: Final = "dedup/waited_pages"
MOST_BUFFERED: Final = "dedup/buffered_bytes_max"
VERDICT: Final = "dedup/verdict/"
SUSPECT: Final = "dedup/suspect"
WITHOUT_VERDICT: Final = "dedup/without_verdict/"
CALLBACK_WITHOUT_VERDICT: Final = "dedup/callback_without_verdict/"
UNJUDGED: Final = "dedup/unjudged"
WOULD_DROP: Final = "dedup/would_drop/"
DROPPED: Final = "dedup/dropped/"
UNDROPPED: Final = "dedup/undropped"
UNTOLD: Final = "dedup/untold"
FEEDBACK: Final = "dedup/feedback/"
FEEDBACK_ERRORS: Final = "dedup/feedback_errors"
FEEDBACK_BY: Final = "dedup/feedback_by/"

STATS: Final[Mapping[str, str]] = {
    PUBLISHED: "pages handed over, for sending or to the spool",
    PUBLISHED_BYTES: "their bytes: bodies, URLs and headers",
    CONFIRMED: "pages that Kafka has confirmed, those of the spool included",
    UNCONFIRMED: "pages lost: when the crawl ended, Kafka had not confirmed them and the spool did not take them; 0 is "
    "written too",
    SPOOL_FOUND: "pages that an earlier crawl left in the spool",
    SPOOL_WRITTEN: "pages written to the spool",
    SPOOL_LEFT: "pages in the spool when the crawl ended, for the next one or `python -m crawler_plugin.spool`",
    SPOOL_DAMAGED: "places of the spool that were torn or damaged and passed over, each named in the log",
    SPOOL_ERRORS: "times that the spool did not take a page, or not all pages: disk or `DEDUP_SPOOL_BYTES` full",
    SKIPPED + "no_body": "items without body and text",
    SKIPPED + "bad_body": "items whose body or text is neither bytes nor str",
    SKIPPED + "bad_url": "items, and captured responses, without an absolute URL",
    SKIPPED + "bad_flag": "items, and captured responses, whose `dedup_store` or `dedup_pardon` is neither True nor "
    "False",
    SKIPPED + "no_item": "objects that are not items for itemadapter",
    SKIPPED + "captured": "items whose page was published already, as `DEDUP_CAPTURE` is on; they are not read",
    SKIPPED + "content_type": "responses not captured, by `DEDUP_CAPTURE_TYPES`",
    SKIPPED + "status": "responses not captured, by `DEDUP_CAPTURE_STATUS`",
    SKIPPED + "robots_txt": "responses not captured, as they are a site's robots.txt",
    SKIPPED
    + "switched_off": "responses whose request has `dedup` in its meta, and items whose field `dedup`, is False",
    UNREAD + "FIELD": "values of `status`, `encoding`, `content_type`, `fetched` or `dedup_scope` that could not be "
    "used, and were left out",
    MARKUP: "items whose `text` looks like markup, from which no text is extracted: it belongs in `body`",
    TRUNCATED: "pages of which only the beginning was sent, as they were larger than `DEDUP_MAX_PAGE_BYTES` or than "
    "the topic takes",
    OVERSIZE: "pages not sent, as they were too large",
    OVERSIZE_AT_BROKER: "those of them that were larger than the topic takes (its `max.message.bytes`)",
    SEND_ERRORS: "errors after which the plugin connected and sent pages again",
    WAITED_PAGES: "pages that waited, as `DEDUP_BUFFER_BYTES` were unconfirmed",
    WAITED_SECONDS: "seconds that these pages waited, in total",
    VERDICT + "unique": "pages whose verdict an item could learn (`DEDUP_MODE=local`, `DEDUP_AWAIT`), by the verdict; "
    "'dead' are those that could not be read",
    VERDICT + "duplicate": "the same",
    VERDICT + "refetch": "the same",
    VERDICT + "dead": "the same",
    SUSPECT: "those of the duplicates whose original is suspect; they are not dropped",
    WITHOUT_VERDICT + "late": "items that passed with `dedup` None, as the verdict was not there after `DEDUP_AWAIT`",
    WITHOUT_VERDICT + "spooled": "items that passed with `dedup` None, as their page went to the spool",
    WITHOUT_VERDICT + "too_large": "items that passed with `dedup` None, as their page is larger than the topic takes",
    CALLBACK_WITHOUT_VERDICT
    + "late": "callbacks of `DEDUP_AWAIT_RESPONSES` that were called without a verdict, by the reason",
    CALLBACK_WITHOUT_VERDICT + "spooled": "the same",
    CALLBACK_WITHOUT_VERDICT + "too_large": "the same",
    UNJUDGED: "pages that could not be judged, as the index or the disk was full; their items pass with `dedup` None",
    DROPPED + "REASON": "items dropped by `DEDUP_DROP`, by the reason of the verdict, such as `exact-text`",
    WOULD_DROP + "REASON": "items that would have been dropped without `DEDUP_DRY_RUN`, by the reason of the verdict",
    UNDROPPED: "items that passed though they were to be dropped, as they could not be written to `DEDUP_DROPPED`",
    UNTOLD: "items without a field for the verdict, or whose captured page is unknown; they pass without the verdict",
    FEEDBACK + "postponed": "requests put behind all others by `DEDUP_FEEDBACK`, as their template gave only copies; "
    "with `DEDUP_DRY_RUN` and `DEDUP_FEEDBACK_DRY_RUN`, here and below, requests to which this would have happened",
    FEEDBACK + "waited": "requests put back by one step, as the first ones like them had no verdict yet",
    FEEDBACK + "doubted": "requests put behind all but the postponed ones, as the first ones like them were copies",
    FEEDBACK + "dropped": "requests dropped as their template gave only copies",
    FEEDBACK + "explored": "requests made although their template gave only copies, to see whether new content has "
    "come",
    FEEDBACK + "over_budget": "requests dropped by `DEDUP_FEEDBACK_BUDGET`",
    FEEDBACK_ERRORS: "verdicts ignored, and requests made without a decision, since `DEDUP_FEEDBACK` failed on their "
    "URL; the first of each kind is in the log",
    FEEDBACK_BY + "TEMPLATE": "postponed and dropped requests of one template or group of templates; the 20 with the "
    "most are shown",
    MOST_BUFFERED: "peak of unconfirmed bytes, with 1 KiB added for each page",
}
"""Every stat and what it counts."""

LOST: Final = "dedup_unconfirmed"
FULL: Final = "dedup_full"
REFUSED: Final = "dedup_refused"
FINISH_REASONS: Final[Mapping[str, str]] = {
    LOST: "pages were lost",
    FULL: "the crawl was closed, since neither buffer nor spool could take more pages",
    REFUSED: "the crawl was closed before its first request, since its spool or its state could not be used, or since "
    "`DEDUP_REQUIRED` is on and broker, topic or the right to write was missing",
}
"""Values of Scrapy's ``finish_reason`` in addition to Scrapy's own."""
