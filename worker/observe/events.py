"""Logs lifecycles and errors, one line for each event; traffic is only counted, and logged at ``debug``.

Each line also names its subject in fields, for JSON: ``event``, ``shard``, ``partition``, ``topic``, ``offset``, and
``source``, a page's partition and offset in ``pages`` (3:17), as verdicts and dead letters name it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from crawler_plugin.wire.forgetting import ForgetCondition
from crawler_plugin.wire.outcomes import SurvivorFinding
from worker.stream.log import Record
from worker.stream.observer import Observer
from worker.stream.states import PartitionState, ShardState
from worker.verdict.decide import Decision
from worker.verdict.suspects import in_words

_log = logging.getLogger("worker")


class EventLog(Observer):
    """Logs a line for each event: which shards and partitions it owns, what it restored, what it skipped; each page at
    ``debug``."""

    def shard_state(self, shard: int, state: ShardState) -> None:
        _log.info("shard %d: %s", shard, state.value, extra={"event": "shard", "shard": shard, "state": state.value})

    def partition_state(self, partition: int, state: PartitionState) -> None:
        about = {"event": "partition", "partition": partition, "state": state.value}
        _log.info("pages partition %d: %s", partition, state.value, extra=about)
        if state is PartitionState.UNCLAIMED:
            _log.warning(
                "partition %d of pages lies beyond topics.partitions, so its pages wait: run `python -m worker topics "
                "check`, which says what to set and how to go on",
                partition,
                extra=about,
            )

    def restored(self, shard: int, entries: int, blocks: int, damaged: int) -> None:
        about = {"event": "restored", "shard": shard, "entries": entries, "blocks": blocks, "damaged": damaged}
        _log.info("shard %d: restored %d entries from %d blocks", shard, entries, blocks, extra=about)
        if damaged:
            _log.warning(
                "shard %d: %d blocks lie above a gap; they were left out, and the worker reads the logs instead. Look "
                "with `python -m worker index inspect`",
                shard,
                damaged,
                extra=about,
            )

    def committed(self, pages: Sequence[tuple[Record, Decision]]) -> None:
        if not _log.isEnabledFor(logging.DEBUG):
            return
        for record, decision in pages:
            source = f"{record.partition}:{record.offset}"
            about = {"event": "committed", "source": source, "outcome": decision.outcome, "url": decision.claim.url}
            _log.debug(
                "page %s: %s, %s: %s", source, decision.outcome, decision.reason, decision.claim.url, extra=about
            )

    def suspect(self, finding: SurvivorFinding) -> None:
        about = {"event": "suspect", "url": finding.url, "page": finding.page, "pages": finding.copies}
        _log.warning("%s", in_words(finding), extra=about)

    def forgotten(self, shard: int, condition: ForgetCondition, offset: int, entries: int | None) -> None:
        words = condition.in_words
        about = {"event": "forgotten", "shard": shard, "offset": offset, "condition": words, "entries": entries}
        if entries is not None:
            _log.info("shard %d: forgot %d entries, %s (record %d)", shard, entries, words, offset, extra=about)
        else:
            _log.warning(
                "shard %d: record %d is void, %s are not forgotten: blocks can name no more requests to forget than "
                "they do. Copy the index (`python -m worker index copy`), and forget it in the new generation",
                shard,
                offset,
                words,
                extra=about,
            )

    def commit_failed(self, pages: int) -> None:
        about = {"event": "commit-failed", "pages": pages}
        _log.warning(
            "a transaction of %d pages failed; their partitions go on from the committed offset", pages, extra=about
        )

    def unreadable(self, topic: str, offset: int, why: str) -> None:
        about = {"event": "unreadable", "topic": topic, "offset": offset}
        text = "offset %d of %s is not ours and was passed over: %s. Find out who writes there"
        _log.warning(text, offset, topic, why, extra=about)

    def foreign_scheme(self, offset: int, scheme: bytes) -> None:
        _log.warning(
            "batch %d has scheme %s, not ours, and is void: a worker with other settings runs on these topics; stop it",
            offset,
            scheme.hex(),
            extra={"event": "foreign-scheme", "offset": offset, "scheme": scheme.hex()},
        )
