"""The interface of a way to call two pages near-duplicates, and the worker's own ways, with the worker's own code.

``simhash`` and ``accurate`` use ``Fingerprinter`` and ``near``, so their calls are the worker's verdict on the two
pages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Protocol

from worker.evaluate.literature.measures import hamming
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.fingerprint.near import AccurateNear, SimHashNear
from worker.fingerprint.scoped import ScopedNear
from worker.fingerprint.sketch import SLOTS, agreement, similarity
from worker.page.extract import Extracted

Maker = Callable[[Extracted, str, bytes], Any]
"""(extracted data of a page, its URL or a stand-in for it, its body) → the data that the method keeps of it;
picklable."""


class Call(NamedTuple):
    """A method's statement on two pages.

    ``distance`` is the Hamming distance of their fingerprints in bits, ``sketch`` the similarity, 0 to 1, that the
    method estimates or computes; None if it has no such value.
    """

    near: bool
    distance: int | None = None
    sketch: float | None = None


FAR: Final = Call(False)
"""The call if one of the two could not be read as a page."""


class Sweep(NamedTuple):
    """The calls of a method with one parameter at each of several values.

    ``near(a, b, call, value)`` gets both records, the method's present call, and the value. ``chosen`` is the value
    with which the result would be the same.
    """

    parameter: str
    chosen: float
    values: tuple[float, ...]
    near: Callable[[Any, Any, Call, Any], bool]


class Method(Protocol):
    """One way to call two pages near-duplicates. Symmetric, and a pure function of the data that it keeps of the
    two."""

    @property
    def name(self) -> str:
        """Its name for ``--methods``."""

    def maker(self) -> Maker:
        """A new maker; it loads dictionaries, so it is made once in each process."""

    @property
    def keeps(self) -> Any:
        """The type of its maker's results, for results that come from another process."""

    def call(self, a: Any, b: Any) -> Call:
        """Its call on two pages, from its maker's results for them."""

    def kept_bytes(self, kept: Any) -> int:
        """The bytes that it keeps of this page to compare it by."""

    def sweep(self) -> Sweep | None:
        """Its most telling parameter, None if it has none."""


@dataclass(frozen=True)
class OfWorker:
    """A predicate of the worker: ``near`` as verdicts rest on it, on fingerprints made by ``recipe``."""

    name: str
    recipe: Recipe
    near: SimHashNear | AccurateNear

    def maker(self) -> Maker:
        """The fingerprinter of the worker's parsing processes."""
        return Fingerprinter(self.recipe).of_extracted

    @property
    def keeps(self) -> Any:
        """All data that the worker keeps."""
        return Fingerprinted

    def call(self, a: Fingerprinted, b: Fingerprinted) -> Call:
        """``near`` of the two."""
        bare = a.fingerprint is None or b.fingerprint is None
        distance = None if bare else hamming(a.fingerprint or 0, b.fingerprint or 0)
        sketched = a.sketch and b.sketch
        near = self._is_near(self.near, a, b)
        return Call(near, distance, similarity(agreement(a.sketch, b.sketch)) if sketched else None)

    @staticmethod
    def _is_near(near: SimHashNear | AccurateNear, a: Fingerprinted, b: Fingerprinted) -> bool:
        return near(a, b) is not None and ScopedNear(near).comparable(a, b)

    def kept_bytes(self, kept: Fingerprinted) -> int:
        """Fingerprint, hash of the text, count of tokens, numbers for site and title; sketch and bands if the predicate
        reads them."""
        return 8 + 8 + 4 + 4 + 4 + 8 + 1 + len(kept.sketch) + len(kept.bands)

    def sweep(self) -> Sweep:
        """The radius of ``simhash``, the least similarity of ``accurate``."""
        near = self.near
        if isinstance(near, SimHashNear):
            radii = {k: replace(near, k=k) for k in range(13)}
            return Sweep("k", near.k, tuple(radii), lambda a, b, call, k: self._is_near(radii[k], a, b))
        least = {round(similarity(slots), 4): replace(near, threshold=slots) for slots in range(54, SLOTS + 1, 3)}
        chosen = similarity(near.threshold)
        return Sweep("threshold", chosen, tuple(least), lambda a, b, call, value: self._is_near(least[value], a, b))
