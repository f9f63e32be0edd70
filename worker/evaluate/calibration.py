"""Labelled pairs → the settings that find most at few enough false positives, and their expected results."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from crawler_plugin.wire.errors import CheckFailed, UsageError
from worker.evaluate.evaluation import called
from worker.evaluate.kept_by_method import Collection
from worker.evaluate.labels.labelled import Pair
from worker.evaluate.load import copies
from worker.evaluate.methods import Method
from worker.evaluate.scores import Share

FOLDS: Final = 5
"""Parts of the pairs; each part is kept out of the choice once and judged by it."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Candidate:
    """``settings`` under ``near``, and the predicate that they make."""

    settings: Mapping[str, Any]
    method: Method


@dataclass(frozen=True)
class Outcome:
    """The results of settings on labelled pairs: the near-duplicates that they find, the other pairs that they call
    so."""

    recall: Share
    false_positives: Share

    @property
    def precision(self) -> Share:
        """Share of true ones among the pairs called near. In a crawl it depends on how many of the pages are copies."""
        return Share(self.recall.hits, self.recall.hits + self.false_positives.hits)


@dataclass(frozen=True)
class Calibration:
    """``chosen`` by all pairs, with its results on them (``fitted``).

    ``expected`` are the results of choices on pairs that had no part in them. ``frontier`` holds, by rising false
    positives, settings that find more than all with fewer.
    """

    chosen: Candidate
    fitted: Outcome
    expected: Outcome
    frontier: tuple[tuple[Candidate, Outcome], ...]


def calibrate(
    pairs: Sequence[Pair], collection: Collection, candidates: Sequence[Candidate], most_false: float, in_force: int = 0
) -> Calibration:
    """Choose the settings that find most of the near-duplicates while they call at most a share ``most_false`` of the
    other pairs so.

    Args:
        pairs: those without a label do not count.
        collection: holds what the candidates' method keeps of their documents.
        candidates: the strictest first, the loosest last: no other calls near what the last one does not.
        most_false: 0 to 1.
        in_force: place of the candidate that is nearest to the present settings. Of candidates that do equally well it
            chooses the one nearest to that in the list: nothing is changed without a gain.

    Raises:
        UsageError: not both labels occur.
        CheckFailed: no candidate is so careful.
    """
    scored = [pair for pair in pairs if pair.label is not None]
    truth = np.array([pair.label == 1 for pair in scored], np.bool_)
    if truth.all() or not truth.any():
        raise UsageError("calibrating takes pairs of label 1 and of label 0; add the ones that are missing")
    near = _near(scored, collection, candidates)
    everything = np.ones(len(scored), np.bool_)
    chosen = _best(near, truth, everything, most_false, in_force)
    if chosen is None:
        fewest = min(_outcome(near, truth, everything, place).false_positives.hits for place in range(len(candidates)))
        raise CheckFailed(
            f"no settings call at most {most_false:g} of {np.count_nonzero(~truth):,} other pairs near-duplicates, the "
            f"best settings call {fewest}; look at those pairs, or allow more with --false-positives"
        )
    outcomes = [_outcome(near, truth, everything, place) for place in range(len(candidates))]
    return Calibration(
        candidates[chosen],
        outcomes[chosen],
        _expected(near, truth, _folds(scored), most_false, in_force),
        tuple((candidates[place], outcomes[place]) for place in _frontier(outcomes)),
    )


def _near(pairs: Sequence[Pair], collection: Collection, candidates: Sequence[Candidate]) -> Flags:
    """Shape (pairs, candidates): the pairs that each candidate calls near."""
    loosest = candidates[-1].method
    near = np.zeros((len(pairs), len(candidates)), np.bool_)
    for row, pair in enumerate(pairs):
        if called(loosest, collection, pair).near:
            near[row] = [called(candidate.method, collection, pair).near for candidate in candidates]
    return near


def _best(near: Flags, truth: Flags, part: Flags, most_false: float, in_force: int) -> int | None:
    """The candidate that finds most, of those with as many the one with fewest false positives, then the least
    changed."""
    found = near[truth & part].sum(axis=0)
    false = near[~truth & part].sum(axis=0)
    allowed = np.flatnonzero(false <= most_false * np.count_nonzero(~truth & part))
    return min(allowed.tolist(), key=lambda place: (-found[place], false[place], abs(place - in_force)), default=None)


def _outcome(near: Flags, truth: Flags, part: Flags, place: int) -> Outcome:
    def share(of: Flags) -> Share:
        return Share(int(near[of, place].sum()), int(of.sum()))

    return Outcome(share(truth & part), share(~truth & part))


def _expected(near: Flags, truth: Flags, folds: npt.NDArray[np.int64], most_false: float, in_force: int) -> Outcome:
    """Every pair is judged by the choice of the other folds; if these allow none, by the strictest candidate."""
    judged = np.zeros(len(truth), np.bool_)
    for fold in range(FOLDS):
        kept_out = folds == fold
        judged[kept_out] = near[kept_out, _best(near, truth, ~kept_out, most_false, in_force) or 0]
    return _outcome(judged[:, None], truth, np.ones(len(truth), np.bool_), 0)


def _folds(pairs: Sequence[Pair]) -> npt.NDArray[np.int64]:
    """A fold for each pair, the same in every run. Pairs of one group of copies are in one fold: they are much
    alike."""
    groups = copies(pairs)

    def fold(pair: Pair) -> int:
        name = min(groups.get(key, key) for key in pair.keys)
        return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()[0] % FOLDS

    return np.array([fold(pair) for pair in pairs], np.int64)


def _frontier(outcomes: Sequence[Outcome]) -> list[int]:
    order = sorted(
        range(len(outcomes)),
        key=lambda place: (outcomes[place].false_positives.hits, -outcomes[place].recall.hits, place),
    )
    kept: list[int] = []
    for place in order:
        if not kept or outcomes[place].recall.hits > outcomes[kept[-1]].recall.hits:
            kept.append(place)
    return kept
