"""Without Kafka: the same verdicts in one process, with the state in memory or in a folder."""

from __future__ import annotations

from crawler_plugin.wire.outcomes import Verdict
from worker.local.deduplicator import Deduplicator
from worker.local.page import FetchedPage

__all__ = ["Deduplicator", "FetchedPage", "Verdict"]
