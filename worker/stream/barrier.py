"""Records of ``fingerprints`` that no verdict may come of: nobody decides them, so nothing they say is taken over.

A claim is of a page that was read. So ``pages`` ends beyond it, if that is asked for *after* the claim was read; one at
or beyond that end is forged, or the topic was made anew. Taken for true it would make all pages up to there void, for
ever and in every worker. Whether it is refused may depend on when one looks, since ``pages`` grows; no verdict does: a
batch is decided by workers that all found its claims possible, or by none.

Every worker decides, settles and writes what lies before such a record, and ends. All then stand at the same place, and
the index can be copied from there (``worker.stream.copying``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, Protocol

from worker.errors import Refused, UnreadableRecord
from worker.messages import MAX_U64, Batch, Claim, decode
from worker.stream.policy import Policy
from worker.stream.ports import Bounds, Record
from worker.topics import FINGERPRINTS, PAGES

WAY_ON: Final = (
    "Find out who else may write there, and take the right away. Start the workers until each has ended so; then "
    "`python -m worker index copy --to NAME` and workers with topics.generation=NAME go on where these ended: nothing "
    "is lost"
)
_LARGEST: Final = 1 << 62


class Barred(Refused):
    """Everything before a record of ``fingerprints`` is decided, and that record must not be."""


class Barrier(NamedTuple):
    """A record that must not be decided, and why."""

    offset: int
    why: str

    def refusal(self) -> Barred:
        """What to say when everything before it is decided."""
        return Barred(f"record {self.offset} of {FINGERPRINTS} {self.why}. {WAY_ON}")


class Asked(Protocol):
    """The part of the log that is asked where pages end."""

    def bounds(self, topic: str, partition: int) -> Bounds:
        """Begin and end as of now."""


def highest(batch: Batch) -> dict[int, int]:
    """The highest claimed offset of each partition."""
    found: dict[int, int] = {}
    for claim in batch.claims:
        found[claim.partition] = max(claim.offset, found.get(claim.partition, -1))
    return found


def impossible(batch: Batch, partitions: int) -> str | None:
    """What no worker writes, whatever ``pages`` holds."""
    for claim in batch.claims:
        if not 0 <= claim.partition < partitions:
            return f"claims a page of partition {claim.partition}, and {PAGES} has {partitions}"
        if claim.offset < 0 or not _is_sound(claim):
            return f"claims page {claim.offset} of partition {claim.partition} with values that no worker writes"
    return None


def _is_sound(claim: Claim) -> bool:
    """Whether all numbers fit into the columns that they go into."""
    numbers = (claim.fingerprint or 0, claim.text_hash, claim.scope)
    return (
        -_LARGEST <= claim.clock <= _LARGEST
        and 0 <= claim.tokens < 1 << 32
        and 0 <= min(numbers) <= max(numbers) <= MAX_U64
    )


def beyond(batch: Batch, ends: Mapping[int, int]) -> str | None:
    """A claim at or beyond the end of its partition, in words; ``ends`` were asked for after the batch was read."""
    for partition, offset in highest(batch).items():
        if offset >= ends[partition]:
            return (
                f"(by writer {batch.writer.hex()}) claims page {offset} of partition {partition}, but {PAGES} ends "
                f"there at {ends[partition]}: no worker wrote it, or the topic was made anew under the same name (then "
                "make all topics anew, or give the new crawl a topics.prefix of its own)"
            )
    return None


def barriers(log: Asked, records: Iterator[Record], policy: Policy) -> Iterator[Barrier]:
    """Those among these records of ``fingerprints``, for who looks from outside."""
    for record in records:
        try:
            batch = decode(Batch, record.value)
        except UnreadableRecord:
            continue
        except Refused as refusal:
            yield Barrier(record.offset, f"cannot be read: {refusal}")
            continue
        if batch.scheme != policy.scheme:
            continue
        why = impossible(batch, policy.partitions)
        if why is None:
            why = beyond(batch, {partition: log.bounds(PAGES, partition).end for partition in highest(batch)})
        else:
            why = f"(by writer {batch.writer.hex()}) {why}"
        if why is not None:
            yield Barrier(record.offset, why)
