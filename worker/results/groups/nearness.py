"""How near two rows are, by their data on their pages."""

from __future__ import annotations

from typing import NamedTuple

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.outcomes import Verdict
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.fingerprint.near import EXACT_BYTES, EXACT_TEXT, AccurateNear, SimHashNear
from worker.fingerprint.sketch import agreement, similarity

Near = SimHashNear | AccurateNear


class Nearness(NamedTuple):
    """How a page is near to another one, as in ``Verdict``."""

    distance: int | None
    similarity: float | None
    reason: str


def page_of(row: Verdict) -> Fingerprinted:
    """The fields of the page that ``near`` reads.

    Raises:
        UsageError: the row's numbers are no numbers.
    """
    try:
        return Fingerprinted(
            fingerprint=None if row.fingerprint is None else int(row.fingerprint, 16),
            text_hash=int(row.text_hash or "0", 16),
            tokens=row.tokens,
            language=row.language,
            reason=None,
            sketch=bytes.fromhex(row.sketch),
            bands=bytes.fromhex(row.bands),
        )
    except ValueError as error:
        raise UsageError(f"the verdict on page {row.id!r} is damaged ({error}): scan these pages again") from error


def distance(a: Fingerprinted, b: Fingerprinted) -> int | None:
    """Bits in which the fingerprints differ; None if one page has none."""
    if a.fingerprint is None or b.fingerprint is None:
        return None
    return (a.fingerprint ^ b.fingerprint).bit_count()


def sketched_similarity(a: Fingerprinted, b: Fingerprinted) -> float | None:
    """The similarity that the sketches estimate, 0 to 1; None if one page has none."""
    if not a.sketch or not b.sketch:
        return None
    return min(1.0, max(0.0, similarity(agreement(a.sketch, b.sketch))))


def nearness(near: Near, a: Fingerprinted, b: Fingerprinted) -> Nearness | None:
    """How the two are near; None if they are not.

    Rows have no scope. Pages of one group are of one scope, since each was found by its survivor within it.
    """
    match = near(a, b)
    if match is None:
        return None
    same = match.reason in (EXACT_TEXT, EXACT_BYTES)
    found = 1.0 if same else sketched_similarity(a, b)
    return Nearness(match.distance, None if found is None else round(found, 4), match.reason)
