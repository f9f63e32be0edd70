"""Makes decisions visible: the owner of a page's partition writes outputs and consumed offset in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from crawler_plugin.wire.errors import UnreadableRecord
from crawler_plugin.wire.outcomes import NO_PAGE_HEADER, Verdict, dead_letter_headers
from crawler_plugin.wire.page_headers import PARDON_HEADER, SCOPE_HEADER, STORE_HEADER, PageMeta
from crawler_plugin.wire.topics import DEAD_LETTERS, DEDUPLICATED, VERDICTS
from crawler_plugin.wire.urls import canonical_url, without_userinfo
from worker.stream.log import Committed, Log, Output, Record, Sent, Ticket
from worker.stream.observer import Observer
from worker.stream.partition.job_sums import JobSums, ToldPage
from worker.stream.partition.owned import OwnedPartition
from worker.stream.partition.record_sizes import in_short, record_bytes, reference
from worker.stream.policy import Note, Policy, ReplayPoint
from worker.stream.states import PartitionState
from worker.verdict.decide import DEAD, DUPLICATE, Decision
from worker.verdict.told import told

OVERSIZE: Final = "oversize"
"""Reason of a dead letter without body and without headers that are not ours."""


def outputs_of(record: Record, decision: Decision, policy: Policy, *, counted: bool = False) -> list[Output]:
    """The records that one committed page leaves: a dead letter, or its verdict and, if it is copied, the page as is.

    A page that is only ``counted`` leaves nothing but its verdict, for comparison with the verdict of another
    generation. Our headers replace headers named ``dedup-…`` that the page brought along (a page fed back from
    ``deduplicated``), except those that say how to judge it: a dead letter may be sent again, and is then judged by
    them, too. A user name and password in its URL are not passed on, and a key that is another spelling of the URL,
    such as the key of a spider of another version, becomes ours.
    """
    kept = [
        (name, _without_userinfo(value) if name == "url" and value else value)
        for name, value in record.headers
        if not name.startswith("dedup-") or name in (SCOPE_HEADER, STORE_HEADER, PARDON_HEADER)
    ]
    passed_key = _key(record.key, decision.claim.url)
    source = (record.partition, record.offset)
    if decision.outcome == DEAD and counted:
        return []
    if decision.outcome == DEAD:
        reason, _, detail = decision.reason.partition(": ")
        key, body = passed_key, record.value
        if reason == OVERSIZE:  # leaves only the reference to its place in pages
            body = None
            key, kept = reference(key, kept)
        headers = [*kept, *dead_letter_headers(reason, detail, source)]
        return [Output(DEAD_LETTERS, record.partition, key, body, headers, source)]
    verdict = verdict_record(record, decision, policy.scheme)
    whose = verdict.crawl_headers()
    written = [Output(VERDICTS, record.partition, verdict.url.encode(), verdict.encode(), whose, source)]
    copied = policy.output == "tag" or (policy.output == "drop" and (decision.outcome != DUPLICATE or decision.suspect))
    if copied and not counted:
        headers = [*kept, *verdict.to_headers(), *_finding_headers(decision)]
        written.append(Output(DEDUPLICATED, record.partition, passed_key, record.value, headers, source))
    return written


def _key(given: bytes | None, url: str) -> bytes | None:
    """The key of a page's records: its canonical URL where the crawler has spelled that, otherwise the key that it came
    with."""
    if given is None or given == (spelled := url.encode()):
        return given
    with suppress(ValueError):
        if canonical_url(given.decode()) == url:
            return spelled
    return _without_userinfo(given)


def _without_userinfo(url: bytes) -> bytes:
    return without_userinfo(url.decode(errors="surrogateescape")).encode(errors="surrogateescape")


def _finding_headers(decision: Decision) -> list[tuple[str, bytes]]:
    """The findings on the page's original before this verdict: a hint, not part of the verdict."""
    return [NO_PAGE_HEADER] if decision.original is not None and decision.original.no_page else []


