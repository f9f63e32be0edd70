"""What one crawl counts and says: the plugin's Scrapy stats and its log lines, each of which names the next move.

Written in the event loop's thread alone, but for what is said at the exit of the process.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from scrapy.crawler import Crawler
from scrapy.statscollectors import StatsCollector

from crawler_plugin import stats
from crawler_plugin.feedback.decision import RequestDecision
from crawler_plugin.feedback.evidence import GroupCounts
from crawler_plugin.judging.verdicts import LATE, SPOOLED, TOO_LARGE, Told
from crawler_plugin.metrics.server import ListenAddress
from crawler_plugin.publishing.outbox import Report
from crawler_plugin.record import PageRecord
from crawler_plugin.settings import PluginSettings
from crawler_plugin.spool.file import Appended, Spool, named, sending
from crawler_plugin.spool.numbered import Opened
from crawler_plugin.wire.outcomes import JobMark

NAMED_PAGES: Final = 5
TOLD_GROUPS: Final = 20
"""Of which log and stats tell what became of their requests."""
_UNREADABLE: Final = "unreadable verdicts"
_log = logging.getLogger(__name__)


class CrawlLog:
    """Needs the crawl's settings, since its lines name them with their values."""

    def __init__(self, crawler: Crawler, settings: PluginSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._warned: set[str] = set()

    def say(self, level: int, message: str) -> None:
        """Log it as the spider's."""
        _log.log(level, message, extra={"spider": self._crawler.spider})

    def count(self, name: str, by: int = 1) -> None:
        """Add to one of Scrapy's stats."""
        self._stats.inc_value(name, by)

    def skip(self, name: str, message: str, level: int = logging.WARNING) -> None:
        """Count something under this name, and log the first one of its kind."""
        self.count(name)
        self.warn_once(name, message, level)

    def warn_once(self, kind: str, message: str, level: int = logging.WARNING) -> None:
        """Log the first message of its kind; the stat of this name counts the others."""
        if kind not in self._warned:
            self._warned.add(kind)
            self.say(level, f"{message}. Further ones are only counted, as {kind}")

    def foreign(self, names: Sequence[str]) -> None:
        """Settings that begin as the plugin's do, and are none of them."""
        self.say(
            logging.WARNING,
            f"{', '.join(names)}: no setting of crawl-dedup, passed over. If no other program reads it, correct the "
            "name: docs/reference/plugin.md lists all settings",
        )

    def markup_as_text(self, page: PageRecord, fields: Mapping[str, str]) -> None:
        """An item has markup where text is expected."""
        text, body = fields["text"], fields.get("body")
        other = "a field that DEDUP_FIELDS names for 'body'" if body is None else repr(body)
        self.skip(
            stats.MARKUP,
            f"{page.url}: its field {text!r} looks like markup, and is compared with other pages tags, menus and all. "
            f"Yield it as {other}, out of which the text is extracted, or write "
            f"DEDUP_FIELDS = {{'body': {text!r}, 'text': None}}",
        )

    def published(self, page: PageRecord) -> None:
        """A page was handed over."""
        self.count(stats.PUBLISHED)
        self.count(stats.PUBLISHED_BYTES, page.size)

    def waited(self, seconds: float) -> None:
        """A page waited for room."""
        self.count(stats.WAITED_PAGES)
        self._stats.set_value(stats.WAITED_SECONDS, self._stats.get_value(stats.WAITED_SECONDS, 0.0) + seconds)

    def too_large(self, page: PageRecord, *, is_cut: bool) -> None:
        """A page was larger than ``DEDUP_MAX_PAGE_BYTES``."""
        name, what = (stats.TRUNCATED, "cut off there") if is_cut else (stats.OVERSIZE, "not sent")
        self.skip(
            name,
            f"{page.url}: {page.size} bytes are more than DEDUP_MAX_PAGE_BYTES={self._settings.max_page_bytes}, the "
            f"page is {what}. Raise that setting (and the worker's topics.max_message_bytes) or change DEDUP_OVERSIZE",
        )

    def found_in(self, opened: Opened) -> None:
        """The spool was opened."""
        spool = opened.spool
        self._stats.set_value(stats.SPOOL_FOUND, spool.left)
        if spool.left:
            self.say(logging.INFO, f"{spool.left} pages that an earlier crawl left in {spool.path} are sent, too")
        damage = [*named(spool.damaged, spool.path), *opened.damage]
        if damage:
            self.count(stats.SPOOL_DAMAGED, len(damage))
        for line in damage:
            self.say(logging.ERROR, line)
        for line in opened.passed_over:
            self.say(logging.WARNING, line)

    def stored(self, appended: Appended) -> None:
        """Pages went to the spool, or did not."""
        if appended.pages:
            self.count(stats.SPOOL_WRITTEN, appended.pages)
        if appended.trouble is not None:
            self.count(stats.SPOOL_ERRORS)
            self.warn_once(
                stats.SPOOL_ERRORS,
                f"the spool does not take a page ({appended.trouble}): make room there or raise DEDUP_SPOOL_BYTES. "
                "Meanwhile the crawl waits for Kafka",
                level=logging.ERROR,
            )

    def full(self) -> None:
        """The crawl is closed, since nothing takes its pages any more."""
        self.say(
            logging.ERROR,
            f"DEDUP_BUFFER_BYTES={self._settings.buffer_bytes} of pages are not confirmed by Kafka and no more can "
            f"be taken, so the crawl is closed ({stats.FULL}). See that the broker at {self._servers} runs; "
            "DEDUP_ON_FULL and DEDUP_SPOOL say where pages go else",
        )

    def waits_at_its_end(self, pages: int, seconds: float, *, has_spool: bool) -> None:
        """The crawl is over but for these pages, for which it waits so much longer."""
        then = "they go to the spool" if has_spool else "they are lost"
        self.say(
            logging.INFO,
            f"waiting for Kafka to confirm {pages} pages, {seconds:.0f} s more; then {then} (DEDUP_FLUSH_TIMEOUT)",
        )

    def collected(self, report: Report) -> None:
        """What the publisher has reported."""
        if report.confirmed:
            self.count(stats.CONFIRMED, report.confirmed)
        if report.send_errors:
            self.count(stats.SEND_ERRORS, report.send_errors)
        for page in report.cut:
            self.count(stats.TRUNCATED)
            self.warn_once(
                f"{stats.TRUNCATED} for the topic",
                f"{page.url}: {page.size} bytes are more than {self._settings.topic} takes, the page is cut off there. "
                "Raise max.message.bytes of that topic (the worker's topics.max_message_bytes) or change "
                "DEDUP_OVERSIZE",
            )
        for page in report.refused:
            self.count(stats.OVERSIZE)
            self.skip(
                stats.OVERSIZE_AT_BROKER,
                f"{page.url}: {page.size} bytes are too large for {self._settings.topic}, the page is left out. "
                "Lower DEDUP_MAX_PAGE_BYTES or raise max.message.bytes of that topic (the worker's "
                "topics.max_message_bytes)",
            )
        for notice in report.notices:
            self.say(logging.WARNING if notice.is_trouble else logging.INFO, notice.message)

    def sum_up(self, lost: Sequence[PageRecord], spool: Spool | None, *, most_buffered: int, heard: str | None) -> None:
        """The crawl has ended; ``heard`` is kafka-python's last complaint."""
        self._stats.set_value(stats.UNCONFIRMED, len(lost))
        self._stats.set_value(stats.MOST_BUFFERED, most_buffered)
        why = f" (the last that was heard: {heard})" if heard else ""
        if spool is not None:
            self._stats.set_value(stats.SPOOL_LEFT, spool.left)
            if spool.left:
                self.say(
                    logging.WARNING,
                    f"{spool.left} pages that Kafka has not confirmed{why} are in {spool.path}, {_sending(spool.path)}",
                )
        if lost:
            self.say(
                logging.ERROR,
                f"{len(lost)} pages were not confirmed by Kafka within DEDUP_FLUSH_TIMEOUT="
                f"{self._settings.flush_timeout:g} s, are in no spool and may be missing on {self._settings.topic}: "
                f"{_some(lost)}{why}. See that the broker at {self._servers} runs and has that topic, and crawl them "
                "again; a spool with room would have kept them (DEDUP_SPOOL)",
            )

    def unmarked(self, marks: Sequence[JobMark]) -> None:
        """The topic ``jobs`` could not be told how many pages it was."""
        if any(mark.pages for mark in marks):
            self.say(
                logging.INFO,
                f"{self._settings.jobs} was not told how many pages of which job were published: "
                f"{', '.join(f'{mark.pages} of {mark.job}' for mark in marks)}. python -m worker verdicts --job cannot "
                "tell when their verdicts are complete; the topic is made by python -m worker topics create",
            )

    def stopped_by_force(self, pages: Sequence[PageRecord], stored: Appended, spool: Spool | None) -> None:
        """The process ends with these pages unconfirmed, the first of which were stored."""
        lost = pages[stored.pages :]
        if stored.pages and spool is not None:
            self.say(
                logging.WARNING,
                f"the crawl was stopped by force; {stored.pages} pages that Kafka had not confirmed are in "
                f"{spool.path}, {_sending(spool.path)}",
            )
        if lost:
            self.say(
                logging.ERROR,
                f"the crawl was stopped by force and {len(lost)} pages that Kafka had not confirmed are lost"
                f"{f' ({stored.trouble})' if stored.trouble else ''}: {_some(lost)}. Crawl them again",
            )

    def opens(self, state: str | None) -> None:
        """The process that judges is being started."""
        kept = (
            f"their state is in {Path(state).absolute()}"
            if state
            else "only with each other: a folder in DEDUP_STATE, or a JOBDIR, keeps what was seen for the next crawl"
        )
        self.say(
            logging.INFO,
            f"pages are compared on this machine, {kept}. On a machine where that was never done it begins with half a "
            "minute of compiling",
        )

    def opened(self, state: str | None, judged: int) -> None:
        """It is there."""
        if state is not None:
            self.say(logging.INFO, f"{judged} pages were judged before by the state in {state}")

    def heard(self, told: Told) -> None:
        """A page has its verdict."""
        self.count(stats.VERDICT + told["verdict"])
        if told["suspect"]:
            self.count(stats.SUSPECT)

    def judged(self, page: PageRecord, told: Told, reason: str) -> None:
        """A page has its verdict, from this machine."""
        self.heard(told)
        if told["verdict"] == "dead":
            self.warn_once(stats.VERDICT + "dead", f"{page.url}: the page cannot be compared with others ({reason})")

    def without_verdict(self, item: object, why: str) -> None:
        """An item passes without the verdict on its page."""
        means = {
            LATE: f"it was not there after DEDUP_AWAIT={self._settings.patience:g} seconds: see that workers run and "
            "keep up (dedup_lag_seconds), and leave some seconds more than their commit.seconds",
            SPOOLED: "the page is in the spool, and judged when that is sent",
            TOO_LARGE: "the page is larger than the topic takes",
        }
        self.skip(
            stats.WITHOUT_VERDICT + why, f"a {type(item).__name__} passes without the verdict on its page: {means[why]}"
        )

    def unreadable_verdicts(self, error: Exception) -> None:
        """Verdicts do not come back to the crawl, until they do."""
        if _UNREADABLE in self._warned:
            return
        self._warned.add(_UNREADABLE)
        self.say(
            logging.WARNING,
            f"no verdict can be read from {self._settings.verdicts} and {self._settings.dead_letters} at "
            f"{self._servers} ({type(error).__name__}: {error}); it is tried again. See that the topics are there "
            "(python -m worker topics create), that DEDUP_GENERATION is the workers' topics.generation, and that the "
            "crawl may read them (deploy/kafka/acls.sh)",
        )

    def unjudged(self, page: PageRecord, error: BaseException) -> None:
        """A page has no verdict, and no page after it will."""
        self.count(stats.UNJUDGED)
        self.warn_once(
            stats.UNJUDGED,
            f"{page.url}: the page cannot be judged: {error}. From here on items pass without a verdict; once that is "
            "mended, the next crawl goes on with what the state holds",
            level=logging.ERROR,
        )

    def not_written(self, error: Exception) -> None:
        """The state does not hold what was judged last."""
        self.say(logging.ERROR, f"the next crawl will not know all pages of this one: {error}")

    def shows(self, address: ListenAddress) -> None:
        """Prometheus may ask there."""
        self.say(logging.INFO, f"metrics of this crawl: http://{address}/metrics")

    def cannot_show(self, asked: ListenAddress, error: OSError) -> None:
        """Nothing can listen there."""
        self.say(
            logging.ERROR,
            f"DEDUP_STATS_PORT: nothing can listen on {asked} ({error.strerror or error}), so nobody can watch this "
            "crawl, which goes on; name a free port, and an address of this machine if any",
        )

    def counts(self) -> dict[str, object]:
        """All stats at one moment. May be called in any thread: a copy of a dict is made in one step."""
        return dict(self._stats.get_stats())

    def feedback_not_read(self, path: Path, error: Exception) -> None:
        """What an earlier run has learned is of no use."""
        self.say(
            logging.WARNING,
            f"{path.absolute()} cannot be used ({error}): the crawl learns anew which templates give copies. The file "
            "is written again when the crawl ends",
        )

    def feedback_failed(self, error: Exception, *, is_new: bool) -> None:
        """A page or a request goes on without what is learned from verdicts."""
        self.count(stats.FEEDBACK_ERRORS)
        if is_new:
            self.say(
                logging.ERROR,
                f"DEDUP_FEEDBACK failed on a URL ({type(error).__name__}: {error}), which is let go; the crawl goes "
                f"on. {stats.FEEDBACK_ERRORS} counts them; report this",
            )

    def feedback_not_written(self, path: Path, error: OSError) -> None:
        """The next run will have to learn it again."""
        self.say(
            logging.WARNING,
            f"{path.absolute()} cannot be written ({error.strerror}): if this crawl is resumed, it learns anew which "
            "templates give copies. See that its JOBDIR can be written and has room",
        )

    def fed_back(self, told: Sequence[tuple[str, GroupCounts, Counter[RequestDecision]]], *, is_dry_run: bool) -> None:
        """The crawl has ended: what became of requests by what which group knew."""
        if not told:
            return
        would = "would have been " if is_dry_run else ""
        for group, counts, decisions in told[:TOLD_GROUPS]:
            explored = decisions[RequestDecision.EXPLORED]
            left = decisions.total() - explored
            if left:
                self._stats.set_value(stats.FEEDBACK_BY + group, left)
            became = ", ".join(
                f"{number} {decision.value.replace('_', ' ')}"
                for decision, number in decisions.most_common()
                if decision is not RequestDecision.EXPLORED
            )
            self.say(
                logging.INFO,
                f"DEDUP_FEEDBACK: {group}: requests {would}{became or 'left out: none'}, {explored} explored; of "
                f"{counts.verdicts} pages with a verdict {counts.found} were new",
            )
        if len(told) > TOLD_GROUPS:
            rest = sum(decisions.total() for _, _, decisions in told[TOLD_GROUPS:])
            self.say(logging.INFO, f"DEDUP_FEEDBACK: and {rest} requests of {len(told) - TOLD_GROUPS} other templates")

    def failed(self) -> None:
        """Pages were lost: let nobody take the crawl for a success."""
        self._stats.set_value("finish_reason", stats.LOST)

    @property
    def _servers(self) -> str:
        return ",".join(self._settings.bootstrap_servers)

    @property
    def _stats(self) -> StatsCollector:
        collector = self._crawler.stats
        assert collector is not None, "Scrapy makes the stats before its components"
        return collector


def _some(pages: Sequence[PageRecord]) -> str:
    """URLs of the first ones, and how many more there are."""
    named = ", ".join(page.url for page in pages[:NAMED_PAGES])
    return named if len(pages) <= NAMED_PAGES else f"{named} and {len(pages) - NAMED_PAGES} more"


def _sending(path: Path) -> str:
    return f"the next crawl with that spool sends them, or now: {sending(path)}"
