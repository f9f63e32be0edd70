"""Helpers for the index tests: survivors, fingerprints of awkward kinds, and the readable definition of a look-up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from crawler_plugin.wire.forgetting import MAX_U64
from crawler_plugin.wire.messages import Claim
from tests.index.reference import ReferenceTables
from worker.fingerprint.near import Ratio, SimHashNear
from worker.index.engine import TableSizes
from worker.index.entries import Entries, Survivor
from worker.index.queries import Found, Queries

ENGINES = {"compiled": None, "by definition": ReferenceTables}

CORNERS = (0, MAX_U64, 0xFFFF, 0xFFFF << 48, 0x0123456789ABCDEF, 0xAAAAAAAAAAAAAAAA, 1 << 63)


def flipped(fingerprint: int, bits: Iterable[int]) -> int:
    """The fingerprint with these bits changed."""
    for bit in bits:
        fingerprint ^= 1 << bit
    return fingerprint


def page(
    fingerprint: int | None = None,
    *,
    order: tuple[int, int] = (0, 0),
    text_hash: int = 0,
    url: str | None = None,
) -> Survivor:
    """A survivor of which only these values matter."""
    return Survivor(order, url or f"https://example.org/{order[0]}/{order[1]}", fingerprint, text_hash, 9, order[0])


def survivors_of(fingerprints: Sequence[int | None], batch: int = 0) -> list[Survivor]:
    """One batch of survivors."""
    return [page(value, order=(batch, place)) for place, value in enumerate(fingerprints)]


TINY = TableSizes(
    chunk_bits=5,
    least_region=512,
    most_region=4096,
    entries_a_row=2,
    split_from=12,
    copy_from=5,
    swept_rows=9,
    cleaned=50,
    bulk_from=100,
)
"""Sizes at which a few hundred entries take every path that millions take."""


def columns_of(
    fingerprints: NDArray[np.uint64], *, a_batch: int = 50, tokens: NDArray[np.uint32] | None = None
) -> Entries:
    """Many entries with these fingerprints, ``a_batch`` of them per batch."""
    count = len(fingerprints)
    number = np.arange(count)
    return Entries(
        batch=number // a_batch,
        place=(number % a_batch).astype(np.uint32),
        fingerprint=fingerprints,
        bare=np.zeros(count, np.bool_),
        text_hash=fingerprints,
        tokens=np.full(count, 9, np.uint32) if tokens is None else tokens,
        url_hash=fingerprints,
        fetched=number,
        urls=("https://example.org/",) * count,
    )


WRAPPING = TableSizes(**TINY.__dict__ | {"first_slot": 2**32 - 700})
"""With these, slot numbers, modulo 2^32, wrap around in the middle of a test."""


def random(chance: np.random.Generator, count: int) -> NDArray[np.uint64]:
    return chance.integers(0, 2**64, count, np.uint64)


def clustered(chance: np.random.Generator, count: int) -> NDArray[np.uint64]:
    """Fingerprints within two bits of forty centres."""
    values = random(chance, 40)[chance.integers(0, 40, count)]
    for _ in range(2):
        values ^= np.uint64(1) << chance.integers(0, 64, count, np.uint64)
    return values


every_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)


def asking(pages: Sequence[Survivor | Claim]) -> Queries:
    """A look-up of these pages."""
    return Queries.of(pages)


def earliest_by_definition(
    stored: Sequence[Survivor], asked: Sequence[Survivor], k: int, expired_up_to: int
) -> list[tuple[tuple[int, int], str, int | None, str] | None]:
    """Order, URL, distance and reason of the earliest live survivor that ``SimHashNear`` calls near; None for none."""
    near = SimHashNear(k)
    answers: list[tuple[tuple[int, int], str, int | None, str] | None] = []
    for query in asked:
        hits = ((entry, near(query, entry)) for entry in stored if entry.order[0] > expired_up_to)
        first = next(((entry, match) for entry, match in hits if match), None)
        answers.append(first and (first[0].order, first[0].url, first[1].distance, first[1].reason))
    return answers


def nearest_by_columns(fingerprints: NDArray[np.uint64], asked: NDArray[np.uint64], k: int) -> list[int]:
    """For many entries: the first index within ``k`` bits of each query, -1 for none."""
    answers = []
    for query in asked:
        near = np.flatnonzero(np.bitwise_count(fingerprints ^ query) <= k)
        answers.append(int(near[0]) if len(near) else -1)
    return answers


def first_near(
    fingerprints: NDArray[np.uint64],
    tokens: NDArray[np.uint32] | None,
    asked: NDArray[np.uint64],
    asked_tokens: NDArray[np.uint32] | None,
    k: int,
    ratio: Ratio,
) -> list[int]:
    """The same with counts of tokens."""
    if not len(fingerprints):
        return [-1] * len(asked)
    near = np.bitwise_count(fingerprints[None, :] ^ asked[:, None]) <= k
    if tokens is not None and asked_tokens is not None:
        kinds, kind = np.unique(tokens, return_inverse=True)
        for number, count in enumerate(asked_tokens.tolist()):
            near[number] &= np.array([ratio.allows(here, count) for here in kinds.tolist()])[kind]
    firsts: list[int] = np.where(near.any(axis=1), near.argmax(axis=1), -1).tolist()
    return firsts


def answers_of(found: Found, url_of: dict[int, str]) -> list[tuple[tuple[int, int], str, int | None, str] | None]:
    """The results in the form of ``earliest_by_definition``; ``url_of`` has the URL of each query with a hit."""
    answers: list[tuple[tuple[int, int], str, int | None, str] | None] = [None] * len(found)
    for query in found.hits():
        answers[query] = (found.order(query), url_of[query], found.distance_of(query), found.reason(query))
    return answers


flips = st.lists(st.integers(0, 63), max_size=5, unique=True)
fingerprints = st.builds(flipped, st.sampled_from(CORNERS), flips) | st.integers(0, MAX_U64)
maybe_fingerprints = st.one_of(fingerprints, fingerprints, fingerprints, st.none())
text_hashes = st.sampled_from((0, 1, 1 << 32, MAX_U64))
