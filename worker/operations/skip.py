"""Skips, by hand, pages that no worker has claimed: for a page that kills every process that reads it.

For each page it writes a *dead* claim with the reason ``skipped``, as a worker would have written it: to the log, so
that all workers reach the same result, and in strict order of offset, so that no page without a claim is left behind.
Hence only the page right after the highest claim of its partition can be skipped, and then the next.

The worker that owns the partition next does not parse the page, since the page is claimed. The dead letter has neither
body nor headers of the page, so the worker needs nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from crawler_plugin.wire.errors import Refused, UsageError
from crawler_plugin.wire.messages import Claim, encode
from crawler_plugin.wire.topics import FINGERPRINTS, PAGES
from worker.operations.repair import Place, highest_claims, refuse_workers
from worker.operations.switch import consumed_offset
from worker.stream.log import read_to_end
from worker.stream.partition.owned import SKIPPED
from worker.stream.policy import SCHEME_HEADER, Note, Policy
from worker.stream.replay import Reach, check_reach, logs_of
from worker.verdict.claims import Claims

DETAIL: Final = "by hand, with repair --skip"


class Spot(NamedTuple):
    """One page by partition and offset in ``pages``; reads as ``3:17``."""

    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.partition}:{self.offset}"


def skip(place: Place, spots: Iterable[Spot], policy: Policy) -> list[Spot]:
    """Claim these pages as dead, in one batch; returns them in the order of their claims.

    Raises:
        Refused: workers are running, a partition was never consumed, or records that they would read are gone.
        UsageError: a page is not the next one without a claim; nothing was written.
        Unavailable: a transaction is pending, or the broker did not accept the record.
    """
    refuse_workers(place)
    ordered = sorted(set(spots))
    claims: list[Claim] = []
    highest: dict[int, int] = {}
    for spot in ordered:
        if spot.partition not in highest:
            highest[spot.partition] = highest_claim(place, spot.partition, policy)
        _refuse_other(place, spot, highest[spot.partition])
        highest[spot.partition] = spot.offset
        # A clock of 0 moves no watermark: the fetch time stands in the page, which is not read.
        claims.append(Claim(partition=spot.partition, offset=spot.offset, clock=0, url="", dead=f"{SKIPPED}: {DETAIL}"))
    batch = Claims.of(claims).to_batch(policy.scheme, policy.writer)
    place.write([(FINGERPRINTS, 0, b"", encode(batch), [(SCHEME_HEADER, policy.scheme_text)])])
    return ordered


def highest_claim(place: Place, partition: int, policy: Policy) -> int:
    """The highest claimed offset of a partition as its next owner will find it: by the consumed offset, and by the log.

    Raises:
        Refused: the partition was never consumed, or the log does not reach back so far.
        Unavailable: a transaction is pending.
    """
    committed = consumed_offset(place, partition)
    if committed is None:
        raise Refused(
            f"partition {partition} of {PAGES} has no consumed offset, so no worker has read its pages yet: start one, "
            "or run `python -m worker repair` if workers have run before"
        )
    point = Note.from_metadata(committed.metadata, f"partition {partition} of {PAGES}").point
    if (reach := check_reach(logs_of(place), point)) is not Reach.FINE:
        raise Refused(
            f"the record from which partition {partition} of {PAGES} goes on is {reach.value}: run `python -m worker "
            "repair` first"
        )
    highest = committed.offset - 1
    begin, end = place.bounds(FINGERPRINTS, 0)
    for record in read_to_end(place.reader(FINGERPRINTS, 0, max(begin, point.batch)), end):
        highest = max(highest, highest_claims(record.value, policy).get(partition, -1))
    return highest


def _refuse_other(place: Place, spot: Spot, highest: int) -> None:
    """Check that it is the first page after the highest claim. It is not read: that might kill this command, too."""
    begin, end = place.bounds(PAGES, spot.partition)
    where = f"partition {spot.partition} of {PAGES}"
    if spot.offset <= highest:
        raise UsageError(
            f"page {spot} is claimed already, like all pages of {where} up to offset {highest}, so no worker parses it "
            "again before its verdict: start the workers"
        )
    if not begin <= spot.offset < end:
        raise UsageError(f"{where} holds offsets {begin} to {end - 1}, and no page {spot}: check the number")
    if (before := _first_page(place, spot.partition, max(begin, highest + 1), spot.offset)) is not None:
        raise UsageError(
            f"page {spot} is not the next one of {where}: workers claim pages in the order of offsets, and {before} is "
            f"next. Give --skip {spot.partition}:{before} first, and one for each page from there to {spot}"
        )


def _first_page(place: Place, partition: int, begin: int, end: int) -> int | None:
    """The first page in a range of offsets; None if the range holds only the ends of transactions."""
    if begin >= end:
        return None
    return next((record.offset for record in read_to_end(place.reader(PAGES, partition, begin), end)), None)
