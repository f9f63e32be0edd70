"""Records of ``fingerprints`` that must not lead to a verdict: no worker decides them, so nothing they say is kept.

A claim is about a page that was read. So ``pages`` ends beyond that page, if the end is asked for *after* the claim was
read; a claim at or beyond that end is forged, or the topic was made anew. If workers took it for true, all pages up to
there would be void, for ever and in every worker. Whether a worker refuses it may depend on when the worker looks,
since ``pages`` grows, in partitions, too. No verdict depends on that: a batch is decided only by workers that all found
its claims possible, or by no worker.

Every worker decides, commits and writes all that lies before such a record, and ends. All workers then stand at the
same place, and the index can be copied from there (``worker.operations.copy_index``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from crawler_plugin.wire.errors import Refused, UnreadableRecord
from crawler_plugin.wire.forgetting import Forget
from crawler_plugin.wire.messages import decode_claims
from crawler_plugin.wire.topics import FINGERPRINTS, PAGES
from worker.stream.log import Bounds, Readable, Record
from worker.stream.policy import SUCCESSOR_HEADER, Policy
from worker.verdict.claims import Claims

WAY_ON: Final = (
    "Find out who else may write there, and take that right away. Start the workers again until each has ended with "
    "this message; then run `python -m worker index copy --to NAME`, and start workers with topics.generation=NAME: "
    "they go on where these ended, and nothing is lost"
)
NEW_PREFIX: Final = "give the crawl a topics.prefix of its own"
_NOBODY: Final = (
    "no worker wrote it, or the topic was made anew under the same name (then make all topics anew, or give the new "
    "crawl a topics.prefix of its own)"
)
_LARGEST: Final = 1 << 62


class Barred(Refused):
    """Everything before a record of ``fingerprints`` is decided, and that record must not be decided."""


class Barrier(NamedTuple):
    """A record that must not be decided, the reason, and what to do then."""

    offset: int
    why: str
    way_on: str = WAY_ON

    def refusal(self) -> Barred:
        """The message when everything before it is decided."""
        return Barred(f"record {self.offset} of {FINGERPRINTS} {self.why}. {self.way_on}")


class Ends:
    """The known ends of the partitions of ``pages``; they only grow.

    For a claim of a page that this worker has read, or of a page before a known end, it does not ask the broker. For
    pages that have just come and that others claim, it asks once for all partitions that were ever asked for: the
    answer serves the next batches, too. It calls ``has`` only for a partition that it meets for the first time.
    """

    def __init__(
        self, ask: Callable[[Sequence[tuple[str, int]]], Iterable[Bounds]], has: Callable[[str, int], bool]
    ) -> None:
        self._ask = ask
        self._has = has
        self._known: dict[int, int] = {}
        self._asked: set[int] = set()

    def seen(self, partition: int, offset: int) -> None:
        """Note that this page was read."""
        if offset >= self._known.get(partition, 0):
            self._known[partition] = offset + 1

    def after(self, claimed: Mapping[int, int]) -> Mapping[int, int]:
        """Ends of at least those of these partitions that ``pages`` has. It asks the broker unless all these offsets
        are known to lie before the ends.

        Raises:
            Unavailable: the broker does not answer.
        """
        unknown = [number for number, offset in claimed.items() if offset >= self._known.get(number, 0)]
        if unknown:
            self._asked.update(number for number in unknown if number in self._known or self._has(PAGES, number))
            numbers = sorted(self._asked)
            found = self._ask([(PAGES, number) for number in numbers])
            self._known.update(zip(numbers, (bounds.end for bounds in found), strict=True))
        return self._known


def end_of(record: Record) -> Barrier | None:
    """The end of a generation, if this record of ``fingerprints`` is one: from here on another generation has the
    outputs."""
    successor = dict(record.headers).get(SUCCESSOR_HEADER)
    if successor is None:
        return None
    name = successor.decode(errors="replace")
    return Barrier(
        record.offset,
        f"gives the outputs to topics.generation={name!r}, and all before it is committed",
        f"Start workers with topics.generation={name} in place of this one. If they only stand by, the copy broke off: "
        "run `python -m worker index copy` again, which says how to go on; nothing is lost",
    )


def unreadable(record: Record, refusal: Refused) -> Barrier:
    """A record in a format of another program, which may be a newer one of ours."""
    return Barrier(record.offset, f"cannot be read: {refusal}; or, if you have no such program, go on as follows")


def impossible(claims: Claims) -> str | None:
    """Why no worker can have written these claims, whatever ``pages`` holds; None if one can."""
    partition, offset = claims.partition, claims.offset
    odd = np.flatnonzero((partition < 0) | (offset < 0) | (claims.clock < -_LARGEST) | (claims.clock > _LARGEST))
    if not len(odd):
        return None
    place = int(odd[0])
    return f"claims page {offset[place]} of partition {partition[place]} with values that no worker writes"


def beyond(claimed: Mapping[int, int], ends: Mapping[int, int]) -> str | None:
    """Report a claim at or beyond its partition's end, if any; ``ends`` were asked for after the claims were read."""
    for partition, offset in claimed.items():
        if partition not in ends:
            return f"page {offset} of partition {partition}, and {PAGES} has no such partition"
        if offset >= ends[partition]:
            return f"page {offset} of partition {partition}, but {PAGES} ends there at {ends[partition]}"
    return None


def impossible_or_beyond(writer: bytes, claims: Claims, ends: Ends) -> str | None:
    """Why these claims of a writer must not be decided; None if they may be decided.

    Raises:
        Unavailable: the broker does not say where ``pages`` ends.
    """
    why = impossible(claims)
    if why is None:
        found = beyond(claims.highest, ends.after(claims.highest))
        why = None if found is None else f"claims {found}: {_NOBODY}"
    return None if why is None else f"(by writer {writer.hex()}) {why}"


def refuse_poisoned(claimed: Mapping[int, int], ends: Mapping[int, int], who: str) -> None:
    """Check that these blocks hold no claim that no page can have; a worker without this check has kept such a claim.

    Raises:
        Refused: they hold one, and the pages up to there would be passed over as if they had been claimed before.
    """
    if (why := beyond(claimed, ends)) is not None:
        raise Refused(
            f"{who} tell of a claim of {why}: {_NOBODY}. Workers would pass over every page up to there, and neither a "
            f"repair nor a copy can tell what else followed from it. Stop all workers, and {NEW_PREFIX}"
        )


def outside(place: Readable) -> Ends:
    """The ends of ``pages`` for a command that is no worker; it asks for each partition separately."""
    return Ends(lambda places: [place.bounds(topic, number) for topic, number in places], place.has_partition)


def barriers(ends: Ends, records: Iterable[Record], policy: Policy) -> Iterator[Barrier]:
    """The barriers among these records of ``fingerprints``, for a command that is no worker."""
    for record in records:
        if (ended := end_of(record)) is not None:
            yield ended
            continue
        try:
            batch = decode_claims(record.value)
        except UnreadableRecord:
            continue
        except Refused as refusal:
            yield unreadable(record, refusal)
            continue
        if batch.scheme != policy.scheme or isinstance(batch, Forget):
            continue
        try:
            claims = Claims.of_batch(batch)
        except UnreadableRecord:
            continue
        if (why := impossible_or_beyond(batch.writer, claims, ends)) is not None:
            yield Barrier(record.offset, why)
