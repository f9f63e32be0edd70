"""Batches and answers from rows, and rows of them, as tests write and read them."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from worker.messages import NEAR_REASONS, NOT_KNOWN, Answer, Batch, Claim, Hit
from worker.stream.log_follower import Pending
from worker.verdict.claims import Claims


def batch_of(claims: Iterable[Claim], scheme: bytes = b"scheme-8", writer: bytes = b"w") -> Batch:
    return Claims.of(list(claims)).to_batch(scheme, writer)


def claims_of(batch: Batch) -> Sequence[Claim]:
    return list(Claims.of_batch(batch))


def pending(offset: int, *claims: Claim, writer: bytes = b"w") -> Pending:
    """A batch as a worker has read it."""
    return Pending(offset, writer, Claims.of(claims))


def answer_of(hits: Iterable[Hit] = (), void: Sequence[int] = (), **fields: Any) -> Answer:
    hits = list(hits)

    def column(letter: str, values: Iterable[int]) -> bytes:
        numbers = list(values)
        return struct.pack(f"<{len(numbers)}{letter}", *numbers)

    given = {"scheme": b"scheme-8", "writer": b"w", "batch": 0, "shard": 0, **fields}
    return Answer(
        void=column("I", void),
        place=column("I", (hit.place for hit in hits)),
        original_batch=column("q", (hit.order[0] for hit in hits)),
        original_place=column("I", (hit.order[1] for hit in hits)),
        distance=bytes(NOT_KNOWN if hit.distance is None else hit.distance for hit in hits),
        agreement=bytes(NOT_KNOWN if hit.agreement is None else hit.agreement for hit in hits),
        reason=bytes(NEAR_REASONS.index(hit.reason) for hit in hits),
        urls=tuple(hit.url for hit in hits),
        **given,
    )


def hits_of(answer: Answer) -> list[Hit]:
    return [answer.hit(number) for number in range(len(answer.urls))]


def void_of(answer: Answer) -> list[int]:
    return [place for (place,) in struct.iter_unpack("<I", answer.void)]


def claimed(log: Iterable[tuple[int, Batch]], scheme: bytes) -> Iterator[Claim]:
    """The claims of one scheme, in the order of the log."""
    for _, batch in log:
        if batch.scheme == scheme:
            yield from claims_of(batch)
