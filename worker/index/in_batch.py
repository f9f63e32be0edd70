"""The pages of one batch among each other: which are claimed for the first time, and which is near to which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from worker.fingerprint.scoped import ScopedNear
from worker.index.engine import Rules
from worker.index.queries import Queries


@cache
def _kernels() -> ModuleType:
    from worker.compiling import must_compile

    must_compile()
    from worker.index.kernels import in_batch

    return in_batch


def void_claims(
    partition: NDArray[np.int64], offset: NDArray[np.int64], claimed_up_to: Mapping[int, int]
) -> NDArray[np.bool_]:
    """Which claims are not the first of their page, in their order; bool (n,) from two columns int64 (n,).

    ``claimed_up_to`` holds the highest offset of each partition, from 0 up, that was claimed before.
    """
    void = np.empty(len(partition), np.bool_)
    claimed = np.full(1 + int(partition.max(initial=-1)), -1, np.int64)
    for number, highest in claimed_up_to.items():
        if number < len(claimed):
            claimed[number] = highest
    _kernels().first_claims(partition, offset, claimed, void)
    return void


@dataclass(frozen=True, eq=False)
class Flagged:
    """Pages of a batch that are judged in a special way.

    Columns (n,): a page that is not ``stored`` (bool) is no survivor; a ``pardoned`` page (bool) is compared only with
    pages of its own number in ``urls`` (int64).
    """

    stored: NDArray[np.bool_]
    pardoned: NDArray[np.bool_]
    urls: NDArray[np.int64]


def earliest_in_batch(
    pages: Queries, asked: NDArray[np.bool_], near: ScopedNear, flagged: Flagged | None = None
) -> NDArray[np.int64]:
    """For each page that is ``asked``, the place of the earliest survivor before it that it is near to; otherwise -1.

    int64 (n,). Survivors are the pages that are asked, stored, and near to no survivor before them.
    """
    kernels, count = _kernels(), len(pages)
    if count < 2:
        return np.full(count, -1, np.int64)
    if flagged is None:
        flagged = Flagged(np.ones(count, np.bool_), np.zeros(count, np.bool_), np.zeros(count, np.int64))
    rule = Rules.of(near)
    rules = np.zeros(kernels.RULES, np.int64)
    rules[kernels.K] = rule.k
    rules[kernels.RATIO_LEAST], rules[kernels.RATIO_MOST] = rule.ratio
    if rule.sketch is not None:
        rules[kernels.SKETCHED] = 1
        rules[kernels.THRESHOLD] = rule.sketch.threshold
        rules[kernels.SKETCH_LEAST], rules[kernels.SKETCH_MOST] = rule.sketch.ratio
        rules[kernels.HAMMING_THRESHOLD] = rule.sketch.hamming_threshold
        rules[kernels.SHORT], rules[kernels.SHORT_THRESHOLD] = rule.sketch.short, rule.sketch.short_threshold
        rules[kernels.SHORT_LEAST], rules[kernels.SHORT_MOST] = rule.sketch.short_ratio
    rules[kernels.LEAST_ACROSS] = rule.least_across
    earlier = np.empty(count, np.int64)
    kernels.earliest(
        rules, asked, flagged.stored, flagged.pardoned, flagged.urls, pages.fingerprint, pages.bare, pages.text_hash,
        pages.numbers, pages.scope, pages.bands, pages.sketch, earlier,
    )  # fmt: skip
    return earlier