def verdict_record(record: Record, decision: Decision, scheme: bytes) -> Verdict:
    """The record of a decision that is no dead letter."""
    assert decision.outcome != DEAD
    try:
        said = PageMeta.from_headers(in_short(record.headers))
    except UnreadableRecord:
        said = None
    return told(decision).having(
        source=(record.partition, record.offset),
        scheme=scheme.hex(),
        fetched=None if said is None else said.fetched,
        url_as_given=None if said is None else without_userinfo(said.url),
        spider=None if said is None else said.spider,
        job=None if said is None else said.job,
        status=None if said is None else said.status,
    )


class PartitionCommit(NamedTuple):
    """One partition's part of the transaction in flight."""

    partition: OwnedPartition
    ready: list[tuple[Record, Decision]]
    committed: Committed


@dataclass(eq=False)
class Committer:
    """At most one transaction in flight.

    1. The polling thread notes, at the same moment, which partitions are owned and the proof of membership.
    2. Outputs and consumed offsets, each with its replay point, go into one transaction.
    3. If it is committed, the partitions move on. If it fails, its outcome is unknown, so the partitions start again
       from whatever offset the group has; pages that were committed after all are then not committed again.
    """

    log: Log
    policy: Policy
    observer: Observer
    parts: list[PartitionCommit] = field(default_factory=list)
    ticket: Ticket | None = None

    def __post_init__(self) -> None:
        self._sums = JobSums(self.policy)

    @property
    def idle(self) -> bool:
        """Whether no transaction is in flight."""
        return self.ticket is None

    def begin(
        self, places: Mapping[int, ReplayPoint], owned: Sequence[OwnedPartition], *, refresh: bool = False
    ) -> bool:
        """Commit the decisions; false if there is nothing to commit or it may not be done now.

        ``owned`` are the partitions that claim, ``places`` says where the follower of each stands. With ``refresh`` a
        partition that has nothing to commit commits the same offset with a newer replay point, so that the logs keep
        all that the point needs.
        """
        if self.ticket is not None:
            return False
        pages, size = self.policy.commit_pages, self.policy.commit_bytes
        outputs: list[Output] = []
        told: list[ToldPage] = []
        for partition in owned:
            ready = partition.settleable(pages, size)
            committed = partition.commit_point(len(ready), places[partition.number])
            point = Note.from_metadata(committed.metadata, f"partition {partition.number}").point
            if not ready and not (refresh and point != partition.committed_point):
                continue
            for record, decision in ready:
                counted = record.offset < partition.written_from
                written = outputs_of(record, decision, self.policy, counted=counted)
                outputs.extend(written)
                told += [ToldPage(output, decision, len(record.value or b"")) for output in written[:1]]
                size -= record_bytes(record.key, record.value, record.headers)
            pages -= len(ready)
            self.parts.append(PartitionCommit(partition, ready, committed))
            if pages <= 0 or size <= 0:
                break
        if not self.parts:
            return False
        membership = self.log.pages().membership()
        if membership.evicted:
            self.parts = []
            return False
        outputs.extend(self._sums.grown_by(told))
        offsets = {part.partition.number: part.committed for part in self.parts}
        self.ticket = self.log.transact(outputs, offsets, membership)
        return True

    def finish(self) -> list[OwnedPartition]:
        """See how the transaction in flight ended; returns the partitions that must start again."""
        if self.ticket is None or self.ticket.state is Sent.PENDING:
            return []
        through = self.ticket.state is Sent.DONE
        parts, self.parts, self.ticket = self.parts, [], None
        owned = [part for part in parts if part.partition.state is PartitionState.CLAIMING]
        if not through:
            self._sums.begin_anew()
            self.observer.commit_failed(sum(len(part.ready) for part in parts))
            return [part.partition for part in owned]
        self.observer.committed([committed for part in parts for committed in part.ready])
        for part in owned:
            part.partition.committed(len(part.ready), part.committed)
        return []
