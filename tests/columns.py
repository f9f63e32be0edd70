"""Batches and answers made from rows and turned into rows, as tests write and read them."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from crawler_plugin.wire.forgetting import Forget
from crawler_plugin.wire.messages import NEAR_REASONS, NOT_KNOWN, Answer, Batch, Claim, Hit, Order
from worker.stream.log_follower import Pending
from worker.verdict.claims import Claims


def batch_of(claims: Iterable[Claim], scheme: bytes = b"scheme-8", writer: bytes = b"w") -> Batch:
    return Claims.of(list(claims)).to_batch(scheme, writer)


def claims_of(batch: Batch | Forget) -> Sequence[Claim]:
    return [] if isinstance(batch, Forget) else list(Claims.of_batch(batch))


def pending(offset: int, *claims: Claim, writer: bytes = b"w") -> Pending:
    """A batch as a worker has read it."""
    return Pending(offset, writer, Claims.of(claims))


class Seen(NamedTuple):
    """An answer's data on the latest survivor of a claim's URL."""

    place: int
    order: Order
    tokens: int
    agreement: int


def answer_of(hits: Iterable[Hit] = (), void: Sequence[int] = (), seen: Sequence[Seen] = (), **fields: Any) -> Answer:
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
        no_page=bytes(hit.no_page for hit in hits),
        urls=tuple(hit.url for hit in hits),
        seen_at=column("I", (one.place for one in seen)),
        seen_batch=column("q", (one.order[0] for one in seen)),
        seen_place=column("I", (one.order[1] for one in seen)),
        seen_tokens=column("I", (one.tokens for one in seen)),
        seen_agreement=bytes(one.agreement for one in seen),
        **given,
    )


def hits_of(answer: Answer) -> list[Hit]:
    return [answer.hit(number) for number in range(len(answer.urls))]


def seen_of(answer: Answer) -> list[Seen]:
    columns = (
        struct.iter_unpack(f"<{letter}", column)
        for letter, column in (
            ("I", answer.seen_at), ("q", answer.seen_batch), ("I", answer.seen_place), ("I", answer.seen_tokens),
            ("B", answer.seen_agreement),
        )
    )  # fmt: skip
    rows = zip(*columns, strict=True)
    return [
        Seen(place, (batch, place_there), tokens, alike)
        for (place,), (batch,), (place_there,), (tokens,), (alike,) in rows
    ]


def void_of(answer: Answer) -> list[int]:
    return [place for (place,) in struct.iter_unpack("<I", answer.void)]


def claimed(log: Iterable[tuple[int, Batch | Forget]], scheme: bytes) -> Iterator[Claim]:
    """The claims of one scheme, in the order of the log."""
    for _, batch in log:
        if batch.scheme == scheme:
            yield from claims_of(batch)
