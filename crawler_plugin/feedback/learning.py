"""The learning of one crawl: reads its memory from the ``JOBDIR``, writes it back, and reports at the end."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path
from typing import Final

from crawler_plugin import stats
from crawler_plugin.crawl_log import CrawlLog
from crawler_plugin.feedback.decision import FeedbackPolicy, RequestDecision
from crawler_plugin.feedback.state_file import FILE, Known, read_known, write_known
from crawler_plugin.feedback.template_memory import TemplateMemory
from crawler_plugin.waiting_items import Told, learned_as
from crawler_plugin.wire.counted import counted

TOLD_GROUPS: Final = 20
"""The most groups whose decisions the log and the stats report."""


class Learning:
    """One per crawl. Used in the event loop's thread."""

    def __init__(self, policy: FeedbackPolicy, folder: str | None, log: CrawlLog) -> None:
        self.policy = policy
        self.memory = TemplateMemory(policy)
        self._path = None if folder is None else Path(folder) / FILE
        self._log = log
        self._failures: set[type[Exception]] = set()

    def open(self) -> None:
        """Read what an earlier run of the crawl has learned."""
        earlier = None if self.policy.earlier is None else Path(self.policy.earlier) / FILE
        known = None if self._path is None else self._read(self._path)
        if known is None and earlier is not None:
            known = self._read(earlier)
            if known is None:
                self._log.say(
                    logging.WARNING,
                    f"DEDUP_FEEDBACK_FROM: {earlier.absolute()} holds no knowledge, so the crawl begins without it. "
                    "Name the JOBDIR of a crawl that has ended, with DEDUP_FEEDBACK on",
                )
            else:
                known = known.of_an_earlier_crawl
        if known is not None:
            self.memory = TemplateMemory(self.policy, *known)

    def _read(self, path: Path) -> Known | None:
        try:
            return read_known(path)
        except (OSError, ValueError) as error:
            self._log.say(
                logging.WARNING,
                f"{path.absolute()} cannot be used ({error}): the crawl learns anew which templates give copies. "
                "The JOBDIR's file is written again when the crawl ends",
            )
            return None

    def learn(self, url: str, told: Told) -> None:
        """Learn from the verdict on a page. An error costs this one lesson and nothing else."""
        try:
            self.memory.learn(url, learned_as(told), None if told["suspect"] else told["duplicate_of"])
        except Exception as error:
            self.failed(error)

    def failed(self, error: Exception) -> None:
        """Count a URL that could not be learned from or decided on, and log the first error of each kind."""
        self._log.count(stats.FEEDBACK_ERRORS)
        if type(error) not in self._failures:
            self._failures.add(type(error))
            self._log.say(
                logging.ERROR,
                f"DEDUP_FEEDBACK failed on a URL ({type(error).__name__}: {error}) and ignores it; the crawl goes on. "
                f"{stats.FEEDBACK_ERRORS} counts such URLs; report this error",
            )

    def close(self) -> None:
        """Keep the memory for the next run, and log what was decided on requests."""
        if self._path is not None:
            try:
                write_known(self._path, self.memory, self.memory.variations)
            except OSError as error:
                self._log.say(
                    logging.WARNING,
                    f"{self._path.absolute()} cannot be written ({error.strerror}): if this crawl is resumed, it "
                    "learns anew which templates give copies. See that its JOBDIR can be written and has room",
                )
        self._say_what_became()

    def _say_what_became(self) -> None:
        would = "would have been " if self.policy.is_dry_run else ""
        told = self.memory.decisions()
        for group, counts, decisions in told[:TOLD_GROUPS]:
            explored = decisions[RequestDecision.EXPLORED]
            others = decisions - Counter({RequestDecision.EXPLORED: explored})
            if others:
                self._log.put(stats.FEEDBACK_BY + group, others.total())
            became = ", ".join(
                f"{number} {decision.value.replace('_', ' ')}" for decision, number in others.most_common()
            )
            self._log.say(
                logging.INFO,
                f"DEDUP_FEEDBACK: {group}: requests {would}{became or 'left out: none'}, {explored} explored; of "
                f"{counted(counts.verdicts, 'page')} with a verdict {counts.found} were new",
            )
        if rest := told[TOLD_GROUPS:]:
            requests = sum(decisions.total() for _, _, decisions in rest)
            self._log.say(
                logging.INFO,
                f"DEDUP_FEEDBACK: and {counted(requests, 'request')} of {counted(len(rest), 'other template')}",
            )
