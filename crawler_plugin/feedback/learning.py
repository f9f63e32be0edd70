"""The learning of one crawl: its memory from the ``JOBDIR`` and back, and what is told of it at the end."""

from __future__ import annotations

from pathlib import Path

from crawler_plugin.crawl_log import CrawlLog
from crawler_plugin.feedback.decision import FeedbackPolicy
from crawler_plugin.feedback.state_file import FILE, read_groups, write_groups
from crawler_plugin.feedback.template_memory import TemplateMemory


class Learning:
    """One a crawl. Used in the event loop's thread."""

    def __init__(self, policy: FeedbackPolicy, folder: str | None, log: CrawlLog) -> None:
        self.policy = policy
        self.memory = TemplateMemory(policy)
        self._path = None if folder is None else Path(folder) / FILE
        self._log = log
        self._failures: set[type[Exception]] = set()

    def open(self) -> None:
        """Take up what an earlier run of the crawl has learned."""
        if self._path is None:
            return
        try:
            self.memory = TemplateMemory(self.policy, read_groups(self._path))
        except (OSError, ValueError) as error:
            self._log.feedback_not_read(self._path, error)

    def learn(self, url: str, verdict: str) -> None:
        """The page has its verdict. Whatever goes wrong costs what would be learned of it, and nothing else."""
        try:
            self.memory.learn(url, verdict)
        except Exception as error:
            self.failed(error)

    def failed(self, error: Exception) -> None:
        """A URL could not be learned from, or decided on: it is counted, and said once of each kind."""
        self._log.feedback_failed(error, is_new=type(error) not in self._failures)
        self._failures.add(type(error))

    def close(self) -> None:
        """Keep it for the next run, and say what became of requests."""
        if self._path is not None:
            try:
                write_groups(self._path, self.memory)
            except OSError as error:
                self._log.feedback_not_written(self._path, error)
        self._log.fed_back(self.memory.decisions(), is_dry_run=self.policy.is_dry_run)
