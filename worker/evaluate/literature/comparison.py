"""Two explained texts side by side: every measure between them, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from math import degrees

from worker.evaluate.literature.explained import Explained
from worker.evaluate.literature.measures import (
    BlockLayout,
    angle,
    blocks_in_common,
    cosine,
    hamming,
    share_of_equal_bits,
)
from worker.fingerprint.near import AccurateNear, Match, SimHashNear
from worker.fingerprint.scoped import ScopedNear
from worker.fingerprint.sketch import agreement, as_keys


@dataclass(frozen=True, slots=True)
class Measures:
    """The measures between two fingerprints. ``angle`` is in degrees; ``blocks`` None if the layout does not fit."""

    distance: int
    equal_bits: float
    angle: float
    cosine: float
    blocks: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two texts and everything between them.

    ``measures`` is None if a text has no fingerprint. ``ordinary`` holds the distances of the ordinary hashes.
    ``agreement`` is that of the sketches, of 128, and ``bands`` how many keys of bands they have in common; both are
    None if a text has no sketch. ``match`` says how they are near by ``near``, None: they are not. It treats them as
    pages of different URLs.
    """

    a: Explained
    b: Explained
    layout: BlockLayout
    near: SimHashNear | AccurateNear
    measures: Measures | None
    agreement: int | None
    bands: int | None
    ordinary: dict[str, int]
    match: Match | None

    @property
    def k(self) -> int:
        """The largest Hamming distance of ``near``."""
        return self.near.k


def compare(a: Explained, b: Explained, *, near: SimHashNear | AccurateNear, layout: BlockLayout) -> Comparison:
    """Compare two texts that were explained at the same width.

    Raises:
        ValueError: two widths.
    """
    if a.bits != b.bits:
        raise ValueError(f"fingerprints of {a.bits} and {b.bits} bits have no distance; explain both at one width")
    sketched = bool(a.sketch and b.sketch)
    return Comparison(
        a=a,
        b=b,
        layout=layout,
        near=near,
        measures=_measures(a, b, layout),
        agreement=agreement(a.sketch, b.sketch) if sketched else None,
        bands=int((as_keys([a.bands]) == as_keys([b.bands])).sum()) if sketched else None,
        ordinary={name: hamming(value, b.ordinary[name]) for name, value in a.ordinary.items()},
        match=near(a, b) if ScopedNear(near).comparable(a, b) else None,
    )


def _measures(a: Explained, b: Explained, layout: BlockLayout) -> Measures | None:
    if a.fingerprint is None or b.fingerprint is None:
        return None
    pair = a.fingerprint, b.fingerprint
    return Measures(
        distance=hamming(*pair),
        equal_bits=share_of_equal_bits(*pair, a.bits),
        angle=degrees(angle(*pair, a.bits)),
        cosine=cosine(*pair, a.bits),
        blocks=blocks_in_common(*pair, layout) if layout.bits == a.bits else None,
    )
